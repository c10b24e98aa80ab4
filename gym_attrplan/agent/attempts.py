"""AttemptBuffer: the newest attempts of the hop policy, for the success model to learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

MAX_BYTES = 256 * 2**20
"""Attempts on image observations are kept only as far as this goes."""


class AttemptBuffer:
    """A ring of ``(observation at the start, with the goal tried for; whether it was reached)``.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment.
        capacity: Attempts kept, fewer if they would take more than :data:`MAX_BYTES`.

    Example:
        >>> buffer = AttemptBuffer(spaces.Dict({"observation": spaces.Box(0, 1, (2,))}), capacity=3)
        >>> buffer.add({"observation": np.zeros((4, 2))}, np.array([True, False, True, True]))
        >>> len(buffer), sorted(buffer.reached.tolist())
        (3, [False, True, True])
    """

    def __init__(self, observation_space: spaces.Dict, *, capacity: int = 30_000) -> None:
        row_bytes = sum(
            int(np.prod(space.shape or ())) * np.dtype(space.dtype).itemsize
            for space in observation_space.spaces.values()
        )
        self._capacity = max(1, min(capacity, MAX_BYTES // max(row_bytes, 1)))
        self._rows = {
            key: np.zeros((self._capacity, *(space.shape or ())), space.dtype)
            for key, space in observation_space.spaces.items()
        }
        self._reached = np.zeros(self._capacity, np.bool_)
        self._n_added = 0

    def __len__(self) -> int:
        return min(self._n_added, self._capacity)

    @property
    def observations(self) -> dict[str, npt.NDArray[Any]]:
        """Key → ``(len, …)`` rows in no particular order."""
        return {key: rows[: len(self)] for key, rows in self._rows.items()}

    @property
    def reached(self) -> npt.NDArray[np.bool_]:
        """``(len,)`` whether each attempt arrived."""
        return self._reached[: len(self)]

    def add(self, rows: dict[str, npt.NDArray[Any]], reached: npt.NDArray[np.bool_]) -> None:
        """Keep attempts ``(n, …)``; the oldest make room."""
        n = min(len(reached), self._capacity)
        places = (self._n_added + np.arange(n)) % self._capacity
        for key, kept in self._rows.items():
            kept[places] = rows[key][-n:] if n else rows[key][:0]
        self._reached[places] = reached[-n:] if n else reached[:0]
        self._n_added += n
