"""Attributes are removed: what is lost without them, and what ``refine`` wins back.

``python benchmarks/missing.py --envs AttrCrafting-v0 --n-removed 1 --seeds 3`` trains an agent
without an attribute, which the seed draws, and tests it on tasks over the others. From the same
agent go on: training without more attributes (``longer``), ``refine`` (``refined``), and ``refine``
with a person who accepts only what was removed (``asked``), each with a fifth of the steps more.
``--n-removed 0`` trains an agent with all attributes (``all``), and gives it the tasks of the
others, too. Then ``refine`` is asked for one attribute more, although none is missing: the line of
task ``0 removed`` has what was tried, and what was kept (``added``). Every figure is a line of
suite ``missing``. Test seeds are 3, 4, 5, with tasks from seed 10,000 on. Choices were made on
seeds from 100 on, and once on seeds 0, 1, 2 (``results/trials.txt``), which are not tested again.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from cells import add_arguments, run_cells
from ledger import append, read
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan import AttributePlannerAgent, AttributeSpace
from gym_attrplan.agent.added import OtherAttributesVecEnv
from gym_attrplan.agent.environments import as_vec_env, attribute_space
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.agent.missing import Missing
from gym_attrplan.models.questions import Question
from gym_attrplan.wrappers.observation import GOAL_KEYS

MORE = 0.2
"""Share of the steps that go on after an attribute was removed."""

AGREES = 0.95
"""Share of states of both kinds in which an answer is as the removed attribute."""

N_STATES = 20_000
"""States that a question is compared in with a removed attribute."""

N_REMOVED = (0, 1, 2, 4)
"""Numbers of attributes that are removed."""

N_GOALS = 256
"""Goals drawn for the tests."""


@dataclass(frozen=True)
class Case:
    """An environment, how long to train in it, and which attributes tasks cannot do without.

    Attributes:
        budget: Steps of training.
        goals: The goals of the test; None for the environment's own, over what is not removed.
        stay: Attributes that are never removed.
        policy: SB3's, or ours for units.
    """

    budget: int
    goals: tuple[str, ...] | None = None
    stay: tuple[str, ...] = ()
    policy: str = "MultiInputPolicy"


SUITE = {
    "AttrSwitches-v0": Case(1_200_000),
    "AttrCrafting-v0": Case(1_200_000),
    "MiniGrid-DoorKey-8x8-v0": Case(500_000, ("at_goal",), ("at_goal",)),
    "MiniGrid-KeyCorridorS3R3-v0": Case(1_000_000, ("carrying=ball",), ("carrying",)),
    "AttrBuildOrder-v0": Case(3_000_000, policy="UnitPolicy"),
}


class Without(OtherAttributesVecEnv):
    """Environments of which some attributes are removed; their goals leave them free.

    Args:
        venv: The environments.
        removed: The attributes.
    """

    def __init__(self, venv: VecEnv, removed: Sequence[str]) -> None:
        self.whole = attribute_space(venv)
        table = {name: size for name, size in self.whole.table.items() if name not in removed}
        self.columns = np.array([self.whole.names.index(name) for name in table])
        self.states: list[tuple[dict[str, Any], npt.NDArray[Any]]] = []
        super().__init__(venv, AttributeSpace(table))

    def describe(self, observations: Any) -> dict[str, Any]:
        """Leave the removed attributes out, and keep some states with them."""
        cut = {key: observations[key][..., self.columns] for key in GOAL_KEYS}
        if len(self.states) * self.num_envs < N_STATES:
            self.states.append(({**observations, **cut}, observations["achieved_goal"].copy()))
        return {**observations, **cut}

    def own_goals(self, goals: Any) -> npt.NDArray[Any]:
        """Leave the removed attributes free."""
        own = np.full((len(goals), len(self.whole)), -1, self.whole.dtype)
        own[:, self.columns] = goals
        return own

    def agreement(self, question: Question) -> float:
        """How well an answer tells some value of a removed attribute, from 0.5 to 1.

        It is the mean share of right answers among states that have the value and those that have
        not.
        """
        rows, whole = zip(*self.states, strict=True)
        told = question.answer({question.key: np.concatenate([row[question.key] for row in rows])})
        columns = np.setdiff1d(np.arange(len(self.whole)), self.columns)
        best = 0.5
        for column in np.concatenate(whole)[:, columns].T:
            for value in np.unique(column):
                has = column == value
                if has.any() and not has.all():
                    right = (told[has].mean() + 1.0 - told[~has].mean()) / 2.0
                    best = max(best, right, 1.0 - right)
        return float(best)


def draw_removed(env_id: str, k: int, seed: int) -> tuple[str, ...]:
    """The attributes that a seed removes."""
    names = attribute_space(as_vec_env(env_id, n_envs=1)).names
    free = [name for name in names if name not in SUITE[env_id].stay]
    chosen = np.random.default_rng(seed).permutation(len(free))[: min(k, len(names) - 1)]
    return tuple(free[i] for i in sorted(chosen))


def make_envs(env_id: str, removed: Sequence[str], n_envs: int | None = None) -> Without:
    """The environments without the removed attributes."""
    return Without(as_vec_env(env_id, n_envs=n_envs), removed)


def goals_of(env_id: str, removed: Sequence[str], seed: int) -> list[Any]:
    """The goals of the test, over what is not removed."""
    fixed = SUITE[env_id].goals
    if fixed is not None:
        return list(fixed)
    drawn = make_envs(env_id, removed, n_envs=N_GOALS)
    drawn.seed(seed)
    goals = drawn.reset()["desired_goal"]
    return [
        {
            name: int(value)
            for name, value in zip(drawn.attribute_space, goal, strict=True)
            if value >= 0
        }
        for goal in np.unique(goals[(goals >= 0).any(axis=1)], axis=0)
    ]


def run(env_id: str, k: int, seed: int, n_tasks: int, budget: int | None) -> None:
    """Train without some attributes, go on in three ways, and append the figures."""
    torch.set_num_threads(1)
    case = SUITE[env_id]
    budget = budget or case.budget
    removed = draw_removed(env_id, k, seed)
    tests = make_envs(env_id, removed, n_envs=20)

    def test(agent: AttributePlannerAgent, removed: Sequence[str]) -> TaskResult:
        goals = goals_of(env_id, removed, 10_000 + seed)
        return evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=goals, seed=10_000 + seed)

    def note(method: str, k: int, result: TaskResult, **extra: Any) -> None:
        append(
            "missing",
            env=env_id,
            task=f"{k} removed",
            method=method,
            budget=budget,
            seed=seed,
            n=result.n,
            successes=result.successes,
            extra={"removed": draw_removed(env_id, k, seed), **extra},
        )
        print(f"{env_id} {k} removed seed {seed} {method}: {result} {extra}", flush=True)

    start = time.perf_counter()
    agent = AttributePlannerAgent(
        case.policy, make_envs(env_id, removed), seed=seed, device="cpu"
    ).learn(budget)
    seconds = round(time.perf_counter() - start, 1)
    more = int(MORE * budget)
    if not k:
        results = {other: test(agent, draw_removed(env_id, other, seed)) for other in N_REMOVED}
        tried = agent.refine(1, more)
        added = [str(each) for each in tried if each.kept]
        note("all", 0, results.pop(0), train_seconds=seconds, tried=len(tried), added=added)
        for other, result in results.items():
            note("all", other, result, train_seconds=seconds)
        return
    without = test(agent, removed)  # before questions are compared in the states that it met
    first = [round(tests.agreement(one.question), 3) for one in agent.find_missing()[:5]]
    note("without", k, without, train_seconds=seconds, agreements=first)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.zip"
        agent.save(file)

        def again() -> AttributePlannerAgent:
            return AttributePlannerAgent.load(file, env=make_envs(env_id, removed))

        def is_removed(missing: Missing) -> str | None:
            return missing.asked if tests.agreement(missing.question) >= AGREES else None

        note("longer", k, test(again().learn(more, reset_num_timesteps=False), removed))
        for method, ask in (("refined", None), ("asked", is_removed)):
            one = again()
            tried = one.refine(k, more // k, ask=ask)
            note(
                method,
                k,
                test(one, removed),
                tried=[
                    [str(each), round(tests.agreement(each.missing.question), 3)] for each in tried
                ],
                steps=one.num_timesteps - agent.num_timesteps,
            )


def print_table() -> None:
    """Percent of the tasks solved, all seeds together."""
    lines = read("missing")
    for env_id in SUITE:
        for k in N_REMOVED:
            rows = [row for row in lines if (row["env"], row["task"]) == (env_id, f"{k} removed")]
            solved = {}
            for method in ("all", "without", "longer", "refined", "asked"):
                same = [row for row in rows if row["method"] == method]
                if same:
                    n = sum(row["n"] for row in same)
                    solved[method] = 100.0 * sum(row["successes"] for row in same) / n
            if solved:
                figures = "  ".join(f"{name} {rate:5.1f}" for name, rate in solved.items())
                print(f"{env_id:30} {k} removed  {figures}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=list(SUITE), choices=list(SUITE))
    parser.add_argument("--n-removed", nargs="+", type=int, default=list(N_REMOVED))
    parser.add_argument("--seeds", nargs="+", type=int, default=[3, 4, 5])
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--total-timesteps", type=int, help="instead of the suite's")
    parser.add_argument("--table", action="store_true", help="only print what is in the ledger")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    if not options.table:
        how = options.n_tasks, options.total_timesteps
        cells = [
            (env_id, k, seed, *how)
            for env_id in options.envs
            for k in options.n_removed
            for seed in options.seeds
        ]
        run_cells(run, cells, options)
    print_table()


if __name__ == "__main__":
    main()
