"""Tasks solved, with intervals; and traces of how: for the agent and for any SB3 model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from rich.progress import track
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import random_actions
from gym_attrplan.agent.worlds import attribute_space
from gym_attrplan.error import InvalidEnvironment, InvalidOption

_MAX_LEFT_OUT = 1_000
"""Goals that hold at the start, in a row, before a world is taken to draw no others."""


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
    """

    solved: npt.NDArray[np.bool_]
    n_steps: npt.NDArray[np.int64]

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
        f"such as {goal!r}. The default sampler draws what its world has seen: give "
        "AttributeWrapper a goal_sampler."
    )


def evaluate_tasks(
    model: Predictor,
    venv: VecEnv,
    *,
    n_tasks: int = 1_000,
    seed: int = 0,
    deterministic: bool = True,
    truth: str | None = None,
    progress_bar: bool = False,
) -> TaskResult:
    """Give a model tasks and see which it solves.

    The environment's own sampler draws the tasks. Those that hold at the start are left out. Every
    world gets the same number of tasks, since counting whatever ends first would favour short ones.

    Args:
        model: The agent or any SB3 model.
        venv: Worlds that end an episode on success; their step limit is the tasks'.
        n_tasks: How many tasks, a multiple of the number of worlds.
        seed: Of the worlds.
        deterministic: Whether to take the likeliest actions.
        truth: Key of the infos that holds the true attributes, where a detector's word decides
            what the model sees: an episode ends when the goal is believed to be met, and is
            solved if it truly is.
        progress_bar: Whether to show a bar.

    Raises:
        InvalidOption: If the number of tasks does not divide evenly among the worlds.
        InvalidEnvironment: If a world draws nothing but goals that hold at the start.
    """
    per_world, rest = divmod(n_tasks, venv.num_envs)
    if rest or per_world < 1:
        raise InvalidOption(
            f"n_tasks must be a multiple of the {venv.num_envs} worlds; received {n_tasks}."
        )
    space = attribute_space(venv)
    venv.seed(seed)
    observations: Any = venv.reset()
    state, starts = None, np.ones(venv.num_envs, np.bool_)
    left = np.full(venv.num_envs, per_world)
    length = np.zeros(venv.num_envs, np.int64)
    left_out = np.zeros(venv.num_envs, np.int64)
    counts = ~space.matches(observations["achieved_goal"], observations["desired_goal"])
    solved: list[bool] = []
    n_steps: list[int] = []
    ticks = iter(track(range(n_tasks), "evaluate", disable=not progress_bar))
    while left.any():
        goals = observations["desired_goal"]
        actions, state = model.predict(observations, state, starts, deterministic)
        observations, _, starts, infos = venv.step(actions)
        length += 1
        for i in np.flatnonzero(starts):
            if counts[i] and left[i]:
                met = infos[i]["is_success"]
                if truth is not None:
                    met = met and space.matches(infos[i][truth], goals[i])
                solved.append(bool(met))
                n_steps.append(int(length[i]))
                left[i] -= 1
                next(ticks, None)
            length[i] = 0
            left_out[i] = 0 if counts[i] else left_out[i] + 1
            if left[i] and left_out[i] == _MAX_LEFT_OUT:
                raise _no_tasks(space.describe(goals[i]))
        fresh = ~space.matches(observations["achieved_goal"], observations["desired_goal"])
        counts = np.where(starts, fresh, counts)
    return TaskResult(np.array(solved), np.array(n_steps))
