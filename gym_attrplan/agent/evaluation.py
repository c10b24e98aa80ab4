"""Tasks solved, with intervals; and traces of how: for the agent and for any SB3 model."""

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
from gym_attrplan.agent.worlds import attribute_space, set_everywhere
from gym_attrplan.attributes import GoalLike
from gym_attrplan.attributes.html_table import html_table
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.graph import Plan

_NO_PLAN = np.iinfo(np.int64).max

_MAX_GOALS = 1_000
"""Of more descriptions than these, so many are drawn as goals."""

_MAX_LEFT_OUT = 1_000
"""Goals that hold at the start, in a row, before an environment is taken to draw no others."""


class Predictor(Protocol):
    """The agent, an SB3 model, or anything else that acts."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], Any]:
        """Actions for a batch, and the state for the next call."""


class RandomModel:
    """Acts at random: what any other has to beat.

    Args:
        venv: Whose actions to draw.
        seed: Of the draws.
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
        """Random actions for a batch."""
        n = len(observation["achieved_goal"])
        return random_actions(self._space, n, self._rng), None


@dataclass(frozen=True)
class TaskResult:
    """How many of how many tasks were solved, and in how many steps each.

    Attributes:
        solved: ``(n,)`` which tasks were.
        n_steps: ``(n,)`` steps taken on each.
        goals: The goal of each, in words.
        n_hops: ``(n,)`` hops that the plan had at the start; -1 without a plan or an agent.
        promised: ``(n,)`` the success that this plan promised; 0 without a plan.
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
        """A line for each goal, the least often met first, and for each length of plan.

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
        """The tasks of each goal, the least often met goal first."""
        found = self._parts(np.array(self.goals))
        return dict(sorted(found.items(), key=lambda item: item[1].rate))

    def by_hops(self) -> dict[str, TaskResult]:
        """The tasks of each length of plan; empty where no agent made plans."""
        return (
            {}
            if self.n_hops is None
            else self._parts(np.where(self.n_hops < 0, _NO_PLAN, self.n_hops))
        )

    def _parts(self, groups: npt.NDArray[Any]) -> dict[str, TaskResult]:
        """The tasks of each group, by its name."""
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
    """Wilson's score interval of a success rate, 95% by default.

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
    """Give a model tasks and see which it solves.

    Goals are those given, or the environment's own sampler draws them. An environment without one
    would draw what it has just been in itself, which flatters; an agent is then asked for the
    descriptions that it knows, each as often as any other. Tasks that hold at the start are left
    out. Every environment gets the same number of tasks, give or take one: counting the episodes
    that end first would favour short ones.

    Args:
        model: The agent or any SB3 model.
        venv: Worlds that end an episode on success; their step limit is the tasks'.
        n_tasks: How many tasks.
        goals: What to ask for, in any form that ``AttributeSpace.goal`` reads; each as often as any
            other.
        seed: Of the environments and goals.
        deterministic: Whether to take the most likely actions.
        truth: Key of the infos that holds the true attributes, where a detector decides
            what the model sees: an episode ends when the goal is believed to be met, and is
            solved if it truly is.
        progress_bar: Whether to show a bar.

    Raises:
        InvalidOption: If there is no task.
        InvalidGoal: If a goal does not belong to the attributes.
        InvalidEnvironment: If an environment draws nothing but goals that hold at the start.
    """
    if n_tasks < 1:
        raise InvalidOption(f"n_tasks is at least 1; received {n_tasks}.")
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
    """``(k, n_attributes)`` what to test a model on; None for what the environments draw.

    Environments without a sampler of their own draw what they have just been in themselves, which
    flatters: an agent is asked for the descriptions it knows instead.

    Args:
        model: The agent or any SB3 model.
        venv: The environments.
        goals: What to ask for, in any form that ``AttributeSpace.goal`` reads; None for tasks.
        seed: Of the choice, where an agent knows very many descriptions.

    Raises:
        InvalidOption: If goals are given and there is none.
        InvalidGoal: If a goal does not belong to the attributes.
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
    """Have new episodes ask for one of the goals; None leaves the environments as they are."""
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
    """Descriptions that an agent knows, or some of them; None if it knows none or is no agent."""
    counts = getattr(model, "counts", None)
    if counts is None or counts.n_nodes < 2:
        return None
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(counts.n_nodes)[:_MAX_GOALS]
    vectors: IntArray = counts.index.vectors(chosen)
    return vectors


def _tasks(
    model: Any, venv: VecEnv, n_tasks: int, *, deterministic: bool, truth: str | None
) -> Iterator[tuple[bool, int, str, Plan | None]]:
    """Each task as it ends: whether it was solved, its steps, its goal, and the plan at first."""
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
