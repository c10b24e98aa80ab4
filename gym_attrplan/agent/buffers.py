"""What the agent keeps of its own experience: the newest attempts, and what actions did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.attributes.space import IntArray
from gym_attrplan.models.examples import Examples
from gym_attrplan.wrappers.observation import GOAL_KEYS

Array = npt.NDArray[Any]
Observations = dict[str, Array]


class RowBuffer:
    """A ring of rows: the newest stay, the oldest make room.

    Memory is taken as rows come in, not before.

    Args:
        parts: Key → space of what a row is made of.
        capacity: Rows kept, fewer if they would take more than ``max_bytes``.
        max_bytes: Bytes kept at most.

    Example:
        >>> buffer = RowBuffer({"place": spaces.Box(0, 9, (1,), np.int8)}, capacity=2, max_bytes=99)
        >>> buffer.add({"place": np.array([[1], [2], [3]])})
        >>> len(buffer), sorted(buffer.rows["place"].ravel().tolist())
        (2, [2, 3])
    """

    def __init__(
        self, parts: Mapping[str, spaces.Space[Any]], *, capacity: int, max_bytes: int
    ) -> None:
        row_bytes = sum(
            int(np.prod(space.shape or ())) * np.dtype(space.dtype).itemsize
            for space in parts.values()
        )
        self._capacity = max(1, min(capacity, max_bytes // max(row_bytes, 1)))
        self._rows = {
            key: np.zeros((self._capacity, *(space.shape or ())), space.dtype)
            for key, space in parts.items()
        }
        self._n_added = 0

    def __len__(self) -> int:
        return min(self._n_added, self._capacity)

    @property
    def rows(self) -> Observations:
        """Key → ``(len, …)`` rows in no particular order."""
        return {key: rows[: len(self)] for key, rows in self._rows.items()}

    def add(self, rows: Mapping[str, Array]) -> None:
        """Keep rows ``{key: (n, …)}``; other keys are ignored."""
        n = min(len(rows[next(iter(self._rows))]), self._capacity)
        places = (self._n_added + np.arange(n)) % self._capacity
        for key, kept in self._rows.items():
            kept[places] = rows[key][-n:] if n else rows[key][:0]
        self._n_added += n


class AttemptBuffer(RowBuffer):
    """The newest attempts of the hop policy, for the success model to learn from.

    A row is the observation at the start, with the goal tried for, and whether it was reached.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment.
        capacity: Attempts kept.
        max_bytes: Of image observations fewer are kept.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        *,
        capacity: int = 30_000,
        max_bytes: int = 256 * 2**20,
    ) -> None:
        parts = {**observation_space.spaces, "reached": spaces.Box(0, 1, (), np.int8)}
        super().__init__(parts, capacity=capacity, max_bytes=max_bytes)

    @property
    def reached(self) -> npt.NDArray[np.bool_]:
        """``(len,)`` whether each attempt arrived."""
        return self.rows["reached"].astype(np.bool_)


class ExampleBuffer(RowBuffer):
    """What actions did to the attributes, for models of single actions to learn from.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment.
        action_space: Its actions.
        capacity: Examples kept.
        max_bytes: Of image observations fewer are kept.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Space[Any],
        *,
        capacity: int = 10_000_000,
        max_bytes: int = 8 * 2**30,
    ) -> None:
        self._seen = [key for key in observation_space.spaces if key not in GOAL_KEYS]
        parts = {key: observation_space.spaces[key] for key in self._seen}
        goal = observation_space.spaces["achieved_goal"]
        parts |= {"action": action_space, "before": goal, "after": goal}
        super().__init__(parts, capacity=capacity, max_bytes=max_bytes)

    def add_step(self, observations: Mapping[str, Array], actions: Array, after: IntArray) -> None:
        """Keep what actions ``(n, …)`` did in states ``{key: (n, …)}``."""
        before = observations["achieved_goal"]
        self.add({**observations, "action": actions, "before": before, "after": after})

    def add_examples(self, examples: Examples) -> None:
        """Keep examples whose rows are arrays."""
        seen = examples.observations
        rows = seen if isinstance(seen, Mapping) else {self._seen[0]: seen}
        rows = {**rows, "achieved_goal": examples.attributes}
        self.add_step(rows, examples.actions, examples.next_attributes)

    @property
    def examples(self) -> Examples:
        """All of them."""
        rows = self.rows
        seen = {key: rows[key] for key in self._seen}
        return Examples(seen, rows["action"], rows["before"], rows["after"])
