"""The command line, called as a person would."""

from __future__ import annotations

import re
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent import refining
from gym_attrplan.agent.evaluation import TaskResult
from gym_attrplan.agent.missing import Missing
from gym_attrplan.cli import main
from gym_attrplan.models.questions import Question


class Impure(AttributeWrapper):
    def compute_reward(self, achieved_goal, desired_goal, info=None):
        return super().compute_reward(achieved_goal, desired_goal, info) + 1


def sound(ends_at=None):
    return AttributeWrapper(GenericTestEnv(ends_at=ends_at), ["four", "two", "one"], three_bits)


def impure():
    return Impure(GenericTestEnv(), ["four", "two", "one"], three_bits)


gym.register("CliSound-v0", entry_point=sound)
gym.register("CliImpure-v0", entry_point=impure)


def test_check_is_content_with_a_sound_environment(capsys):
    arguments = ["check", "CliSound-v0", "--env-kwargs", '{"ends_at": 5}', "--seed", "3"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "CliSound-v0: 3 attributes, every promise kept.\n"


def test_check_names_the_broken_promise(capsys):
    assert main(["check", "CliImpure-v0"]) == 1
    assert capsys.readouterr().err.startswith("CheckFailed: step paid 0.0, compute_reward says 1.0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "CartPole-v1"], "Give AttributeWrapper a space and a function"),
        (["check", "NoSuchEnv-v0"], "doesn't exist. If a package registers it, add --gym-packages"),
        (["check", "CliSound-v0", "--gym-packages", "no_such_package"], "no_such_package"),
    ],
)
def test_check_says_in_one_line_what_is_wrong(capsys, arguments, message):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_env_kwargs_must_be_a_json_object(capsys, text):
    with pytest.raises(SystemExit):
        main(["check", "CliSound-v0", "--env-kwargs", text])
    assert "not" in capsys.readouterr().err


def train_by_config(folder, agent):
    """The file of an agent trained on the command line, by a config."""
    torch.set_num_threads(1)
    config = folder / "config.yml"
    config.write_text(
        "AttrCrafting-v0:\n"
        "  total_timesteps: 20_000\n"
        "  n_envs: 64\n"
        "  env_kwargs: {max_episode_steps: 100}\n"
        f"  agent: {agent}\n"
    )
    path = folder / "agent.zip"
    arguments = ["train", "--env", "AttrCrafting-v0", "--config", str(config), "--save", str(path)]
    assert main([*arguments, "--no-progress"]) == 0
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return train_by_config(tmp_path_factory.mktemp("cli"), "{low_level_kwargs: {n_steps: 64}}")


