"""The tables of the README and of the results' page, and the figures in their sentences."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from paper.figures import (
    BLOCKS,
    CONTINUOUS,
    CRAFTING,
    IMAGES,
    LARGE,
    SMALL,
    SWITCHES,
    paper_figure,
)
from paper.results import Measured, Results, Source, read_changes, read_lines

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "results"
RESULTS = Results.read(FOLDER)
PAGE = (ROOT / "docs" / "results.rst").read_text()
README = (ROOT / "README.rst").read_text()
PERCENT = re.compile(r"([0-9]+\.[0-9])%")

DISCRETE = {
    "10,000 examples": ("multi_step", 10_000),
    "100,000 examples": ("multi_step", 100_000),
    "1,000,000 examples": ("multi_step", 1_000_000),
    "10,000,000 examples": ("multi_step", 10_000_000),
    "1,000,000 examples, 70% of the goal given": ("multi_step_70", 1_000_000),
    "1,000,000 examples, a tower of four": ("four_stack", 1_000_000),
}
WORDS = {"one step": "one_step", "multi-step": "multi_step", "a tower of four": "four_stack"}

_SEEN = (IMAGES, "inverse/test_tasks")
_BEST = [
    (BLOCKS, "inverse/test_tasks"),
    (BLOCKS, "dqn_her/curriculum", 500_000),
    (BLOCKS, "ppo/curriculum"),
    (BLOCKS, "a2c/curriculum"),
]
RIVALS = {
    "blocks, multi-step, 1M steps": (
        Source("blocks", BLOCKS, "multi_step", "ap", 1_000_000),
        [_SEEN, *_BEST],
    ),
    "blocks, the tower, 1M steps": (
        Source("blocks", BLOCKS, "four_stack", "ap", 1_000_000),
        [_SEEN, *_BEST],
    ),
    "switches, 2.4M steps": (
        Source("grids", SWITCHES, "targets", "ap", 2_400_000),
        [(SWITCHES, "ppo/curriculum"), (SWITCHES, "reinforce/curriculum")],
    ),
    "crafting, 2.4M steps": (
        Source("grids", CRAFTING, "items", "ap", 2_400_000),
        [(CRAFTING, "ppo/curriculum"), (CRAFTING, "reinforce/curriculum")],
    ),
    "build order, small, 3M steps": (
        Source("build_order", SMALL, "counts", "ap", 3_000_000),
        [(SMALL, "ppo/curriculum"), (SMALL, "reinforce/curriculum")],
    ),
}


DEFAULTS = [
    "``MiniGrid-DoorKey-8x8-v0``, at the goal, 500K steps",
    "``MiniGrid-KeyCorridorS3R3-v0``, carrying the ball, 1M steps",
    "``MiniGrid-MultiRoom-N4-S5-v0``, at the goal, 1M steps",
    "``MiniGrid-LavaCrossingS9N2-v0``, at the goal, 500K steps",
    "``MiniGrid-FourRooms-v0``, at the goal, 500K steps",
    "``MiniGrid-RedBlueDoors-8x8-v0``, both doors open, 500K steps",
    "``Taxi-v4``, the passenger anywhere, 500K steps",
    "``FrozenLake8x8-v1``, any of three corners, 500K steps",
    "``CliffWalking-v1``, any of three corners, 200K steps",
    "``MountainCar-v0``, any of eight places, 500K steps",
    "``Acrobot-v1``, any of eight heights, 500K steps",
    "``PointMaze_Medium-v3``, any cell, 1M steps",
    "``AttrSwitches-v0``, any lights, 1.2M steps",
    "``AttrCrafting-v0``, any item, 2.4M steps",
    "``AttrBuildOrder-v0``, any counts, 3M steps",
    "``AttrBuildOrderLarge-v0``, any counts, 3M steps",
    "the tutorial's corridor, any lamps, 60K steps",
]
"""What a newcomer gets: rows of the first table."""

HARD = [
    "``MiniGrid-DoorKey-16x16-v0``, at the goal, 1M steps",
    "``MiniGrid-MultiRoom-N6-v0``, at the goal, 1M steps",
    "``MiniGrid-LockedRoom-v0``, at the goal, 2M steps",
    "``MiniGrid-KeyCorridorS4R3-v0``, carrying the ball, 1M steps",
    "``MiniGrid-KeyCorridorS5R3-v0``, carrying the ball, 2M steps",
    "``MiniGrid-KeyCorridorS6R3-v0``, carrying the ball, 3M steps",
    "``MiniGrid-ObstructedMaze-1Dlhb-v0``, carrying the blue ball, 1M steps",
]
"""MiniGrid's hardest environments: rows of the second table."""


