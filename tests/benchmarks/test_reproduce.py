"""Stages run one after the other, killed and started again; scripts are fakes that write lines."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import reproduce as module
from paper.results import FIELDS, PROVENANCE
from paper.stage import Promise, Stage
from paper.stages import PARTS, SCALES, stages_of
from reproduce import Reproduction, main, reproduce
from rich.console import Console

from gym_attrplan.error import InvalidOption

ROOT = Path(__file__).parents[2]
TASKS = tuple(f"task {i}" for i in range(8))
PROMISE = Promise("fake", 1_000, ["Env-v0"], TASKS, ["ap"])

# As the real ones, it leaves the work to a process of its own, and skips what is there.
SCRIPT = f"""
import json, os, subprocess, sys, time
if sys.argv[1] != "worker":
    sys.exit(subprocess.call([sys.executable, __file__, "worker", *sys.argv[1:]]))
file = os.path.join(os.environ["ATTRPLAN_RESULTS"], "fake.jsonl")
lines = open(file).read().splitlines() if os.path.exists(file) else []
done = {{(json.loads(line)["task"], json.loads(line)["seed"]) for line in lines}}
empty = dict.fromkeys({[*FIELDS, *PROVENANCE]}) | {{"extra": {{}}, "versions": {{}}}}
parts = dict(suite="fake", env="Env-v0", method="ap", budget=1_000, n=1, successes=1)
more = dict(command="x", commit="x", machine="x", date="2026-01-01")
for seed in map(int, sys.argv[3:]):
    for task in {TASKS}:
        if (task, seed) not in done:
            time.sleep(float(sys.argv[2]))
            with open(file, "a") as out:
                out.write(json.dumps(empty | parts | more | dict(task=task, seed=seed)) + "\\n")
            print("wrote", task, flush=True)
"""

DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_reproduce import stage
from reproduce import Reproduction
run = Reproduction([stage(0.15)], Path(sys.argv[2]) / "out", seeds=2,
                   benchmarks=Path(sys.argv[2]) / "benchmarks")
sys.exit(len(run.run()))
"""


def stage(seconds_a_line, name="fake", promises=(PROMISE,), **options):
    options = {"seconds": 100.0, **options}
    arguments = f"{seconds_a_line} <seeds>"
    return Stage(name, "fake.py", arguments, promises=promises, **options)


@pytest.fixture
def benchmarks(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "fake.py").write_text(SCRIPT)
    return folder


@pytest.fixture
def quiet():
    return Console(file=io.StringIO(), width=120)


