"""The benchmarks say their command, explain their options and, small, write what they promise."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from paper.results import FIELDS, PROVENANCE

FOLDER = Path(__file__).parents[2] / "benchmarks"


def source_of(name):
    return (FOLDER / f"{name}.py").read_text()


SCRIPTS = sorted(
    file.stem for file in FOLDER.glob("*.py") if "if __name__ ==" in source_of(file.stem)
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_says_how_it_is_run(name):
    script = importlib.import_module(name)
    assert f"python benchmarks/{name}.py" in script.__doc__
    assert callable(script.main)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if "argparse" in source_of(name)])
def test_a_benchmark_explains_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(name).main()
    assert stopped.value.code == 0
    assert "usage:" in capsys.readouterr().out


def lines_of(name, arguments, folder, suite):
    """Run a benchmark as a user does, and read what it wrote."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), *shlex.split(arguments)]
    subprocess.run(
        command, env={**os.environ, "ATTRPLAN_RESULTS": str(folder)}, cwd=folder, check=True
    )
    assert [file.name for file in folder.glob("*.jsonl")] == [f"{suite}.jsonl"]
    lines = [json.loads(line) for line in (folder / f"{suite}.jsonl").read_text().splitlines()]
    for line in lines:
        assert set(line) == {*FIELDS, *PROVENANCE}
        assert line["suite"] == suite
        assert line["command"] == f"python benchmarks/{name}.py {arguments}"
    return lines


@pytest.mark.slow
def test_exploring_is_measured_in_edges(tmp_path):
    arguments = "--total-timesteps 2048 --n-envs 16 --methods random --seeds 2 --jobs 1"
    lines = lines_of("exploration", arguments, tmp_path, "exploration")
    assert [(line["method"], line["budget"], line["seed"]) for line in lines] == [
        ("random", 2_048, 0),
        ("random", 2_048, 1),
    ]
    assert all(line["unit"] == "edges" and 1 <= line["value"] <= 25 for line in lines)


@pytest.mark.slow
def test_the_graph_is_measured_beside_its_peers(tmp_path):
    lines = lines_of("graph_scale", "--edges 135K", tmp_path, "graph")
    figures = {line["method"]: line for line in lines}
    assert {"first_plan", "next_hop", "igraph", "rustworkx", "networkx"} <= set(figures)
    ratio = figures["igraph"]["value"] / figures["first_plan"]["value"]
    assert figures["igraph_to_first_plan"]["value"] == pytest.approx(ratio)


TASKS = {
    "grids": "--envs AttrSwitches-v0 --seeds 3 --total-timesteps 20000 --n-tasks 200 --jobs 1",
    "baselines": "--env AttrSwitches-v0 --algo ppo --regime one_step --goals full --budget 8192 "
    "--seeds 3 --n-tasks 200",
    "build_order": "--versions small --explorations random --seeds 3 --budget 40000 --n-tasks 200",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_success_is_measured_on_as_many_tasks_as_asked_for(name, tmp_path):
    lines = [line for line in lines_of(name, TASKS[name], tmp_path, name) if line["n"] is not None]
    assert lines
    for line in lines:
        assert (line["seed"], line["n"]) == (3, 200)
        assert 0 <= line["successes"] <= 200
        assert line["env"] in ("AttrSwitches-v0", "AttrBuildOrder-v0")


@pytest.mark.slow
def test_the_defaults_are_measured_with_what_their_plans_promise(tmp_path):
    arguments = "--envs Corridor --seeds 0 --n-tasks 20 --total-timesteps 6000"
    (line,) = lines_of("defaults", arguments, tmp_path, "defaults")
    assert (line["env"], line["budget"], line["n"]) == ("Corridor", 6_000, 20)
    assert 0.0 < line["extra"]["promised"] <= 1.0
    assert 0.0 <= line["extra"]["calibration_error"] <= 1.0


@pytest.mark.slow
def test_hard_environments_are_measured_with_what_was_found_beside_ppo(tmp_path):
    arguments = "--envs MiniGrid-MultiRoom-N6-v0 --seeds 0 --n-tasks 2 --total-timesteps 8192"
    lines = lines_of("hard", arguments, tmp_path, "hard")
    assert sorted(line["method"] for line in lines) == ["ap", "ppo_count"]
    assert {(line["env"], line["n"]) for line in lines} == {("MiniGrid-MultiRoom-N6-v0", 2)}
    (ours,) = (line["extra"] for line in lines if line["method"] == "ap")
    assert ours["n_descriptions"] >= 1
    assert isinstance(ours["weakest_hops"], list)


@pytest.mark.slow
def test_missions_are_judged_by_the_level_itself(tmp_path):
    arguments = "--levels GoToLocal --seeds 0 --n-tasks 20 --total-timesteps 4096"
    (line,) = lines_of("missions", arguments, tmp_path, "hard")
    assert (line["env"], line["task"], line["n"]) == ("BabyAI-GoToLocal-v0", "missions", 20)
    assert 1 < line["extra"]["n_descriptions"] <= 19


@pytest.mark.slow
def test_an_evaluation_is_held_against_all_that_can_be_reached(tmp_path):
    arguments = "--envs Corridor --seeds 0 --n-tasks 20 --total-timesteps 2000"
    known, reachable = lines_of("evaluation", arguments, tmp_path, "evaluation")
    assert (known["task"], reachable["task"]) == ("known to the agent", "reachable")
    assert 1 < known["extra"]["goals"] <= reachable["extra"]["goals"] + 1


@pytest.mark.slow
def test_an_attribute_too_many_is_measured_beside_none(tmp_path):
    arguments = "--envs Corridor --seeds 0 --n-tasks 20 --total-timesteps 6000"
    lines = lines_of("distractor", arguments, tmp_path, "distractor")
    assert [(line["env"], line["task"]) for line in lines] == [
        ("Corridor", "none"),
        ("Corridor", "flag"),
    ]