def row_of(label, text=PAGE):
    """The cells beside a label in the first list-table that has it."""
    found = re.search(rf"\* - {re.escape(label)}\n((?:     -.*\n)+)", text)
    assert found, f"there is no row {label!r}"
    return re.findall(r"     - ?(.*)\n", found[1])


def measured(text, source):
    """What the results say in the form a cell has: all seeds together, or those it names."""
    figure = RESULTS.find(source)
    named = re.search(r"seeds (\d) and (\d)", text)
    if named:
        return [f"{figure.seeds[int(seed)]:.1f}" for seed in named.groups()]
    return [f"{figure.percent:.1f}"]


def env_of(label):
    """The environment of a row: its id, or the one that has none."""
    return label.split("``")[1] if "``" in label else "Corridor"


@pytest.fixture
def suite():
    """Environments, budgets and bars of what a newcomer gets."""
    return importlib.import_module("defaults").SUITE


def test_the_table_of_what_a_newcomer_gets_is_the_suite(suite):
    assert [env_of(label) for label in DEFAULTS] == list(suite)


@pytest.mark.parametrize("label", DEFAULTS)
def test_what_a_newcomer_gets_equals_the_raw_results(label, suite):
    solved, n_steps, minutes, least = row_of(label)
    env = env_of(label)
    amount = label.split()[-2]
    budget = round(float(amount[:-1]) * {"K": 1_000, "M": 1_000_000}[amount[-1]])
    assert budget == suite[env].budget
    figure = RESULTS.find(Source("defaults", env, "asked", "ap", budget))
    assert PERCENT.findall(solved) == [f"{figure.percent:.1f}"]
    for text, key, unit in ((n_steps, "mean_steps", 1), (minutes, "train_seconds", 60)):
        mean = sum(line["extra"][key] for line in figure.lines) / len(figure.lines) / unit
        assert text == f"{mean:.0f}"
    bar = float(PERCENT.findall(least)[0])
    assert ("**" in solved) == (figure.percent >= bar)
    assert bar == suite[env].least or env == "FrozenLake8x8-v1"  # whose optimum takes a while


@pytest.mark.parametrize("label", HARD)
def test_the_hardest_environments_equal_the_raw_results(label):
    solved, rival, least = row_of(label)
    case, amount = importlib.import_module("hard").CASES[env_of(label)], label.split()[-2]
    assert float(amount[:-1]) * 1_000_000 == case.budget
    source = Source("hard", env_of(label), "asked", "ap", case.budget)
    figure, beside = RESULTS.find(source), RESULTS.find(replace(source, method="ppo_count"))
    assert len(figure.lines) == 3
    assert PERCENT.findall(solved) == [f"{figure.percent:.1f}"]
    assert rival == ("—" if beside is None else f"{beside.percent:.1f}%")
    assert PERCENT.findall(least) == [f"{case.least:.1f}"]
    assert ("**" in solved) == (figure.percent >= case.least)


def test_where_the_bonus_falls_behind_equals_the_raw_results():
    cases, told = importlib.import_module("hard").CASES, {}
    for size in (5, 6):
        env = f"MiniGrid-KeyCorridorS{size}R3-v0"
        source = Source("hard", env, "asked", "ap", cases[env].budget)
        ours, rival = (RESULTS.find(replace(source, method=m)) for m in ("ap", "ppo_count"))
        assert sorted(ours.seeds) == sorted(rival.seeds) == [0, 1, 2]
        told[size] = f"S{size}R3 {ours.percent:.1f}% against {rival.percent:.1f}%"
        if size == 5:
            each = "{:.1f}%, {:.1f}% and {:.1f}%".format(*map(rival.seeds.get, (0, 1, 2)))
            assert f"{rival.percent:.1f}% in KeyCorridorS5R3 ({each} with its" in PAGE
    assert f"with as many steps, ours is ahead ({told[5]}, {told[6]})" in README


