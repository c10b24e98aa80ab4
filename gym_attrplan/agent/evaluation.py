"""Evaluation of agents and SB3 models: share of tasks solved, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from rich.progress import track
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import random_actions
from gym_attrplan.agent.environments import attribute_space, set_everywhere
from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.attributes.html_table import html_table
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.graph import Plan

_NO_PLAN = np.iinfo(np.int64).max

_MAX_GOALS = 1_000
"""Maximum number of known descriptions used as goals; of more, a sample is drawn."""

_MAX_LEFT_OUT = 1_000
"""Maximum number of goals in a row that hold at the start, before an error is raised."""


class Predictor(Protocol):
    """Protocol of the agent, an SB3 model, or anything else that acts."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], Any]:
        """Return actions for a batch, and the state for the next call."""


class RandomModel:
    """Model that acts at random, as a baseline.

    Args:
        venv: The environments whose actions are drawn.
        seed: Seed of the draws.
    """

    def __init__(self, venv: VecEnv, *, seed: int = 0) -> None:
        self._space = venv.action_space
        self._rng = np.random.default_rng(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], None]:
        """Return random actions for a batch."""
        n = len(observation["achieved_goal"])
        return random_actions(self._space, n, self._rng), None


@dataclass(frozen=True)
class TaskResult:
    """Result of an evaluation: which tasks were solved, and the steps taken.

    Attributes:
        solved: ``(n,)`` whether each task was solved.
        n_steps: ``(n,)`` steps taken on each task.
        goals: The goal of each task, in words.
        n_hops: ``(n,)`` number of hops of the first plan; -1 without a plan or an agent.
        promised: ``(n,)`` success probability of this plan; 0 without a plan.
    """

    solved: npt.NDArray[np.bool_]
    n_steps: npt.NDArray[np.int64]
    goals: tuple[str, ...] = ()
    n_hops: npt.NDArray[np.int64] | None = None
    promised: npt.NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.solved)

    @property
    def successes(self) -> int:
        """Number of tasks solved."""
        return int(self.solved.sum())

    @property
    def rate(self) -> float:
        """Share of tasks solved."""
        return self.successes / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the rate."""
        return wilson_interval(self.successes, self.n)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.rate:.1%} of {self.n:,} tasks ({low:.1%} to {high:.1%})"

    def table(self) -> str:
        """Return a table with a line for each goal, hardest first, and for each length of plan.

        Example:
            >>> print(TaskResult(np.array([True, False, True]), np.array([4, 9, 2]),
            ...                  ("door", "door", "key"), np.array([2, 2, 1])).table())
            solved  tasks  steps  goal
             50.0%      2    6.5  door
            100.0%      1    2.0  key
            solved  tasks  steps  hops
            100.0%      1    2.0  1
             50.0%      2    6.5  2
        """
        groups = {"goal": self.by_goal()}
        if self.n_hops is not None:
            groups["hops"] = self.by_hops()
        lines = []
        for title, found in groups.items():
            lines.append(f"solved  tasks  steps  {title}")
            lines += [
                f"{one.rate:6.1%} {one.n:6,} {one.n_steps.mean():6.1f}  {name}"
                for name, one in found.items()
            ]
        return "\n".join(lines)

    def by_goal(self) -> dict[str, TaskResult]:
        """Return the results of each goal, hardest first."""
        found = self._parts(np.array(self.goals))
        return dict(sorted(found.items(), key=lambda item: item[1].rate))

    def by_hops(self) -> dict[str, TaskResult]:
        """Return the results of each length of plan; empty without plans."""
        return (
            {}
            if self.n_hops is None
            else self._parts(np.where(self.n_hops < 0, _NO_PLAN, self.n_hops))
        )

    def _parts(self, groups: npt.NDArray[Any]) -> dict[str, TaskResult]:
        """Return the results of each group, by its name."""
        parts = {}
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            goals = tuple(self.goals[i] for i in rows) if self.goals else ()
            name = "no plan" if group == _NO_PLAN else str(group)
            parts[name] = TaskResult(
                self.solved[rows],
                self.n_steps[rows],
                goals,
                None if self.n_hops is None else self.n_hops[rows],
                None if self.promised is None else self.promised[rows],
            )
        return parts

    def _repr_html_(self) -> str:
        groups = self.by_goal() if self.goals else {}
        rows = [
            (f"{one.rate:.1%}", one.n, f"{one.n_steps.mean():.1f}", name)
            for name, one in groups.items()
        ]
        return html_table(str(self), ["solved", "tasks", "steps", "goal"], rows)


def wilson_interval(successes: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's score interval of a success rate, 95% by default.

    Example:
        >>> low, high = wilson_interval(99, 100)
        >>> round(low, 3), round(high, 3)
        (0.946, 0.998)
    """
    rate, z2n = successes / n, z * z / n
    middle = (rate + z2n / 2) / (1 + z2n)
    half = z / (1 + z2n) * math.sqrt(rate * (1 - rate) / n + z2n / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _no_tasks(goal: str) -> InvalidEnvironment:
    return InvalidEnvironment(
        f"a task is a goal that does not hold at the start; {_MAX_LEFT_OUT} goals in a row did, "
        f"such as {goal!r}. The default sampler draws what its environment has seen: give "
        "AttributeWrapper a goal_sampler."
    )


def evaluate_tasks(
    model: Predictor,
    venv: VecEnv,
    *,
    n_tasks: int = 1_000,
    goals: Sequence[GoalLike] | None = None,
    seed: int = 0,
    deterministic: bool = True,
    truth: str | None = None,
    progress_bar: bool = False,
) -> TaskResult:
    """Evaluate a model on tasks.

    Goals are the given ones, or the environment's own sampler draws them. An environment without a
    sampler would draw descriptions that it has just visited, which makes tasks too easy; an agent
    then gets the descriptions that it knows, each equally often. Goals that hold at the start are
    skipped. Every environment gets the same number of tasks, plus or minus one: counting the
    episodes that end first would favour short ones.

    Args:
        model: The agent or any SB3 model.
        venv: Environments that end an episode on success; their step limit is that of the tasks.
        n_tasks: Number of tasks.
        goals: Goals in any form that ``AttributeSpace.goal`` reads, each used equally often.
        seed: Seed of the environments and goals.
        deterministic: Whether to take the most probable actions.
        truth: Key of the infos that holds the true attributes, if a detector predicts those that
            the model sees: an episode ends when the goal is predicted to hold, and is solved
            if it truly holds.
        progress_bar: Whether to show a progress bar.

    Raises:
        InvalidOption: If ``n_tasks`` is below 1.
        InvalidGoal: If a goal does not fit the attributes.
        InvalidEnvironment: If an environment draws only goals that hold at the start.
    """
    if n_tasks < 1:
        raise InvalidOption(f"n_tasks is at least 1; received {n_tasks}.")
    if hasattr(model, "extend"):  # an agent may have added attributes
        venv = model.extend(venv)
    wanted = goals_to_ask(model, venv, goals, seed=seed)
    venv.seed(seed)
    ticks = iter(track(range(n_tasks), "evaluate", disable=not progress_bar))
    with asking_for(venv, wanted):
        done = []
        for task in _tasks(model, venv, n_tasks, deterministic=deterministic, truth=truth):
            done.append(task)
            next(ticks, None)
    solved, n_steps, asked, plans = zip(*done, strict=True)
    result = TaskResult(np.array(solved), np.array(n_steps), asked)
    if not hasattr(model, "navigator"):
        return result
    n_hops = np.array([-1 if plan is None else len(plan) for plan in plans])
    promised = np.array([0.0 if plan is None else plan.success_prob for plan in plans])
    return replace(result, n_hops=n_hops, promised=promised)


def goals_to_ask(
    model: Any, venv: VecEnv, goals: Sequence[GoalLike] | None, *, seed: int | None
) -> IntArray | None:
    """Return ``(k, n_attributes)`` goals for an evaluation; None if the environments draw them.

    Environments without a sampler of their own would draw descriptions that they have just visited,
    which makes tasks too easy. An agent then gets the descriptions that it knows.

    Args:
        model: The agent or any SB3 model.
        venv: The environments.
        goals: Goals in any form that ``AttributeSpace.goal`` reads; None for the environments' own.
        seed: Seed of the sample, if an agent knows very many descriptions.

    Raises:
        InvalidOption: If ``goals`` is empty.
        InvalidGoal: If a goal does not fit the attributes.
    """
    space = attribute_space(venv)
    if goals is not None:
        if not len(goals):
            raise InvalidOption("goals names at least one goal; received none. Leave it out.")
        return np.stack([space.goal(goal) for goal in goals])
    saw = venv.has_attr("draws_what_it_saw") and venv.get_attr("draws_what_it_saw", [0])[0]
    return _known_goals(model, seed) if saw else None


@contextmanager
def asking_for(venv: VecEnv, goals: IntArray | None) -> Iterator[None]:
    """Set the goals of new episodes; None leaves the environments unchanged."""
    if goals is None:
        yield
        return
    if not venv.has_attr("given_goals"):
        raise InvalidEnvironment(
            "goals are given to environments in AttributeWrapper or AttributeVectorWrapper; these "
            "are not. Let them draw the goals themselves."
        )
    set_everywhere(venv, "given_goals", goals)
    try:
        yield
    finally:
        set_everywhere(venv, "given_goals", None)


def _known_goals(model: Any, seed: int | None) -> IntArray | None:
    """Return descriptions that an agent knows, or a sample; None if there are none."""
    counts = getattr(model, "counts", None)
    if counts is None or counts.n_nodes < 2:
        return None
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(counts.n_nodes)[:_MAX_GOALS]
    vectors: IntArray = counts.index.vectors(chosen)
    added = getattr(model, "added", None)
    if added is None:
        return vectors
    vectors[:, len(added.given) :] = FREE  # environments judge their own attributes
    return np.unique(vectors, axis=0)


def _tasks(
    model: Any, venv: VecEnv, n_tasks: int, *, deterministic: bool, truth: str | None
) -> Iterator[tuple[bool, int, str, Plan | None]]:
    """Yield each finished task: whether it was solved, its steps, its goal and its first plan."""
    space = attribute_space(venv)
    observations: Any = venv.reset()
    state, starts = None, np.ones(venv.num_envs, np.bool_)
    left = np.full(venv.num_envs, n_tasks // venv.num_envs)
    left[: n_tasks % venv.num_envs] += 1
    length, left_out = np.zeros((2, venv.num_envs), np.int64)
    plans: list[Plan | None] = [None] * venv.num_envs
    navigator = getattr(model, "navigator", None)
    counts = np.zeros(venv.num_envs, np.bool_)
    while left.any():
        here, goals = observations["achieved_goal"], observations["desired_goal"]
        counts = np.where(starts, ~space.matches(here, goals), counts)
        for i in np.flatnonzero(starts & counts & (left > 0)):
            plans[i] = None if navigator is None else navigator.plan(here[i], goals[i])
        actions, state = model.predict(observations, state, starts, deterministic)
        observations, _, starts, infos = venv.step(actions)
        length += 1
        for i in np.flatnonzero(starts):
            if counts[i] and left[i]:
                met = infos[i]["is_success"]
                if truth is not None:
                    met = met and space.matches(infos[i][truth], goals[i])
                left[i] -= 1
                yield bool(met), int(length[i]), space.describe(goals[i]), plans[i]
            length[i] = 0
            left_out[i] = 0 if counts[i] else left_out[i] + 1
            if left[i] and left_out[i] == _MAX_LEFT_OUT:
                raise _no_tasks(space.describe(goals[i]))
