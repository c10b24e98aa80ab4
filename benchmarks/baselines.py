"""The rivals: reinforcement learning with our agent's environments, network, steps and tasks.

``python benchmarks/baselines.py --env AttrSwitches-v0 --algo ppo --regime curriculum`` trains a
learner and gives it 1,000 tasks. Regimes:

- ``one_step`` trains on nearby goals. Where hops take several steps, this is our agent's own hop
  policy, tested without the planner.
- ``test_tasks`` trains on the tasks of the test.
- ``curriculum`` starts with nearby goals and ends with the tasks of the test.

Each learner is tested with sampled and with deterministic actions, and the better result counts.
Results that are in the ledger are not measured again. If a learner does not support an
environment's actions, its line in the ledger says why. ``--agents`` saves the trained models.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch
from cells import add_arguments, run_cells
from curves import Checkpoints
from ledger import append, is_measured, read
from paper.figures import paper_figure
from paper.results import Measured
from rivals import FIT, LEARNERS, WITHOUT_REGIME, n_parameters, noted_settings, train
from rivals_envs import BY_STATE, CASES, REGIMES, Cell, evaluate

from gym_attrplan.error import InvalidEnvironment, InvalidOption

SUITE = "baselines"


def key(cell: Cell) -> dict[str, Any]:
    """A cell's key in the ledger, without the task."""
    return {"env": cell.env, "method": cell.method, "budget": cell.budget, "seed": cell.seed}


def missing(cell: Cell) -> list[str]:
    """The tasks of a cell that are not in the ledger."""
    return [task for task in cell.tasks if not is_measured(SUITE, task=task, **key(cell))]


def keep(model: Any, cell: Cell, template: str) -> None:
    """Save a model to its own file, if it can be saved."""
    if hasattr(model, "save"):
        name = cell.method.replace("/", "-") + cell.suffix
        parts = {"env": cell.env, "method": name, "seed": cell.seed, "budget": cell.budget}
        file = Path(template.format(**parts))
        file.parent.mkdir(parents=True, exist_ok=True)
        model.save(file)


def run(
    cell: Cell,
    tasks: list[str],
    n_tasks: int,
    n_points: int,
    device: str,
    template: str | None,
    passes: int,
) -> None:
    """Train one cell and evaluate it on tasks; each figure is a line of the ledger."""
    torch.set_num_threads(1)
    FIT["updates"] = passes  # this process is the cell's own
    start = time.perf_counter()
    about: dict[str, Any] = {"regime": cell.regime, "goals": cell.goals}
    about["settings"] = noted_settings(cell)
    callbacks = [Checkpoints(cell, n_points)] if n_points and cell.can_be_watched else []
    try:
        model = train(cell, device=device, callbacks=callbacks)
    except (InvalidEnvironment, InvalidOption) as error:
        for task in tasks:
            append(SUITE, task=task, extra={**about, "cannot": str(error)}, **key(cell))
        print(f"{cell}: {error}", flush=True)
        return
    # Rollouts are never cut, so small budgets are exceeded.
    about["steps"] = getattr(model, "num_timesteps", cell.budget)
    about["parameters"] = n_parameters(model)
    if not n_points:  # tests in between take time too
        about["steps_per_second"] = round(about["steps"] / (time.perf_counter() - start))
    if template:
        keep(model, cell, template)
    for task in tasks:
        result = evaluate(model, cell, task, n_tasks=n_tasks, seed=10_000 + cell.seed)
        extra = {**about, **result.pop("extra")}
        append(SUITE, task=task, extra=extra, **result, **key(cell))
        rate = result["successes"] / result["n"]
        print(f"{cell} {task}: {rate:.1%}, {extra}", flush=True)


def print_table() -> None:
    """All seeds together, beside the paper's figures."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in read(SUITE):
        rows.setdefault(tuple(line[k] for k in ("env", "task", "method", "budget")), []).append(
            line
        )
    for (env, task, method, budget), lines in sorted(rows.items()):
        name = f"{env:24} {task:14} {method:28} {budget:>11,}"
        counted = [line for line in lines if line["n"]]
        if not counted:
            print(f"{name}  —  {lines[0]['extra']['cannot']}")
            continue
        found = Measured(tuple(counted))
        low, high = found.interval
        seeds = " ".join(f"{one:.1f}" for one in found.seeds.values())
        paper = paper_figure(env, task, method)
        beside = "" if paper is None else f"  paper {paper}%"
        print(f"{name}  {found.percent:5.1f}% ({low:.1f} to {high:.1f})  seeds {seeds}{beside}")


def cells_of(options: argparse.Namespace) -> list[Cell]:
    """The cells that were asked for."""
    cells = []
    for env, algo, seed in product(options.env, options.algo, options.seeds):
        blocks = "Blocks" in env
        budget = 0 if algo == "random" else options.budget
        if algo in WITHOUT_REGIME:  # trained for no goals in particular
            goals = "all" if blocks else "full"
            cells.append(Cell(env, algo, "", budget, seed, goals, options.eyes))
            continue
        for regime, goals in product(options.regime, options.goals if blocks else ("full",)):
            cells.append(Cell(env, algo, regime, budget, seed, goals, options.eyes))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", nargs="+", choices=CASES, default=BY_STATE)
    parser.add_argument("--algo", nargs="+", choices=LEARNERS, required=True)
    parser.add_argument("--regime", nargs="+", choices=REGIMES, default=list(REGIMES))
    parser.add_argument("--goals", nargs="+", choices=("full", "70"), default=("full", "70"))
    parser.add_argument("--budget", type=int, default=3_000_000, help="environment steps")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument(
        "--passes", type=int, default=FIT["updates"], help="examples shown to fitted models"
    )
    parser.add_argument("--points", type=int, default=0, help="checkpoints for learning curves")
    parser.add_argument(
        "--agents", metavar="ZIP", help="files, such as runs/{env}-{method}-{seed}-{budget}.zip"
    )
    parser.add_argument(
        "--eyes", type=Path, metavar="NPZ", help="file of blocks.py, for environments with images"
    )
    parser.add_argument("--device", default="cpu")
    add_arguments(parser, jobs=1)
    parser.add_argument("--again", action="store_true", help="also measure what is in the ledger")
    options = parser.parse_args()
    if options.eyes is None and not set(options.env) <= {*BY_STATE}:
        parser.error("environments with images need --eyes NPZ, which benchmarks/blocks.py saves")
    rest = options.n_tasks, options.points, options.device, options.agents, options.passes
    wanted = [(one, one.tasks if options.again else missing(one)) for one in cells_of(options)]
    jobs = [(cell, tasks, *rest) for cell, tasks in wanted if tasks]
    run_cells(run, jobs, options)
    print_table()


if __name__ == "__main__":
    main()