def test_plans_that_promise_too_much_or_too_little_are_told(suite):
    def too_much(env):
        lines = RESULTS.find(Source("defaults", env, "asked", "ap", suite[env].budget)).lines
        parts = [line["extra"] for line in lines]
        return 100 * sum(one["promised"] - one["kept"] for one in parts) / len(parts)

    off = {env: too_much(env) for env in suite}
    lake, small, large = (off.pop(env) for env in ("FrozenLake8x8-v1", SMALL, LARGE))
    words = " ".join(PAGE.split())
    assert max(map(abs, off.values())) <= 10
    assert "In every row but three, the predicted probability of plans is within ten" in words
    assert f"On FrozenLake it is {lake:.0f} points higher." in words
    assert f"In the build orders it is {-small:.0f} and {-large:.0f} points lower." in words


@pytest.mark.parametrize("label", DISCRETE)
def test_the_discrete_blocks_equal_the_raw_results(label):
    task, budget = DISCRETE[label]
    ours, as_paper, paper = row_of(label)
    for text, method in ((ours, "ap"), (as_paper, "ap_paper")):
        source = Source("blocks", BLOCKS, task, method, budget)
        assert PERCENT.findall(text) == measured(text, source), method
        assert ("one seed" in text) == (len(RESULTS.find(source).lines) == 1)
    if budget == 1_000_000:
        assert PERCENT.findall(paper) == [f"{paper_figure(BLOCKS, task, 'ap'):.1f}"]


@pytest.mark.parametrize("label", WORDS)
def test_the_continuous_blocks_equal_the_raw_results(label):
    ours, as_paper, paper = row_of(label)
    for text, method in ((ours, "ap"), (as_paper, "ap_paper")):
        source = Source("blocks_continuous", CONTINUOUS, WORDS[label], method)
        assert PERCENT.findall(text) == measured(text, source), method
    assert PERCENT.findall(paper) == [f"{paper_figure(CONTINUOUS, WORDS[label], 'ap'):.1f}"]


def test_the_row_of_few_labels_equals_the_raw_results():
    ours, as_paper, paper = row_of("1,000,000 examples, of them 10,000 labelled")
    for text, method in ((ours, "ap"), (as_paper, "ap_paper")):
        source = Source("blocks", BLOCKS, "multi_step", f"{method}/10000_labels", 1_000_000)
        assert PERCENT.findall(text) == measured(text, source), method
    whole = paper_figure(BLOCKS, "multi_step", "ap")
    assert PERCENT.findall(paper) == [f"{whole - 0.9:.1f}"]  # what fewer labels cost the paper


@pytest.mark.parametrize("env", [SMALL, LARGE])
def test_the_build_order_equals_the_raw_results(env):
    ours, as_paper, paper = row_of(f"``{env}``")
    for text, method in ((ours, "ap"), (as_paper, "ap_paper")):
        source = Source("build_order", env, "counts", method, 30_000_000)
        assert PERCENT.findall(text) == measured(text, source), method
    assert PERCENT.findall(paper) == [f"{paper_figure(env, 'counts', 'ap'):.1f}"]


@pytest.mark.parametrize(("label", "env"), [("small version", SMALL), ("large version", LARGE)])
def test_the_rivals_of_the_build_order_equal_the_raw_results(label, env):
    ours, as_paper, *rivals = row_of(label)
    own = Source("build_order", env, "counts", "ap", 3_000_000)
    assert PERCENT.findall(ours) == measured(ours, own)
    assert PERCENT.findall(as_paper) == measured(as_paper, replace(own, method="ap_paper"))
    for text, regime in zip(rivals, ("curriculum", "test_tasks"), strict=True):
        source = replace(own, suite="baselines", method=f"reinforce/{regime}")
        assert PERCENT.findall(text) == measured(text, source), regime


@pytest.mark.parametrize("label", RIVALS)
def test_the_best_rivals_equal_the_raw_results(label):
    source, best = RIVALS[label]
    ours, rivals = row_of(label)
    assert PERCENT.findall(ours) == measured(ours, source)
    sources = [
        Source("baselines", env, source.task, method, *(budget or [source.budget]))
        for env, method, *budget in best
    ]
    assert PERCENT.findall(rivals) == [measured(rivals, one)[0] for one in sources]


