"""The defaults: an agent with no option but its seed, on environments it was not tuned for.

``python benchmarks/defaults.py --envs Taxi-v4 --seeds 0 1 2`` trains and asks; without arguments it
runs the whole suite. Every figure is a line of suite ``defaults``. Test seeds are 0, 1, 2 and tasks
are drawn from seed 10,000 on; the defaults were chosen on seeds from 100 on, with tasks drawn from
900,000 on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from cells import add_arguments, run_cells
from ledger import append, read
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import asking_for, evaluate_tasks, goals_to_ask
from gym_attrplan.report.agent_facts import HopTable
from gym_attrplan.report.calibration import try_edges, try_plans

sys.path.insert(0, str(Path(__file__).parents[1]))
from examples.own_env_in_40_lines import make_env as make_corridor

N_COPIES = 32
"""Environments of a kind that is no id, as many as the library makes of an id."""

N_WEAKEST = 3
"""Hops named in a line: of those attempted often, the ones that fail most often."""


@dataclass(frozen=True)
class Case:
    """An environment, how long to train in it, and what to ask for.

    Attributes:
        budget: Steps of training.
        goals: The goals of the test; None for the environment's own tasks.
        least: Success rate that we promise, in percent.
        make: What makes one environment, where it is no id with ready attributes.
        policy: SB3's, or ours for units.
        kwargs: For the environment of an id.
        env_id: The id, where it is not the name of the row.
    """

    budget: int
    goals: Callable[[VecEnv], list[Any]] | None
    least: float
    make: Callable[[], gym.Env[Any, Any]] | None = None
    policy: str = "MultiInputPolicy"
    kwargs: dict[str, Any] | None = None
    env_id: str | None = None

    def make_envs(self, env_id: str, n_envs: int | None = None) -> VecEnv:
        """The environments."""
        if self.make is not None:
            return as_vec_env(make_vec_env(self.make, n_envs or N_COPIES))
        return as_vec_env(self.env_id or env_id, n_envs=n_envs, env_kwargs=self.kwargs)


def asking(*goals: str) -> Callable[[VecEnv], list[Any]]:
    """The given goals, whatever the environment."""
    return lambda venv: list(goals)


def corners(*left_out: tuple[int, int]) -> Callable[[VecEnv], list[Any]]:
    """The corners of a board, without the excluded ones, as goals."""

    def goals(venv: VecEnv) -> list[Any]:
        space = venv.get_attr("attribute_space", [0])[0]
        sides = [(0, space.table[name] - 1) for name in ("row", "column")]
        return [
            {"row": sides[0][i], "column": sides[1][j]}
            for i in (0, 1)
            for j in (0, 1)
            if (i, j) not in left_out
        ]

    return goals


def mountain_car() -> gym.Env[Any, Any]:
    """The car's place in eight bins, and which way it rolls."""

    def bins(env: Any, seen: Any) -> dict[str, int]:
        place = int(np.clip((seen[0] + 1.2) / 1.8 * 8, 0, 7))
        return {"place": place, "to the right": int(seen[1] > 0)}

    return AttributeWrapper(gym.make("MountainCar-v0"), {"place": 8, "to the right": 2}, bins)


def acrobot() -> gym.Env[Any, Any]:
    """The height of the tip, in eight bins."""

    def bins(env: Any, seen: Any) -> dict[str, int]:
        cos1, sin1, cos2, sin2 = seen[:4]
        height = -cos1 - (cos1 * cos2 - sin1 * sin2)
        return {"height": int(np.clip((height + 2.0) / 4.0 * 8, 0, 7))}

    return AttributeWrapper(gym.make("Acrobot-v1"), {"height": 8}, bins)


def point_maze() -> gym.Env[Any, Any]:
    """The maze with its ready attributes, row and column; its own goal is not shown."""
    import gymnasium_robotics

    gym.register_envs(gymnasium_robotics)
    env = gym.make("PointMaze_Medium-v3")
    return AttributeWrapper(gym.wrappers.FilterObservation(env, ["observation"]))


def open_cells(venv: VecEnv) -> list[Any]:
    """A maze's cells that are not walls."""
    rows = venv.get_attr("unwrapped", [0])[0].maze.maze_map
    cells = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell != 1]
    return [{"row": i, "column": j} for i, j in cells]


def any_bin(name: str, values: range) -> Callable[[VecEnv], list[Any]]:
    """Each value of a binned attribute."""
    return lambda venv: [{name: value} for value in values]


PLACES = ("red", "green", "yellow", "blue", "in taxi")

SUITE = {
    "MiniGrid-DoorKey-8x8-v0": Case(500_000, asking("at_goal"), 99),
    "MiniGrid-KeyCorridorS3R3-v0": Case(1_000_000, asking("carrying=ball"), 95),
    "MiniGrid-MultiRoom-N4-S5-v0": Case(1_000_000, asking("at_goal"), 95),
    "MiniGrid-LavaCrossingS9N2-v0": Case(500_000, asking("at_goal"), 95),
    "MiniGrid-FourRooms-v0": Case(500_000, asking("at_goal"), 95),
    "MiniGrid-RedBlueDoors-8x8-v0": Case(500_000, asking("red door=open, blue door=open"), 95),
    "Taxi-v4": Case(500_000, asking(*(f"passenger={place}" for place in PLACES)), 99),
    "FrozenLake8x8-v1": Case(500_000, corners(), 0),
    "CliffWalking-v1": Case(200_000, corners((1, 0)), 99, kwargs={"max_episode_steps": 200}),
    "MountainCar-v0": Case(500_000, any_bin("place", range(8)), 90, make=mountain_car),
    "Acrobot-v1": Case(500_000, any_bin("height", range(8)), 90, make=acrobot),
    "PointMaze_Medium-v3": Case(1_000_000, open_cells, 97, make=point_maze),
    "AttrSwitches-v0": Case(1_200_000, None, 99),
    "AttrCrafting-v0": Case(2_400_000, None, 99.8),
    "AttrBuildOrder-v0": Case(3_000_000, None, 64, policy="UnitPolicy"),
    "AttrBuildOrderLarge-v0": Case(3_000_000, None, 70, policy="UnitPolicy"),
    "Corridor": Case(60_000, None, 99, make=make_corridor),
}
"""The suite. FrozenLake's bar is the optimum, less 5 points: :func:`best_on_the_lake`."""


