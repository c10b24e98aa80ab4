"""Environments that misbehave on purpose, one argument for each fault."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gym_attrplan import AttributePlannerAgent, AttributeWrapper

TINY = {"n_steps": 16, "batch_size": 32}
REPLAY = {"learning_starts": 40, "buffer_size": 2_000, "batch_size": 32, "gradient_steps": 1}
QUICK: dict[str, dict[str, Any]] = {
    "ppo": {"low_level_kwargs": TINY},
    "a2c": {},
    "reinforce": {"low_level_kwargs": {"n_steps": 16}},
    "dqn": {"low_level_kwargs": REPLAY},
    "sac": {"low_level_kwargs": REPLAY},
    "inverse": {"low_level_kwargs": {"max_epochs": 2}},
}
"""Options with which a few hundred steps are several rollouts of each algorithm."""


class OwnError(Exception):
    """What an environment raises by itself: it passes through the library unchanged."""


class Walk(gym.Env[Any, Any]):
    """Five places in a row; action 0 goes left, 1 right, and attributes say on which side it is.

    Args:
        observation_space: Of ``observe``; by default a ``Box`` of one number.
        observe: From the place and the steps taken to the observation.
        action_space: By default ``Discrete(2)``.
        length: Steps of an episode; None for one that never ends.
        fault: ``(place, n_steps) -> None``, called in every step; it may raise.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(
        self,
        observation_space: Any = None,
        observe: Any = None,
        action_space: Any = None,
        length: int | None = 10,
        fault: Any = None,
    ) -> None:
        place = spaces.Box(0, 4, (1,), np.float32)
        self.observation_space = place if observation_space is None else observation_space
        self.action_space = spaces.Discrete(2) if action_space is None else action_space
        self._observe = observe or (lambda place, n: np.array([place], np.float32))
        self._length, self._fault = length, fault
        self.place = self.n_steps = self.n_all = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.n_steps = 2, 0
        return self._observe(self.place, self.n_all), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        right = float(np.asarray(action).ravel()[0]) > 0
        self.place = int(np.clip(self.place + (1 if right else -1), 0, 4))
        self.n_steps += 1
        self.n_all += 1
        if self._fault is not None:
            self._fault(self.place, self.n_all)
        ended = self.n_steps == self._length
        return self._observe(self.place, self.n_all), 0.0, False, ended, {}


def sides(env: Any, observation: Any) -> list[int]:
    """Left of the middle, right of it."""
    return [int(env.unwrapped.place < 2), int(env.unwrapped.place > 2)]


def make_walk(function: Any = sides, names: Any = ("left", "right"), **arguments: Any) -> Any:
    """The walk with attributes."""
    return AttributeWrapper(Walk(**arguments), list(names), function)


def make_agent(env: Any, low_level: str = "ppo", **options: Any) -> AttributePlannerAgent:
    """An agent that trains quickly, also where it explores first."""
    first = low_level != "inverse" and options.get("hops") == "neighbours"
    options = {**QUICK[low_level], **({"exploration_kwargs": TINY} if first else {}), **options}
    return AttributePlannerAgent(
        "MultiInputPolicy", env, low_level=low_level, seed=0, device="cpu", **options
    )


def nan_at(step: int, value: float = np.nan) -> Any:
    """Observes the place, but ``value`` from some step on."""
    return lambda place, n: np.array([value if n >= step else place], np.float32)


def dies_at(step: int) -> Any:
    """Ends the process in some step, as a crash in native code does."""

    def fault(place: int, n: int) -> None:
        if n >= step:
            os._exit(3)

    return fault


def raises_at(step: int) -> Any:
    """Raises an error of its own in some step."""

    def fault(place: int, n: int) -> None:
        if n >= step:
            raise OwnError("the battery is empty")

    return fault


def weights_are_finite(agent: AttributePlannerAgent) -> bool:
    """Whether every number that the agent's networks have learned is finite."""
    models = [agent.low_level, agent.explorer]
    found = [model.get_parameters() for model in models if hasattr(model, "get_parameters")]
    return all(_is_finite(part) for part in found)


def _is_finite(part: Any) -> bool:
    if isinstance(part, dict):
        return all(_is_finite(one) for one in part.values())
    if isinstance(part, (list, tuple)):
        return all(_is_finite(one) for one in part)
    return not hasattr(part, "isfinite") or bool(part.isfinite().all())