def test_the_rivals_on_continuous_blocks_equal_the_raw_results():
    ours, rivals = row_of("continuous blocks, multi-step, 300K drops")
    own = Source("blocks_continuous", CONTINUOUS, "multi_step", "ap")
    assert PERCENT.findall(ours) == measured(ours, own)
    later, *learners = (
        Source("baselines", CONTINUOUS, "multi_step", method, 50_000)
        for method in ("inverse/test_tasks", "a2c/curriculum", "option_critic/curriculum")
    )
    found = [measured(rivals, one)[0] for one in (replace(own, method="inverse"), later)]
    assert PERCENT.findall(rivals) == [*found, *{measured(rivals, one)[0] for one in learners}]


def public(env, method):
    """What a learner solves of a public environment's tasks, all of three seeds."""
    figure = importlib.import_module("others_tables").find(RESULTS, env, method)
    assert sorted(figure.seeds) == [0, 1, 2]
    return f"{figure.percent:.1f}%"


def test_the_seeds_on_which_the_bonus_did_badly_are_told():
    others = importlib.import_module("others_tables")
    mountain, maze = (
        min(others.find(RESULTS, env, "ppo_count").seeds.values())
        for env in ("MountainCar-v0", "PointMaze_Medium-v3")
    )
    text = (ROOT / "docs" / "others.rst").read_text()
    assert f"{mountain:.0f}% on MountainCar and {maze:.0f}% on PointMaze" in text


def test_the_build_order_with_default_options_is_told_beside_the_rivals():
    figure = RESULTS.find(Source("defaults", SMALL, "asked", "ap", 3_000_000))
    words = " ".join(PAGE.split())
    assert f"our agent with default options solves {figure.percent:.1f}% (first table)" in words


def test_where_ppo_is_ahead_and_where_not_equals_the_raw_results():
    pages = {
        file: " ".join((ROOT / file).read_text().split())
        for file in ("README.rst", "docs/results.rst", "docs/others.rst")
    }
    rooms, lake = "MiniGrid-FourRooms-v0", "FrozenLake8x8-v1"
    car, maze = "MountainCar-v0", "PointMaze_Medium-v3"
    ours = {env: public(env, "ap") for env in (rooms, lake, car, maze)}
    plain = {env: public(env, "ppo") for env in (rooms, lake, car, maze)}
    bonus, paper = public(rooms, "ppo_count"), public(maze, "ap_paper")
    told = pages["README.rst"]
    assert f"On FourRooms it solves more ({bonus} against {ours[rooms]})" in told
    assert f"more of FrozenLake ({plain[lake]} against {ours[lake]})" in told
    cells = [f"**{ours[maze]}**", f"PPO {plain[maze]}", paper]
    assert row_of("PointMaze, any cell, 1M steps", README) == cells
    told = pages["docs/results.rst"]
    assert f"with the bonus {bonus} against {ours[rooms]} on FourRooms" in told
    assert f"plain PPO {plain[lake]} against {ours[lake]} on FrozenLake" in told
    assert f"{ours[maze]} against {plain[maze]} on PointMaze" in told
    told = pages["docs/others.rst"]
    assert f"{plain[rooms]} against our {ours[rooms]} on FourRooms" in told
    assert f"{plain[lake]} against {ours[lake]} on FrozenLake" in told
    assert f"{plain[car]} against {ours[car]} on MountainCar" in told
    assert f"Plain PPO solves {public('MiniGrid-DoorKey-8x8-v0', 'ppo')} on DoorKey" in told
    assert "and nothing on KeyCorridor and MultiRoom" in told
    rooms = ("MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-MultiRoom-N4-S5-v0")
    assert {public(env, "ppo") for env in rooms} == {"0.0%"}
    assert f"Ours solves {ours[maze]}, plain PPO {plain[maze]}" in told
    assert f"solves {paper} on PointMaze" in told
    curious = [public(env, "ppo_rnd") for env in (car, "MiniGrid-DoorKey-8x8-v0", "Taxi-v4", maze)]
    assert curious[0] == "100.0%"
    on = "solves MountainCar, {} on DoorKey, {} on Taxi, and {} on PointMaze, where plain PPO"
    assert on.format(*curious[1:]) in told
    assert float(plain[maze][:-1]) > float(curious[3][:-1])