def test_train_saves_an_agent_that_evaluate_gives_tasks(saved, capsys):
    arguments = ["evaluate", "--env", "AttrCrafting-v0", "--agent", str(saved)]
    assert main([*arguments, "--n-tasks", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("AttrCrafting-v0: ")
    assert "of 20 tasks" in lines[0]
    assert lines[1] == "solved  tasks  steps  goal"


def test_evaluate_gives_the_goals_that_it_is_told(saved, capsys):
    arguments = ["evaluate", "--env", "AttrCrafting-v0", "--agent", str(saved)]
    assert main([*arguments, "--n-tasks", "20", "--goal", "wood", "--goal", "iron"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[-1] for line in lines[2:4]} == {"wood", "iron"}
    assert lines[4] == "solved  tasks  steps  hops"
    assert main([*arguments, "--goal", "gold leaf"]) == 1
    assert "no attribute named 'gold leaf'" in capsys.readouterr().err


@pytest.mark.slow
def test_evaluate_compares_planners_of_whole_descriptions(saved, tmp_path, capsys):
    first = "{hops: neighbours, exploration: random, low_level_kwargs: {n_steps: 64}}"
    path = train_by_config(tmp_path, first)
    planners = ["--n-tasks", "20", "--planner", "robust", "paper"]
    capsys.readouterr()
    evaluate = ["evaluate", "--env", "AttrCrafting-v0", "--agent"]
    assert main([*evaluate, str(path), *planners]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [line.split(":")[0] for line in lines if "of 20 tasks" in line]
    assert found == ["AttrCrafting-v0 robust", "AttrCrafting-v0 paper"]
    assert main([*evaluate, str(saved), *planners]) == 1
    assert "make it with hops='neighbours'" in capsys.readouterr().err


def test_plan_prints_the_way_in_words(saved, capsys):
    arguments = ["plan", "--env", "AttrCrafting-v0", "--agent", str(saved)]
    assert main([*arguments, "--goal", "wood"]) == 0
    printed = capsys.readouterr().out
    start = "from not wood, not stone, not iron, not axe, not sword, not plank"
    way = rf"goal: wood\n\d hops?, success 0\.\d\d\n{start}\n1\. \w+ +0\.\d\d\n"
    assert re.match(way, printed)


def test_a_module_in_the_current_folder_registers_its_environments(tmp_path, monkeypatch, capsys):
    (tmp_path / "cli_own_module.py").write_text(
        "import gymnasium as gym\n"
        "from gymnasium.envs.toy_text import FrozenLakeEnv\n"
        "gym.register('CliOwn-v0', entry_point=FrozenLakeEnv)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    packages = ["--gym-packages", "cli_own_module", "--gym-packages", "gymnasium"]
    assert main(["attributes", *packages, "CliOwn-v0"]) == 0
    assert "row: " in capsys.readouterr().out


@pytest.mark.slow
def test_ready_attributes_serve_every_command(tmp_path, capsys):
    path = str(tmp_path / "agent.zip")
    assert main(["check", "FrozenLake-v1"]) == 0
    train = ["train", "--env", "FrozenLake-v1", "--save", path, "--no-progress", "--n-envs", "2"]
    assert main([*train, "--total-timesteps", "3000"]) == 0
    assert main(["evaluate", "--env", "FrozenLake-v1", "--agent", path, "--n-tasks", "2"]) == 0
    assert main(["plan", "--env", "FrozenLake-v1", "--agent", path]) == 0
    assert "FrozenLake-v1: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--total-timesteps", "-5"], "--total-timesteps: a whole number, at least 1; re"),
        (["train", "--total-timesteps", "1e6"], "a whole number, at least 1; received '1e6'"),
        (["train", "--n-envs", "0"], "--n-envs: a whole number, at least 1; received '0'"),
        (["train", "--seed", "-1"], "--seed: a whole number, at least 0; received '-1'"),
        (["evaluate", "--n-tasks", "0"], "--n-tasks: a whole number, at least 1; received '0'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(capsys, arguments, message):
    with pytest.raises(SystemExit):
        main([*arguments, "--env", "AttrCrafting-v0"])
    assert message in capsys.readouterr().err


def test_train_says_that_an_environment_has_no_attributes(capsys):
    assert main(["train", "--env", "CartPole-v1", "--total-timesteps", "10"]) == 1
    assert "no attributes are ready for" in capsys.readouterr().err


def test_practice_alone_makes_an_agent_with_a_graph(tmp_path, capsys):
    path = tmp_path / "agent.zip"
    arguments = ["train", "--env", "CliSound-v0", "--save", str(path), "--no-progress"]
    assert main([*arguments, "--n-envs", "2", "--practise", "2000"]) == 0
    assert capsys.readouterr().out == f"saved {path}\n"
    agent = AttributePlannerAgent.load(path)
    assert agent.steps_practised == 8_192  # one batch
    assert agent.counts.n_edges > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2", "--total-timesteps", "9"], "say how long with --practise"),
        (["--ray", "127.0.0.1:1", "--practise", "9"], "how many --workers"),
        (["--ray", "127.0.0.1:1", "--practise", "9", "--workers", "2"], "nothing answers at"),
    ],
)
def test_practice_that_cannot_be_is_refused_before_training(tmp_path, capsys, arguments, message):
    path = tmp_path / "agent.zip"
    assert main(["train", "--env", "CliSound-v0", "--save", str(path), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not path.exists()


def test_tensorboard_is_written_to_during_training(tmp_path):
    config = tmp_path / "config.yml"
    config.write_text(
        "AttrCrafting-v0:\n  agent: {max_hop_steps: 20, low_level_kwargs: {n_steps: 16}}\n"
    )
    arguments = ["train", "--env", "AttrCrafting-v0", "--config", str(config), "--no-progress"]
    arguments += ["--tensorboard-log", str(tmp_path / "log"), "--save", str(tmp_path / "a.zip")]
    assert main([*arguments, "--n-envs", "16", "--total-timesteps", "2000"]) == 0
    (folder,) = (tmp_path / "log").iterdir()
    log = EventAccumulator(str(folder)).Reload()
    steps = [event.step for event in log.Scalars("hop/success")]
    assert len(steps) > 2
    assert min(steps) < 2_000


def test_an_agent_is_tested_in_the_environment_of_its_training(saved, capsys):
    crafting = ["--env", "AttrCrafting-v0", "--agent", str(saved)]
    assert main(["evaluate", *crafting, "--n-tasks", "2"]) == 0
    assert main(["plan", *crafting]) == 0
    said = 'with the arguments of training: {"max_episode_steps": 100}\n'
    assert capsys.readouterr().err == 2 * said
    assert main(["plan", *crafting, "--env-kwargs", '{"max_episode_steps": 7}']) == 0
    trained = 'trained in AttrCrafting-v0 {"max_episode_steps": 100}'
    assert (
        f'{trained}, now in AttrCrafting-v0 {{"max_episode_steps": 7}}' in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--env", "AttrCrafting-v0"], "--total-timesteps"),
        (["train", "--env", "AttrCrafting-v0", "--config", "nowhere.yml"], "nowhere.yml"),
        (["evaluate", "--env", "AttrCrafting-v0", "--agent", "nowhere.zip"], "no file"),
    ],
)
def test_what_is_missing_is_named(capsys, arguments, message):
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_a_config_without_the_id_or_with_unknown_words_is_refused(tmp_path, capsys):
    config = tmp_path / "config.yml"
    arguments = ["train", "--env", "AttrCrafting-v0", "--config", str(config)]
    config.write_text("AttrSwitches-v0: {total_timesteps: 1}\n")
    assert main(arguments) == 1
    config.write_text("AttrCrafting-v0: {timesteps: 1}\n")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "no entry for AttrCrafting-v0" in error
    assert "says ['timesteps']" in error


def test_the_current_folder_does_not_shadow_other_modules(tmp_path, monkeypatch, capsys):
    (tmp_path / "zipapp.py").write_text("raise SystemExit('the folder came first')")
    (tmp_path / "cli_shadowed.py").write_text("import zipapp\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    monkeypatch.delitem(sys.modules, "zipapp", raising=False)
    assert main(["check", "FrozenLake-v1", "--gym-packages", "cli_shadowed"]) == 0


@pytest.mark.parametrize("name", ["folder.zip", "file/agent.zip"])
def test_train_says_before_training_that_it_cannot_save(tmp_path, monkeypatch, capsys, name):
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "file").touch()
    learn = "gym_attrplan.agent.AttributePlannerAgent.learn"
    monkeypatch.setattr(learn, lambda *arguments, **options: pytest.fail("it trained"))
    train = ["train", "--env", "FrozenLake-v1", "--total-timesteps", "100", "--no-progress"]
    assert main([*train, "--save", str(tmp_path / name)]) == 1
    assert str(tmp_path / name) in capsys.readouterr().err


def lacking(monkeypatch, *shares):
    """An agent finds that wood lies about, and solves these shares of ten tasks."""
    question = Question("observation", (0,), "is", 0.0)
    finding = Missing("axe", question, "no wood about", "stone", (9, 9), (0, 9), n=18, lost=0.5)
    monkeypatch.setattr(AttributePlannerAgent, "find_missing", lambda self: [finding])
    solved = iter(TaskResult(np.arange(10) < 10 * share, np.ones(10, int)) for share in shares)
    monkeypatch.setattr(refining, "_solve", lambda *arguments: next(solved))


def test_refine_adds_an_attribute_and_saves_the_agent(saved, tmp_path, capsys, monkeypatch):
    lacking(monkeypatch, 0.2, 0.4)
    target = tmp_path / "refined.zip"
    arguments = ["refine", str(saved), "--total-timesteps", "64", "--no-progress", "--save"]
    assert main([*arguments, str(target)]) == 0
    printed = capsys.readouterr().out
    assert "'no wood about': solves 40.0% of 10 tasks" in printed
    assert f"saved {target}" in printed
    assert "no wood about" in AttributePlannerAgent.load(target).attribute_space
    assert "no wood about" not in AttributePlannerAgent.load(saved).attribute_space
    evaluate = ["evaluate", "--env", "AttrCrafting-v0", "--agent", str(target), "--n-tasks", "20"]
    assert main(evaluate) == 0
    assert main(["plan", "--env", "AttrCrafting-v0", "--agent", str(target)]) == 0


def test_refine_makes_plans_without_what_does_not_matter(saved, tmp_path, capsys, monkeypatch):
    lacking(monkeypatch, 0.2, 0.2)
    monkeypatch.setattr(AttributePlannerAgent, "find_missing", lambda self: [])
    needless = iter([["sword"], []])
    monkeypatch.setattr(refining, "find_needless", lambda *arguments: next(needless))
    target = tmp_path / "refined.zip"
    assert main(["refine", str(saved), "--drop", "--no-progress", "--save", str(target)]) == 0
    assert "plans without sword: solves 20.0% of 10 tasks" in capsys.readouterr().out
    assert AttributePlannerAgent.load(target).planner_options.ignore == ("sword",)
    assert main(["plan", "--env", "AttrCrafting-v0", "--agent", str(target)]) == 0


def test_refine_asks_for_names_and_takes_no_for_an_answer(saved, tmp_path, capsys, monkeypatch):
    lacking(monkeypatch)
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    target = tmp_path / "refined.zip"
    assert main(["refine", str(saved), "--ask", "--save", str(target)]) == 0
    printed = capsys.readouterr().out
    assert "axe, from 'stone': works in 9 of 9 attempts if no wood about" in printed
    assert "nothing was changed" in printed
    assert not target.exists()
    monkeypatch.setattr("builtins.input", lambda prompt: "a=b")
    assert main(["refine", str(saved), "--ask", "--save", str(target)]) == 1
    assert "an attribute name may not hold '='" in capsys.readouterr().err
