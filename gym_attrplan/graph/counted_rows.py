"""CountedRows: keys with columns of counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.index import KeyTable

FloatArray: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


class CountedRows:
    """Numbered keys with columns of counters.

    Args:
        n_words: Number of words of a key.
        names: Names of the columns.
    """

    def __init__(self, n_words: int, names: tuple[str, ...]) -> None:
        self.n_words = n_words
        self.names = names
        self._table = KeyTable(n_words)
        self._columns = {name: np.zeros(16) for name in names}

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> FloatArray:
        return self._columns[name][: len(self)]

    @property
    def keys(self) -> npt.NDArray[np.uint64]:
        """``(n, n_words)`` the keys, in the order of their numbers."""
        return self._table.rows

    def add(self, keys: npt.NDArray[np.uint64]) -> Places:
        """Return ``(n,)`` numbers of keys; new keys get the next numbers."""
        numbers = self._table.add(keys).astype(np.int64)
        room = len(self._columns[self.names[0]])
        if len(self) > room:
            for name, column in self._columns.items():
                self._columns[name] = np.concatenate([column, np.zeros(2 * len(self) - room)])
        return numbers

    def find(self, keys: npt.NDArray[np.uint64]) -> Places:
        """Return ``(n,)`` numbers of keys, -1 for unknown ones."""
        return self._table.find(keys).astype(np.int64)

    def get(self, numbers: Places) -> dict[str, FloatArray]:
        """Return the counters of rows; 0 for the number -1."""
        known = numbers >= 0
        rows = numbers[known]
        weight = self["weight"][rows]
        weight[weight == 0] = 1.0  # added without counts
        found = {}
        for name in self.names[1:-1]:
            found[name] = np.zeros(len(numbers))
            found[name][known] = self[name][rows] / weight
        return found

    def add_counts(
        self, other: CountedRows, kept: npt.NDArray[np.bool_], keys: npt.NDArray[np.uint64]
    ) -> Places:
        """Add the counters of other rows, under other keys, which may coincide.

        Args:
            other: The other rows.
            kept: ``(n,)`` which of them to add.
            keys: ``(n, n_words)`` their keys here.

        Returns:
            ``(n,)`` their numbers here, -1 for those left out.
        """
        numbers = np.full(len(other), -1)
        numbers[kept] = own = self.add(keys[kept])
        self["weight"][own] = 1.0
        for name in self.names[1:-1]:
            np.add.at(self[name], own, other[name][kept] / other["weight"][kept])
        return numbers

    def restore(self, arrays: Arrays) -> None:
        """Replace the contents by these keys and columns.

        Raises:
            InvalidGraph: If they are invalid.
        """
        keys = arrays["keys"]
        if keys.dtype != np.uint64 or keys.ndim != 2 or keys.shape[1] != self.n_words:
            raise InvalidGraph(f"keys are (n, {self.n_words}) uint64; received {keys.shape}.")
        self.add(keys)
        for name in self.names:
            column = arrays[name]
            sound = column.dtype == np.float64 and column.shape == (len(keys),) == (len(self),)
            if not (sound and bool((np.isfinite(column) & (column >= 0)).all())):
                raise InvalidGraph(f"{name} holds {len(self)} numbers of at least 0.")
            self[name][:] = column