@pytest.mark.parametrize("file", ["docs/results.rst", "docs/comparison.rst"])
def test_all_trainings_of_ppo_in_the_build_order_are_told(file):
    figure = RESULTS.find(Source("baselines", SMALL, "counts", "ppo/curriculum", 3_000_000))
    rates = sorted((100 * one["successes"] / one["n"] for one in figure.lines), reverse=True)
    *first, last = (f"{rate:.1f}" for rate in rates)
    text = " ".join((ROOT / file).read_text().split())
    assert f"solved {', '.join(first)} and {last}% of the" in text
    assert f", {figure.percent:.1f}% in all." in text


def before_and_after(source):
    """A figure before its code last changed, of each seed's last run, and as it counts now."""
    after = RESULTS.find(source)
    since = max(
        change.since for change in read_changes(FOLDER) if change.source.has(after.lines[0])
    )
    lines = [one for one in read_lines(FOLDER / f"{source.suite}.jsonl") if source.has(one)]
    old = {one["seed"]: one for one in lines if one["date"] < since}
    return f"{Measured(tuple(old.values())).percent:.1f} → {after.percent:.1f}%"


CHANGED = {
    "docs/results.rst": [
        Source("build_order", SMALL, "counts", "ap", 30_000_000),
        Source("blocks", BLOCKS, "four_stack", "ap", 1_000_000),
        Source("blocks_continuous", CONTINUOUS, "multi_step", "ap", 300_000),
        Source("blocks_continuous", CONTINUOUS, "four_stack", "ap", 300_000),
    ]
}
CHANGED["docs/comparison.rst"] = CHANGED["docs/results.rst"]


@pytest.mark.parametrize("file", CHANGED)
def test_what_was_changed_after_its_test_is_told_with_both_figures(file):
    told = re.findall(r"\d+\.\d → \d+\.\d%", (ROOT / file).read_text())
    assert told == [before_and_after(source) for source in CHANGED[file]]


def test_transitions_found_in_the_build_order_are_told():
    def edges(env, way, budget):
        return RESULTS.find(Source("build_order", env, "edges", way, budget)).value

    small, large = (f"{edges(env, 'count_bonus', 30_000_000):,.0f}" for env in (SMALL, LARGE))
    assert f"finds {small} and {large} transitions" in PAGE
    small, large = (
        f"{edges(env, 'count_bonus', 3_000_000) / edges(env, 'random', 3_000_000):.0f}"
        for env in (SMALL, LARGE)
    )
    assert f"finds {small} and {large} times as many transitions" in PAGE
    source = Source("build_order", None, "counts", "ap/random_exploration", 3_000_000)
    solved = [f"{RESULTS.find(replace(source, env=env)).percent:.1f}%" for env in (SMALL, LARGE)]
    assert f"our agent solves {' and '.join(solved)}." in PAGE


def test_the_training_of_ours_beside_the_rivals_of_the_build_order_is_told():
    beside = RESULTS.find(Source("baselines", SMALL, "counts", "ap", 3_000_000))
    assert f"a third training of ours solved {beside.percent:.1f}%" in PAGE
    assert len(beside.lines) == 1


LOGS = (ROOT / "docs" / "logs.rst").read_text()
CELLS = r"\n     - .*" + 4 * r"\n     - (.*)%" + r"\n"
PUZZLES = re.findall(rf"\* - puzzle (\dx\d){CELLS}", LOGS)
SCENE = re.findall(r"\* - scene, (.*)\n     - (.*)%\n", LOGS)


def mean_of_tasks(env, method, budget):
    """The share of the benchmark's five tasks that was solved, each counting the same."""
    tasks = [Source("offline", f"{env}-play", f"task {i}", method, budget) for i in range(1, 6)]
    return f"{sum(RESULTS.find(task).percent for task in tasks) / 5:.1f}"


@pytest.mark.parametrize(("size", "ours", "found", "less", "cloned"), PUZZLES)
def test_the_puzzles_equal_the_raw_results(size, ours, found, less, cloned):
    env = f"puzzle-{size}"
    assert ours == mean_of_tasks(env, "ap", 100_000)
    assert found == mean_of_tasks(env, "ap_found", 100_000)
    assert less == mean_of_tasks(env, "ap", 30_000)
    assert cloned == mean_of_tasks(env, "gcbc", 100_000)


@pytest.mark.parametrize("size", ["3x3", "4x4"])
def test_the_docs_name_what_gciql_solves(size):
    source = Source("offline", f"puzzle-{size}-play", "task 1", "gciql", 100_000)
    assert len(RESULTS.find(source).lines) == 3
    solved = mean_of_tasks(f"puzzle-{size}", "gciql", 100_000)
    updates = RESULTS.find(source).lines[0]["extra"]["updates"]
    assert f"{solved}% of the {size} puzzle ({updates:,} updates" in LOGS


