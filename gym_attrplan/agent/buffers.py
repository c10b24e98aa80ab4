"""Buffers of the agent's own experience: recent attempts, and the effects of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidArchive
from gym_attrplan.models.examples import Examples
from gym_attrplan.models.next_state import NextStateModel
from gym_attrplan.wrappers.observation import GOAL_KEYS

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Observations = dict[str, Array]

_FIRST_ROWS = 1_024
_SEEN, _NEXT, _END = "observation/", "next_observation/", "end/"
"""Prefixes of observation keys, which keep them apart from the buffer's own columns."""


class RowBuffer:
    """Ring buffer of rows: new rows replace the oldest.

    Memory grows with the number of rows, to at most twice what they need, up to the capacity.

    Args:
        parts: Column → space of its entries.
        capacity: Maximum number of rows; fewer fit if they take more than ``max_bytes``.
        max_bytes: Maximum size in bytes.

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
            key: np.zeros((0, *(space.shape or ())), space.dtype) for key, space in parts.items()
        }
        self._n_added = 0

    def __len__(self) -> int:
        return min(self._n_added, self._capacity)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return sum(rows.nbytes for rows in self._rows.values())

    @property
    def rows(self) -> Observations:
        """Column → ``(len, …)`` rows in no particular order."""
        return {key: rows[: len(self)] for key, rows in self._rows.items()}

    def add(self, rows: Arrays) -> None:
        """Add rows ``{column: (n, …)}``; other columns are ignored."""
        n = min(len(rows[next(iter(self._rows))]), self._capacity)
        self._make_room(min(self._n_added + n, self._capacity))
        places = (self._n_added + np.arange(n)) % self._capacity
        for key, kept in self._rows.items():
            kept[places] = rows[key][-n:] if n else rows[key][:0]
        self._n_added += n

    def _make_room(self, n_rows: int) -> None:
        there = len(next(iter(self._rows.values())))
        if n_rows <= there:
            return
        size = min(max(n_rows, 2 * there, _FIRST_ROWS), self._capacity)
        for key, rows in self._rows.items():
            larger = np.zeros((size, *rows.shape[1:]), rows.dtype)
            larger[:there] = rows
            self._rows[key] = larger

    def to_arrays(self) -> dict[str, Array]:
        """Return the stored rows and the number of rows ever added, for :meth:`restore`."""
        return {**self.rows, "n_added": np.array(self._n_added)}

    def restore(self, arrays: Arrays) -> None:
        """Restore the contents that :meth:`to_arrays` returned.

        Raises:
            InvalidArchive: If the columns, their shapes or their types differ.
        """
        n_added = int(arrays["n_added"])
        kept = {key: arrays[key] for key in self._rows if key in arrays}
        n_rows = min(n_added, self._capacity)
        for key, rows in self._rows.items():
            expected = (n_rows, *rows.shape[1:])
            found = kept[key].shape if key in kept else None
            if found != expected or kept[key].dtype != rows.dtype:
                raise InvalidArchive(
                    f"the rows of {key!r} have shape {expected} and type {rows.dtype}; "
                    f"received {found}."
                )
        self._rows = {key: np.array(kept[key]) for key in self._rows}
        self._n_added = n_added


class ObservationBuffer(RowBuffer):
    """Buffer of observations and further columns, whose names cannot clash.

    Args:
        seen: Key → space of the parts of an observation.
        columns: Column → space of the further columns.
        capacity: Maximum number of rows.
        max_bytes: Maximum size in bytes, which limits the number of large observations.
    """

    def __init__(
        self,
        seen: Mapping[str, spaces.Space[Any]],
        columns: Mapping[str, spaces.Space[Any]],
        *,
        capacity: int,
        max_bytes: int,
    ) -> None:
        self.keys = list(seen)
        parts = {_SEEN + key: space for key, space in seen.items()}
        super().__init__({**parts, **columns}, capacity=capacity, max_bytes=max_bytes)

    @property
    def observations(self) -> Observations:
        """Key → ``(len, …)`` rows of the observations."""
        rows = self.rows
        return {key: rows[_SEEN + key] for key in self.keys}

    def add_rows(self, observations: Arrays, **columns: Array) -> None:
        """Add observations ``{key: (n, …)}`` and columns; unknown observation keys are ignored."""
        self.add({**{_SEEN + key: observations[key] for key in self.keys}, **columns})


class AttemptBuffer(ObservationBuffer):
    """Buffer of recent attempts of the hop policy, from which the success model learns.

    A row is the observation at the start of the hop, with the hop's goal, and whether it succeeded.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment.
        capacity: Maximum number of attempts.
        max_bytes: Maximum size in bytes, which limits the number of image observations.
        keep_ends: Whether to keep how hops ended, with the last observation.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        *,
        capacity: int = 30_000,
        max_bytes: int = 256 * 2**20,
        keep_ends: bool = False,
    ) -> None:
        columns: dict[str, spaces.Space[Any]] = {"reached": spaces.Box(0, 1, (), np.int8)}
        parts = observation_space.spaces if keep_ends else {}
        self.end_keys = [key for key in parts if key != "desired_goal"]
        if keep_ends:
            columns |= {_END + key: parts[key] for key in self.end_keys}
            columns |= {"n_steps": spaces.Box(1, 2**31 - 1, (), np.int32)}
            columns |= {"over": spaces.Box(0, 1, (), np.int8)}
        super().__init__(observation_space.spaces, columns, capacity=capacity, max_bytes=max_bytes)

    def add_ended(
        self, observations: Arrays, ends: Arrays, *, reached: Array, n_steps: Array, over: Array
    ) -> None:
        """Add finished hops, if their ends are kept.

        Args:
            observations: Key → ``(n, …)`` at their start.
            ends: Key → ``(n, …)`` at their end.
            reached: ``(n,)`` whether they succeeded.
            n_steps: ``(n,)`` their lengths.
            over: ``(n,)`` whether the episode ended with them.
        """
        last = {_END + key: ends[key] for key in self.end_keys}
        self.add_rows(observations, reached=reached, n_steps=n_steps, over=over, **last)

    def restore(self, arrays: Arrays) -> None:
        """Restore the contents; attempts of older files, without their ends, are left out.

        Raises:
            InvalidArchive: As for any buffer.
        """
        if not self.end_keys or "n_steps" in arrays:
            super().restore(arrays)

    @property
    def ends(self) -> Observations:
        """Key → ``(len, …)`` rows of the last observations."""
        rows = self.rows
        return {key: rows[_END + key] for key in self.end_keys}

    @property
    def reached(self) -> npt.NDArray[np.bool_]:
        """``(len,)`` whether each attempt succeeded."""
        return self.rows["reached"].astype(np.bool_)