@pytest.fixture(autouse=True)
def known_machine(monkeypatch):
    """Two cores without a GPU, as fast as the one that costs were measured on."""
    monkeypatch.setattr(module, "slowness", lambda: 1.0)
    monkeypatch.setattr(module, "_has_gpu", lambda: False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(module, "LOOK_EVERY", 0.05)


def written(out):
    file = out / "fake.jsonl"
    texts = file.read_text().splitlines() if file.exists() else []
    return Counter((line["task"], line["seed"]) for line in map(json.loads, texts))


def start_driver(tmp_path):
    command = [sys.executable, "-c", DRIVER, str(Path(__file__).parent), str(tmp_path)]
    known = os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": known})


@pytest.mark.slow
def test_killed_and_started_again_no_line_is_lost_or_written_twice(tmp_path, benchmarks):
    out = tmp_path / "out"
    process = start_driver(tmp_path)
    while len(written(out)) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    time.sleep(0.1)  # the fake is killed by another process
    at_death = written(out)
    assert 3 <= len(at_death) < 16
    time.sleep(0.6)  # long enough for three lines more, had it lived on
    assert written(out) == at_death
    assert start_driver(tmp_path).wait() == 0
    assert written(out) == {(task, seed): 1 for task in TASKS for seed in (0, 1)}


def test_what_a_stage_prints_is_in_its_log(tmp_path, benchmarks, quiet):
    out = tmp_path / "out"
    assert Reproduction([stage(0)], out, seeds=1, benchmarks=benchmarks, console=quiet).run() == []
    assert (out / "logs" / "fake.log").read_text().splitlines()[0] == "wrote task 0"


def test_a_stage_whose_lines_are_there_is_not_run_again(tmp_path, benchmarks, quiet):
    out = tmp_path / "out"
    Reproduction([stage(0)], out, seeds=1, benchmarks=benchmarks, console=quiet).run()
    (benchmarks / "fake.py").write_text("raise SystemExit(3)")
    again = Reproduction([stage(0)], out, seeds=1, benchmarks=benchmarks, console=quiet)
    assert again.run() == []
    assert again.rows[0].state == "was done before"


def test_one_more_seed_runs_the_stage_for_that_seed(tmp_path, benchmarks, quiet):
    out = tmp_path / "out"
    for seeds in (1, 2):
        Reproduction([stage(0)], out, seeds=seeds, benchmarks=benchmarks, console=quiet).run()
    assert written(out) == {(task, seed): 1 for task in TASKS for seed in (0, 1)}


def test_a_stage_that_fails_is_named_and_the_next_one_runs(tmp_path, benchmarks, quiet):
    (benchmarks / "broken.py").write_text("print('what went wrong'); raise SystemExit(3)")
    broken = Stage("broken", "broken.py", "", 1.0, (Promise("x", 1, ["e"], ["t"], ["m"]),))
    out = tmp_path / "out"
    run = Reproduction([broken, stage(0)], out, seeds=1, benchmarks=benchmarks, console=quiet)
    assert run.run() == ["broken"]
    assert "exit status 3" in run.rows[0].state
    assert (out / "logs" / "broken.log").read_text() == "what went wrong\n"
    assert len(written(out)) == 8


def test_a_stage_that_ends_well_without_its_lines_has_failed(tmp_path, benchmarks, quiet):
    promise = Promise("fake", 1_000, ["Env-v0"], [*TASKS, "one more"], ["ap"])
    late = stage(0, promises=(promise,))
    run = Reproduction([late], tmp_path / "o", seeds=1, benchmarks=benchmarks, console=quiet)
    assert run.run() == ["fake"]
    assert run.rows[0].n_missing == 1


def test_a_stage_may_promise_files(tmp_path, benchmarks, quiet):
    (benchmarks / "draw.py").write_text("import sys; open(sys.argv[1], 'w')")
    draw = Stage("draw", "draw.py", "'<out>/a picture.png'", 1.0, files=("a picture.png",))
    out = tmp_path / "out"
    assert Reproduction([draw], out, seeds=1, benchmarks=benchmarks, console=quiet).run() == []
    assert (out / "a picture.png").exists()


def test_two_at_once_may_not_write_to_one_folder(tmp_path, benchmarks, quiet, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    out = tmp_path / "out"
    (out / "logs").mkdir(parents=True)
    with module._alone(out), pytest.raises(InvalidOption, match="another run writes to"):
        Reproduction([stage(0)], out, seeds=1, benchmarks=benchmarks, console=quiet).run()


@pytest.mark.parametrize(("budget", "n_missing"), [(999, 8), (1_000, 0), (1_040, 0), (1_100, 8)])
def test_a_budget_may_be_exceeded_by_a_rollout_but_is_not_another_one(budget, n_missing):
    key = {"suite": "fake", "env": "Env-v0", "method": "ap", "seed": 0, "budget": budget}
    assert PROMISE.missing([{**key, "task": task} for task in TASKS], [0]) == n_missing


def test_it_says_at_the_start_what_it_costs_here(tmp_path, benchmarks, monkeypatch):
    console = Console(file=io.StringIO(), width=200)
    once = {"seconds": 61.0, "per_seed": False}
    stages = [stage(0), stage(0, name="after", **once)]
    monkeypatch.setattr(module, "stages_of", lambda part, scale: stages)
    monkeypatch.setattr(module, "BENCHMARKS", benchmarks)
    out = tmp_path / "out"
    assert reproduce("grids", scale="quick", seeds=2, out=out, console=console) == []
    said = console.file.getvalue()
    assert said.startswith("grids, quick: 2 stages, 2 seed(s), about 4m 21s on this machine (2 cor")
    assert re.search(r"fake +3m 20s\n +after +1m 01s\n", said)
    assert "wrote " in said
    assert (out / "report.html").exists()


def test_cost_is_by_what_is_missing_seeds_cores_and_speed(monkeypatch):
    monkeypatch.setattr(module, "slowness", lambda: 1.5)
    assert module.cost_here(stage(0), 3, 2) == 450.0
    assert module.cost_here(stage(0), 3, 6) == 150.0
    monkeypatch.setattr(module, "_has_gpu", lambda: True)
    assert module.cost_here(stage(0, gpu_seconds=10.0), 1, 2) == 15.0
    row = module.Progress(stage(0), cost=80.0, n_lines=8, n_missing=2)
    assert row.left == 20.0
    row.spent = 5.0
    assert row.left == 15.0
    row.n_missing = 0
    assert row.left == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stacks"], "a part is one of ['blocks', 'blocks-continuous', 'grids', 'build-order'"),
        (["grids", "--scale", "huge"], "a scale is one of ['quick', 'full']; received 'huge'"),
    ],
)
def test_what_there_is_not_is_refused_in_a_line(tmp_path, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--out", str(tmp_path / "out")])
    assert message in stopped.value.code  # Python prints it, and exits with status 1
    assert "\n" not in stopped.value.code


def test_no_seed_at_all_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="at least one seed is needed; received 0"):
        main(["grids", "--seeds", "0", "--out", str(tmp_path / "out")])


def test_failed_stages_are_the_commands_failure(monkeypatch):
    monkeypatch.setattr(module, "reproduce", lambda **options: ["grids"])
    with pytest.raises(SystemExit, match="these stages failed, see their logs: grids"):
        main(["grids"])


def test_an_interruption_names_the_remedy(monkeypatch):
    def interrupted(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "reproduce", interrupted)
    with pytest.raises(SystemExit, match="the same command resumes"):
        main([])


@pytest.mark.parametrize("scale", SCALES)
def test_every_stage_calls_a_script_with_options_that_it_has(scale):
    stages = stages_of("all", scale)
    assert len({one.name for one in stages}) == len(stages)
    for one in stages:
        text = (ROOT / "benchmarks" / one.script).read_text()
        if "add_arguments(parser" in text:
            text += (ROOT / "benchmarks" / "cells.py").read_text()
        assert ("<ray>" in one.arguments) == ("run_cells(" in text)
        for option in re.findall(r"(?<!\S)--[a-z-]+", one.arguments):
            assert f'"{option}"' in text, f"{one.script} has no {option}"


def test_all_is_every_part_and_quick_is_below_45_minutes_on_two_cores():
    parts = [one for part in PARTS for one in stages_of(part, "quick")]
    assert stages_of("all", "quick") == parts
    assert sum(one.seconds for one in parts) < 45 * 60


def test_seeds_jobs_and_the_folder_are_filled_in():
    one = Stage("x", "x.py", "--seeds <seeds> --n <n_seeds> -j <jobs> --to '<out>/{seed}.zip'", 1)
    command = one.command(Path("/a folder"), seeds=[0, 1], jobs=3)
    assert " ".join(command[:-1]) == "x.py --seeds 0 1 --n 2 -j 3 --to"
    assert command[-1] == "/a folder/{seed}.zip"


def test_where_the_workers_are_is_filled_in():
    one = Stage("x", "x.py", "--jobs <jobs> <ray> --n 1", 1)
    where = {"out": Path("out"), "seeds": [0], "jobs": 3}
    assert one.command(**where) == ["x.py", "--jobs", "3", "--n", "1"]
    assert one.command(**where, ray="a:1")[3:] == ["--ray", "a:1", "--n", "1"]