def test_the_docs_count_the_episodes_whose_lights_a_detector_read():
    lines = [line for line in RESULTS.lines if line["method"] == "ap_detector"]
    assert [line["task"] for line in lines] == [f"task {i}" for i in range(1, 5)]
    n_solved, n_episodes = (sum(line[key] for line in lines) for key in ("successes", "n"))
    assert f"solved {n_solved} of {n_episodes} episodes of the 4x4 puzzle (one seed" in LOGS


@pytest.mark.parametrize(("steps", "solved"), SCENE)
def test_the_scene_equals_the_raw_results(steps, solved):
    assert solved == mean_of_tasks("scene", "ap", int(steps.replace(",", "")))


def test_the_page_counts_the_episodes_of_all_puzzles():
    lines = [line for line in RESULTS.lines if (line["suite"], line["method"]) == ("offline", "ap")]
    scene, puzzles = (
        [line for line in lines if line["env"].startswith(env) and line["budget"] == budget]
        for env, budget in (("scene", 500_000), ("puzzle", 100_000))
    )
    assert len(PUZZLES) == len({line["env"] for line in puzzles}) == 4
    assert len(SCENE) == 2
    for some in (puzzles, scene):
        n_solved, n_episodes = (sum(line[key] for line in some) for key in ("successes", "n"))
        assert f"{n_solved} of {n_episodes} episodes" in PAGE


def test_the_puzzles_with_attributes_found_in_the_log_are_told_as_one_seed():
    lines = [line for line in RESULTS.lines if line["method"] == "ap_found"]
    assert len({line["seed"] for line in lines}) == 1
    n_solved, n_episodes = (sum(line[key] for line in lines) for key in ("successes", "n"))
    words = " ".join(PAGE.split())
    assert f"by itself, it solved {n_solved} of {n_episodes} episodes (one seed)" in words
    share = mean_of_tasks("puzzle-4x6", "ap_found", 100_000)
    assert f"by itself, it solved {share}% (one seed)" in " ".join(README.split())


def test_the_docs_count_the_tasks_tested_in_mujoco():
    def solved(n_blocks, budget):
        env = f"AttrBlocks-v0[n_blocks={n_blocks}]"
        source = Source("blocks_six", env, "multi_step", "ap", budget)
        ours, alone = (RESULTS.find(replace(source, method=one)) for one in ("ap", "inverse"))
        assert sorted(ours.seeds) == sorted(alone.seeds) == [0, 1, 2]
        return ours.n, *(sum(line["successes"] for line in one.lines) for one in (ours, alone))

    agent = (ROOT / "docs" / "agent.rst").read_text()
    n, n_solved, n_alone = solved(6, 100_000)
    assert f"it solved {n_solved} of {n} tasks, and its hop policy alone {n_alone}\n" in agent
    n, n_solved, n_alone = solved(4, 10_000)
    told = f"solves {n_solved} of {n} multi-step tasks, and its hop policy alone {n_alone} (three"
    assert told in PAGE


MACHINES = (ROOT / "docs" / "machines.rst").read_text()
MAZE = "PointMaze_Medium-v3"


def said_by_ray(env, task, method):
    """The newest word of suite ``ray``."""
    return RESULTS.find(Source("ray", env, task, method, None)).lines[-1]["value"]


@pytest.mark.parametrize("n_workers", [0, 1, 2, 4])
def test_the_speed_of_practice_in_workers_is_told(n_workers):
    rates = [said_by_ray(env, "practise", f"workers/{n_workers}") for env in (LARGE, MAZE)]
    cells = "".join(f"     - {rate:,.0f}\n" for rate in rates)
    assert f"   * - practice, workers/{n_workers}\n{cells}" in MACHINES


def test_what_workers_weigh_is_told():
    held = [f"{said_by_ray(LARGE, 'driver memory', f'workers/{n}'):.0f}" for n in (1, 2, 4, 8)]
    assert f"{', '.join(held[:3])} and {held[3]} MB" in MACHINES
    assert f"weighs {said_by_ray(LARGE, 'batch', 'ap'):,.0f} bytes" in MACHINES
    merged = said_by_ray(LARGE, "merging", "ap")
    assert f"counts {merged / 1e6:.1f} million steps a second" in MACHINES
    n_workers = merged / said_by_ray(LARGE, "practise", "workers/1")
    assert f"about {n_workers:.0f} workers" in MACHINES


