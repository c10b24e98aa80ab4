"""The page about one agent: all of it in one file, with its own figures and its own words."""

from __future__ import annotations

import re
from html import unescape

import gymnasium as gym
import numpy as np
import pytest
from page_text import tips, visible
from report_agents import QUICK
from stable_baselines3.common.vec_env import DummyVecEnv
from test_episodes import pictured

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.evaluation import TaskResult
from gym_attrplan.cli import main
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.report import write_agent_report
from gym_attrplan.report.agent_facts import HopTable, attribute_rows, rate_line, result_lines
from gym_attrplan.report.agent_page import _result_panels
from gym_attrplan.report.video import video_suffix

gym.register("PagePictured-v0", entry_point=lambda render_mode="rgb_array": pictured())


def section(page, name):
    found = re.search(rf'<section id="{name}">.*?</section>', page, flags=re.DOTALL)
    return found[0]


@pytest.fixture(scope="module")
def page(counter_agent, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "new" / "agent.html"
    written = write_agent_report(
        counter_agent, file, picture_env=pictured(), name="The <counter>", n_tasks=40
    )
    assert written == file
    return file.read_text()


def test_the_page_needs_nothing_but_itself(page):
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert all(one.startswith(("#", "data:")) for one in addresses)
    assert not re.search(r"https?://|@import|url\(", page)


def test_what_names_the_agent_is_escaped(page):
    assert "<h1>The &lt;counter&gt;</h1>" in page
    assert "<counter>" not in page


def test_it_tells_how_many_tasks_were_solved_with_an_interval(page):
    text = visible(page)
    solved, low, high = map(
        float, re.search(r"([\d.]+)% 95% interval ([\d.]+) to ([\d.]+)", text).groups()
    )
    assert 0 <= low <= solved <= high <= 100
    assert "it was given 40 tasks" in text


def test_every_section_has_content(page):
    assert "data:video/mp4" in section(page, "video") or "data:image/gif" in section(page, "video")
    assert len(tips(section(page, "results"))) > 1
    assert "four" in visible(section(page, "hops"))
    assert len(tips(section(page, "graph"))) == 8  # descriptions of three bits
    assert section(page, "calibration").count("<svg") == 2
    assert "No hop depends on more" in section(page, "missing")
    assert section(page, "attributes").count("<tr>") == 4
    assert "2 of 2" in section(page, "attributes")
    assert "MultiInputPolicy" in section(page, "settings")


def test_the_papers_tables_are_not_on_it(page):
    assert "Block stacking" not in page
    assert "not run yet" not in page


def test_an_environment_without_pictures_gives_a_page_without_a_video(neighbour_agent, tmp_path):
    file = write_agent_report(neighbour_agent, tmp_path / "a.html", n_tasks=10, goals=["two, one"])
    page = file.read_text()
    assert "There is no video" in page
    assert "two, one" in visible(section(page, "results"))


def recorded(rng):
    """An episode of random actions."""
    env = pictured()
    observation, _ = env.reset()
    seen, actions = [observation["observation"]], rng.integers(2, size=12)
    attributes = [observation["achieved_goal"]]
    for action in actions:
        observation = env.step(action)[0]
        seen.append(observation["observation"])
        attributes.append(observation["achieved_goal"])
    observations = {"observation": np.stack(seen), "achieved_goal": np.stack(attributes)}
    return {"observations": observations, "actions": actions}


def test_an_agent_that_has_only_read_logs_has_a_page_with_its_imagined_plans(tmp_path):
    rng = np.random.default_rng(0)
    agent = AttributePlannerAgent("MultiInputPolicy", DummyVecEnv([pictured] * 4), seed=0)
    agent.learn_from([recorded(rng) for _ in range(20)], n_updates=10)
    page = write_agent_report(agent, tmp_path / "a.html", n_tasks=8, goals=["two, one"]).read_text()
    assert "No hop was tried in training" in page
    assert "No hop that the agent knows was met" in page
    assert ">start<" in section(page, "graph")  # drawn through what the log has shown


def test_an_agent_without_environments_is_refused(counter_agent, tmp_path):
    counter_agent.save(tmp_path / "a.zip")
    loaded = AttributePlannerAgent.load(tmp_path / "a.zip")
    with pytest.raises(InvalidEnvironment, match="give one with env="):
        write_agent_report(loaded, tmp_path / "a.html")


def test_hops_are_counted_by_what_they_change(counter_agent, neighbour_agent):
    for agent in (counter_agent, neighbour_agent):
        table = HopTable.of(agent)
        assert len(table.changes) == len(np.unique(table.changes, axis=0))
        assert (table.successes <= table.attempts + 1e-6).all()
        rates = [line.percent for line in table.most_failing()]
        assert rates == sorted(rates)
        used = [int(line.small.split()[0].replace(",", "")) for line in table.most_used()]
        assert used == sorted(used, reverse=True)
        rows = attribute_rows(agent, table)
        assert [row["name"] for row in rows] == ["four", "two", "one"]
        assert all(row["attempts"] > 0 for row in rows)


def test_a_line_tells_a_rate_with_its_interval():
    line = rate_line("key", 99, 100, "attempt")
    assert (line.percent, line.small) == (99.0, "100 attempts")
    assert line.interval == pytest.approx((94.6, 99.8), abs=0.05)
    assert rate_line("key", 1, 1, "task").small == "1 task"


def test_goals_come_first_where_each_has_enough_tasks():
    few = TaskResult(np.ones(10, bool), np.ones(10, int), ("a",) * 10, np.ones(10, int))
    assert [title for title, _ in _result_panels(few)] == ["by goal", "by hops of the plan"]
    goals = tuple(map(str, range(20)))
    many = TaskResult(np.ones(20, bool), np.ones(20, int), goals, np.ones(20, int))
    assert [title for title, _ in _result_panels(many)] == ["by hops of the plan", "hardest goals"]
    assert len(result_lines(many.by_goal())) == 12


def test_the_command_writes_the_page_of_a_saved_agent(tmp_path, capsys, seed):
    worlds = DummyVecEnv([lambda: gym.make("PagePictured-v0")] * 8)
    agent = AttributePlannerAgent("MultiInputPolicy", worlds, seed=seed, **QUICK).learn(2_000)
    path = tmp_path / "mine.zip"
    agent.save(path)
    assert main(["report", str(path), "--n-tasks", "8"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {tmp_path / 'mine.html'}"
    text = unescape((tmp_path / "mine.html").read_text())
    assert "<h1>mine</h1>" in text
    assert f"data:{'video/mp4' if video_suffix() == '.mp4' else 'image/gif'}" in text
    agent.trained_in = None
    agent.save(path)
    assert main(["report", str(path)]) == 1
    assert "name it with --env ENV_ID" in capsys.readouterr().err


def test_a_folder_is_refused_with_the_script_that_reads_results(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert f"received the folder {tmp_path}" in error
    assert "python benchmarks/paper_page.py" in error


def test_a_file_that_is_no_agent_is_named(tmp_path, capsys):
    (tmp_path / "x.zip").write_bytes(b"no zip")
    assert main(["report", str(tmp_path / "x.zip")]) == 1
    assert "x.zip" in capsys.readouterr().err