def best_on_the_lake(n_steps: int = 200) -> float:
    """Percent of the corner tasks that the best policy solves, by value iteration on its table."""
    env: Any = gym.make("FrozenLake8x8-v1").unwrapped
    n = env.observation_space.n
    total = 0.0
    goals = (7, n - 8, n - 1)  # it starts in the fourth corner, where that goal holds
    for goal in goals:
        values = np.zeros(n)
        values[goal] = 1.0
        for _ in range(n_steps):
            after = np.array(
                [
                    max(
                        sum(p * values[end] * (end == goal or not over) for p, end, _, over in ways)
                        for ways in env.P[state].values()
                    )
                    for state in range(n)
                ]
            )
            after[goal] = 1.0
            values = after
        total += values[0]
    return 100.0 * total / len(goals)


def run(env_id: str, seed: int, n_tasks: int, budget: int | None, save: str | None) -> None:
    """Measure an environment of the suite."""
    measure("defaults", env_id, SUITE[env_id], seed, n_tasks, budget, save)


def measure(
    suite: str,
    env_id: str,
    case: Case,
    seed: int,
    n_tasks: int,
    budget: int | None,
    save: str | None = None,
) -> None:
    """Train an agent with default options, evaluate it, and append the figure."""
    torch.set_num_threads(1)
    budget = budget or case.budget
    start = time.perf_counter()
    agent = AttributePlannerAgent(case.policy, case.make_envs(env_id), seed=seed, device="cpu")
    agent.learn(budget)
    seconds = time.perf_counter() - start
    if save:
        agent.save(save.format(env=env_id, seed=seed, budget=budget))
    tests = case.make_envs(env_id, n_envs=20)
    goals = None if case.goals is None else case.goals(tests)
    result = evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=goals, seed=10_000 + seed)
    with asking_for(tests, goals_to_ask(agent, tests, goals, seed=seed)):
        trials = try_plans(agent, tests, n_tasks=300, seed=20_000 + seed)
    hops = try_edges(agent, tests, seed=30_000 + seed)
    weakest = HopTable.of(agent).most_failing()[:N_WEAKEST]
    append(
        suite,
        env=env_id,
        task="asked",
        method="ap",
        budget=budget,
        seed=seed,
        n=result.n,
        successes=result.successes,
        extra={
            "mean_steps": float(result.n_steps.mean()),
            "train_seconds": round(seconds, 1),
            "n_descriptions": agent.counts.n_nodes,
            "weakest_hops": [f"{one.name}: {one.percent:.0f}%" for one in weakest],
            "promised": round(float(trials.predicted.mean()), 3),
            "kept": round(float(trials.reached.mean()), 3),
            "calibration_error": round(trials.calibration_error, 3),
            "hop_bins": [
                [round(one.predicted, 3), round(one.achieved, 3), one.n] for one in hops.bins()
            ],
        },
    )
    print(f"{env_id} seed {seed}: {result}, {result.n_steps.mean():.1f} steps, {seconds:.0f} s")
    print(result.table())
    print(trials.describe())
    print(hops.describe(), flush=True)


def print_table() -> None:
    """All seeds of the suite's budgets together, beside what we promise."""
    lines = read("defaults")
    for env_id, case in SUITE.items():
        rows = [row for row in lines if row["env"] == env_id and row["budget"] == case.budget]
        if not rows:
            continue
        solved = 100.0 * sum(row["successes"] for row in rows) / sum(row["n"] for row in rows)
        seeds = " ".join(f"{100.0 * row['successes'] / row['n']:.1f}" for row in rows)
        steps = np.mean([row["extra"]["mean_steps"] for row in rows])
        seconds = np.mean([row["extra"]["train_seconds"] for row in rows])
        off = 100.0 * np.mean([row["extra"]["calibration_error"] for row in rows])
        least = best_on_the_lake() - 5.0 if env_id.startswith("FrozenLake") else case.least
        print(
            f"{env_id:30} {case.budget:>9,} steps  {solved:5.1f}% (at least {least:.1f})  seeds "
            f"{seeds}  {steps:.0f} steps a task, {seconds:.0f} s, plans off by {off:.0f} points"
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=list(SUITE), choices=list(SUITE))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=200)
    parser.add_argument("--total-timesteps", type=int, help="instead of the suite's")
    parser.add_argument("--save", metavar="ZIP", help="such as runs/{env}-{seed}-{budget}.zip")
    parser.add_argument("--table", action="store_true", help="only print what is in the ledger")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    if not options.table:
        how = options.n_tasks, options.total_timesteps, options.save
        cells = [(env_id, seed, *how) for env_id in options.envs for seed in options.seeds]
        run_cells(run, cells, options)
    print_table()


if __name__ == "__main__":
    main()
