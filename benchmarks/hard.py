"""MiniGrid's hardest environments: an agent with no option but its seed, beside PPO with a bonus.

``python benchmarks/hard.py --envs MiniGrid-KeyCorridorS4R3-v0 --seeds 0`` trains our agent (``ap``)
and SB3's PPO with our count bonus and our network (``ppo_count``), with as many steps, and asks
each for 200 tasks. PPO is trained on the goal that is asked, ours on none. Every figure is a line
of suite ``hard``. Test seeds are 0, 1, 2; choices were made on seeds from 100 on.
"""

from __future__ import annotations

import argparse

import defaults
import others
from cells import add_arguments, run_cells
from defaults import Case, asking
from ledger import read
from paper.results import Measured

SUITE = "hard"

_BALL = asking("carrying=ball")
_GOAL = asking("at_goal")
_BLUE_BALL = asking("carrying=blue ball")

CASES = {
    "MiniGrid-DoorKey-16x16-v0": Case(1_000_000, _GOAL, 95),
    "MiniGrid-MultiRoom-N6-v0": Case(1_000_000, _GOAL, 95),
    "MiniGrid-LockedRoom-v0": Case(2_000_000, _GOAL, 95),
    "MiniGrid-KeyCorridorS4R3-v0": Case(1_000_000, _BALL, 95),
    "MiniGrid-KeyCorridorS5R3-v0": Case(2_000_000, _BALL, 90),
    "MiniGrid-KeyCorridorS6R3-v0": Case(3_000_000, _BALL, 85),
    "MiniGrid-ObstructedMaze-1Dlhb-v0": Case(1_000_000, _BLUE_BALL, 95),
    "MiniGrid-ObstructedMaze-2Dlhb-v0": Case(3_000_000, _BLUE_BALL, 85),
    "MiniGrid-ObstructedMaze-Full-v1": Case(5_000_000, _BLUE_BALL, 70),
    "MultiRoom-N12-S10": Case(
        5_000_000,
        _GOAL,
        80,
        kwargs={"minNumRooms": 12, "maxNumRooms": 12, "maxRoomSize": 10},
        env_id="MiniGrid-MultiRoom-N6-v0",
    ),
}
"""The suite, with what we promise, in percent."""

METHODS = ("ap", "ppo_count")


def run(env_id: str, method: str, seed: int, n_tasks: int, budget: int | None) -> None:
    """Measure a method on an environment of the suite."""
    case = CASES[env_id]
    if method == "ap":
        defaults.measure(SUITE, env_id, case, seed, n_tasks, budget)
    else:
        steps = budget or case.budget
        others.measure(SUITE, env_id, case, method, seed, n_tasks, steps, seconds=0.0)


def print_table() -> None:
    """All seeds together, beside what we promise."""
    for env_id, case in CASES.items():
        for method in METHODS:
            lines = tuple(
                line
                for line in read(SUITE)
                if (line["env"], line["method"], line["budget"]) == (env_id, method, case.budget)
            )
            if lines:
                found = Measured(lines)
                low, high = found.interval
                print(
                    f"{env_id:34} {method:10} {case.budget:>9,} steps {found.percent:5.1f}% "
                    f"({low:.1f} to {high:.1f}), promised {case.least}"
                )


def main() -> None:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=200)
    parser.add_argument("--total-timesteps", type=int, help="instead of the suite's")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    how = options.n_tasks, options.total_timesteps
    run_cells(
        run,
        [
            (env_id, method, seed, *how)
            for env_id in options.envs
            for method in options.methods
            for seed in options.seeds
        ],
        options,
    )
    print_table()


if __name__ == "__main__":
    main()
