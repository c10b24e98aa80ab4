"""One scriptable environment for every wrapper test, and attribute functions worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class GenericTestEnv(gym.Env[Any, Any]):
    """A counter modulo 8: action 0 leaves it, action 1 adds one; arguments script the rest."""

    metadata = {"render_modes": []}  # noqa: RUF012  Gymnasium's own form

    def __init__(
        self,
        observation_space: spaces.Space[Any] | None = None,
        observe: Callable[[int], Any] | None = None,
        ends_at: int | None = None,
        start: int = 0,
        reward: float = 5.0,
    ) -> None:
        self.observation_space = observation_space or spaces.Discrete(8)
        self.action_space = spaces.Discrete(2)
        self._observe = observe or np.int64
        self._ends_at = ends_at
        self._start = start
        self._reward = reward
        self.count = start

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.last_options = options
        self.count = self._start
        return self._observe(self.count), {"from": "reset"}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count = (self.count + int(action)) % 8
        ended = self.count == self._ends_at
        return self._observe(self.count), self._reward, ended, False, {"from": "step"}


def three_bits(env: gym.Env[Any, Any], observation: Any) -> list[int]:
    """The counter's bits, high to low: 6 is [1, 1, 0]."""
    count = env.unwrapped.count  # type: ignore[attr-defined]
    return [count >> 2 & 1, count >> 1 & 1, count & 1]


def spread(env: gym.Env[Any, Any], observation: Any) -> list[int]:
    """Three bits of any observation whatever: attributes for environments nobody described."""
    leaves = _leaves(observation)
    total = sum(float(np.nan_to_num(np.abs(leaf)).sum()) for leaf in leaves)
    return [int(total) % 2, int(10 * total) % 2, int(total > 1.0)]


def _leaves(observation: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(observation, dict):
        return [leaf for part in observation.values() for leaf in _leaves(part)]
    if isinstance(observation, tuple):
        return [leaf for part in observation for leaf in _leaves(part)]
    if isinstance(observation, str):
        return [np.array([len(observation)], np.float64)]
    return [np.asarray(observation, np.float64)]


def same(one, other):
    """Whether two nested answers hold the same numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)