class ExampleBuffer(ObservationBuffer):
    """Buffer of the effects of single actions on the attributes, from which models learn.

    If observations are plain numbers, the next observation is kept too.

    Args:
        observation_space: The flat ``Dict`` space of an attribute environment.
        action_space: The action space.
        capacity: Maximum number of examples.
        max_bytes: Maximum size in bytes, which limits the number of image observations.
    """

    def __init__(
        self,
        observation_space: spaces.Dict,
        action_space: spaces.Space[Any],
        *,
        capacity: int = 10_000_000,
        max_bytes: int = 8 * 2**30,
    ) -> None:
        parts = observation_space.spaces
        seen = {key: space for key, space in parts.items() if key not in GOAL_KEYS}
        goal = parts["achieved_goal"]
        columns = {"action": action_space, "before": goal, "after": goal}
        self.keeps_next = NextStateModel.suits(seen)
        if self.keeps_next:
            columns |= {_NEXT + key: space for key, space in seen.items()}
        super().__init__(seen, columns, capacity=capacity, max_bytes=max_bytes)

    def add_step(
        self,
        observations: Arrays,
        actions: Array,
        after: IntArray,
        next_observations: Arrays | None = None,
    ) -> None:
        """Add the effects of actions ``(n, …)`` in states ``{key: (n, …)}``.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal``.
            actions: ``(n, …)``.
            after: ``(n, n_attributes)`` descriptions after the actions.
            next_observations: The next observations, if known.
        """
        columns = {"action": actions, "before": observations["achieved_goal"], "after": after}
        if self.keeps_next:
            then = next_observations
            if then is None:
                then = {key: np.full_like(observations[key], np.nan) for key in self.keys}
            columns |= {_NEXT + key: then[key] for key in self.keys}
        self.add_rows(observations, **columns)

    def add_examples(self, examples: Examples) -> None:
        """Add examples whose rows are arrays."""
        then = examples.next_observations
        self.add_step(
            {**self._by_key(examples.observations), "achieved_goal": examples.attributes},
            examples.actions,
            examples.next_attributes,
            None if then is None else self._by_key(then),
        )

    def _by_key(self, rows: Any) -> Arrays:
        return rows if isinstance(rows, Mapping) else {self.keys[0]: rows}

    @property
    def examples(self) -> Examples:
        """Return all examples."""
        rows = self.rows
        return Examples(self.observations, rows["action"], rows["before"], rows["after"])

    @property
    def followed(self) -> Examples | None:
        """Return the examples with a known next observation; None if it is never kept."""
        if not self.keeps_next:
            return None
        rows = self.rows
        known = np.all([np.isfinite(rows[_NEXT + key]).all(axis=1) for key in self.keys], axis=0)
        rows = {key: part[known] for key, part in rows.items()}
        seen, then = ({key: rows[side + key] for key in self.keys} for side in (_SEEN, _NEXT))
        return Examples(seen, rows["action"], rows["before"], rows["after"], then)