def test_what_messages_cost_is_told():
    def rate(n_envs, kind, env=MAZE):
        return f"{said_by_ray(env, f'stepping {n_envs}', kind):,.0f}"

    for n_envs in (32, 8):
        assert f"{rate(n_envs, 'ray')} " in MACHINES
        assert f" beside {rate(n_envs, 'subproc')}" in MACHINES
    assert f"it is {rate(32, 'here')}:" in MACHINES
    here, there = (rate(1_024, kind, LARGE) for kind in ("here", "ray"))
    assert f"{there} steps a second of 1,024 environments instead of {here}" in MACHINES


HEADLINES = {
    "four blocks from images, 1M examples": (
        Source("blocks", BLOCKS, "multi_step", "ap", 1_000_000),
        Source("baselines", *_SEEN[:1], "multi_step", _SEEN[1], 1_000_000),
    ),
    "switches, up to 12 transitions, 2.4M steps": (
        Source("grids", SWITCHES, "targets", "ap", 2_400_000),
        Source("baselines", SWITCHES, "targets", "ppo/curriculum", 2_400_000),
    ),
    "build order, 3M steps": (
        Source("defaults", SMALL, None, "ap", 3_000_000),
        Source("baselines", SMALL, "counts", "ppo/curriculum", 3_000_000),
    ),
}


@pytest.mark.parametrize("label", HEADLINES)
def test_the_readmes_rows_equal_the_raw_results(label):
    ours, rival, paper = row_of(label, README)
    figures = [RESULTS.find(source).percent for source in HEADLINES[label]]
    assert PERCENT.findall(ours + rival) == [f"{figure:.1f}" for figure in figures]
    assert paper in PAGE


def test_the_readmes_puzzle_row_equals_the_raw_results():
    ours, _, _ = row_of("OGBench puzzle 4x6, from a log of 100,000 steps", README)
    assert PERCENT.findall(ours) == [mean_of_tasks("puzzle-4x6", "ap", 100_000)]


def test_the_readme_counts_the_environments_that_reach_their_bar():
    reached = [label for label in DEFAULTS if row_of(label)[0].startswith("**")]
    assert (len(reached), len(DEFAULTS)) == (12, 17)
    assert "twelve of seventeen environments reach the target" in README
    missed = [label for label in DEFAULTS if label not in reached]
    names = ("FourRooms", "FrozenLake", "Acrobot", "Switches", "Crafting")
    assert all(name in label for name, label in zip(names, missed, strict=True))
    assert f"{', '.join(names[:3])}, switches and crafting miss it." in README


def test_the_docs_tell_how_fast_the_page_plays():
    play = (ROOT / "docs" / "play.rst").read_text()
    lines = {
        (line["env"], line["task"]): f"{line['value']:.0f}"
        for line in RESULTS.lines
        if line["suite"] == "play_speed"
    }
    names = ("AttrSwitches-v0", "MiniGrid-DoorKey-8x8-v0", "AttrBuildOrder-v0")
    switches, key, units = (lines[name, "frames"] for name in names)
    assert f"``AttrSwitches-v0`` {switches} frames a second" in play
    assert f"``MiniGrid-DoorKey-8x8-v0`` {key},\n``AttrBuildOrder-v0`` {units}" in play
    assert f"``PointMaze_UMaze-v3`` {lines['PointMaze_UMaze-v3', 'frames']}," in play
    first = [lines[name, "first frames"] for name in names[:2]]
    assert f"slower, {' and '.join(first)} on the first two" in play


def test_the_docs_count_the_seeds_for_which_refine_added_nothing():
    lines = [
        line
        for line in read_lines(FOLDER / "missing.jsonl")
        if (line["task"], line["budget"]) == ("0 removed", 200_000)
    ]
    assert {line["env"] for line in lines} == {"AttrSwitches-v0"}
    assert len({line["seed"] for line in lines}) == len(lines)
    n_without = sum(line["extra"]["added"] == [] for line in lines)
    words = " ".join((ROOT / "docs" / "refine.rst").read_text().split())
    assert f"it added none for {n_without} of {len(lines)} seeds" in words
