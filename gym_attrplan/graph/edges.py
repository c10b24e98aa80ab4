"""EdgeTable, the edges as anyone may read them, and EdgeStore, the CSR with its append buffer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.graph.index import KeyTable
from gym_attrplan.graph.ragged import search_rows

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Places: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = dict[str, npt.NDArray[Any]]

DTYPES = {
    "target": np.dtype(np.int32),
    "visits": np.dtype(np.float64),
    "attempts": np.dtype(np.float32),
    "successes": np.dtype(np.float32),
}
"""What is kept of an edge, 20 bytes: its source is the row it stands in."""

ATTEMPTED = "attempted"
"""A fifth column, there only while an epoch needs it: was the edge attempted in this epoch?"""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """All edges, sorted by source and then target, as arrays that are views of the counts.

    The views follow the counts until those take up a new edge; ask again after a change.

    Args:
        indptr: ``(n_nodes + 1,)`` int32: node ``i`` owns the edges ``indptr[i]:indptr[i + 1]``.
        target: ``(n_edges,)`` int32: the node an edge leads to.
        visits: ``(n_edges,)`` float64: how often exploration saw the transition.
        attempts: ``(n_edges,)`` float32: how often the policy tried it.
        successes: ``(n_edges,)`` float32: how often the attempt ended at the target.

    Example:
        >>> zeros = np.zeros(2, np.float32)
        >>> edges = EdgeTable(np.array([0, 2, 2]), np.array([0, 1]), np.ones(2), zeros, zeros)
        >>> edges.source, edges.n_nodes, len(edges)
        (array([0, 0], dtype=int32), 2, 2)
    """

    indptr: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    visits: npt.NDArray[np.float64]
    attempts: npt.NDArray[np.float32]
    successes: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.target)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, those without an edge included."""
        return len(self.indptr) - 1

    @cached_property
    def source(self) -> npt.NDArray[np.int32]:
        """``(n_edges,)`` int32: the node an edge leaves."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))

    def positions(self, source: IntArray, target: IntArray) -> Places:
        """Where the edges source → target stand in the table, -1 for those it does not hold."""
        place, found = search_rows(self.indptr, self.target, source, target)
        return np.where(found, place, -1)


class EdgeStore:
    """The edges' columns: a CSR in front, behind it the edges that are not yet sorted in.

    An edge's *slot* is its place in the columns. Slots hold still while edges are added and are
    dealt out anew by :meth:`compact`.

    Args:
        indptr: ``(n_nodes + 1,)`` int32 row bounds of the sorted edges.
        columns: The arrays of :data:`DTYPES`, and perhaps :data:`ATTEMPTED`.
    """

    def __init__(self, indptr: npt.NDArray[np.int32], columns: Columns) -> None:
        self.indptr = indptr
        self.columns = columns
        self._appended = KeyTable(1)

    @classmethod
    def empty(cls) -> EdgeStore:
        """A store without nodes and edges."""
        columns = {name: np.empty(0, dtype) for name, dtype in DTYPES.items()}
        return cls(np.zeros(1, np.int32), columns)

    def __len__(self) -> int:
        return self.n_sorted + self.n_appended

    @property
    def n_sorted(self) -> int:
        """Number of edges in the CSR."""
        return int(self.indptr[-1])

    @property
    def n_appended(self) -> int:
        """Number of edges in the append buffer."""
        return len(self._appended)

    @property
    def appended_limit(self) -> int:
        """Edges to collect before the next merge, so that all merges together stay O(n_edges)."""
        return max(4096, self.n_sorted // 8)

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        columns = sum(column.nbytes for column in self.columns.values())
        return self.indptr.nbytes + columns + self._appended.nbytes

    def find(self, source: IntArray, target: IntArray) -> Places:
        """Slots of edges, -1 where unknown."""
        place, found = search_rows(self.indptr, self.columns["target"], source, target)
        slots = np.where(found, place, -1)
        if self.n_appended and not found.all():
            rest = np.flatnonzero(~found)
            numbers = self._appended.find(_keys(source[rest], target[rest]))
            slots[rest] = np.where(numbers >= 0, self.n_sorted + numbers, -1)
        return slots

    def add(self, source: IntArray, target: IntArray) -> Places:
        """Slots of edges; unknown ones are appended with nothing counted."""
        slots, found = search_rows(self.indptr, self.columns["target"], source, target)
        if not found.all():
            rest = np.flatnonzero(~found)
            numbers = self._appended.add(_keys(source[rest], target[rest]))
            slots[rest] = self.n_sorted + numbers
            self._reserve(len(self))
            self.columns["target"][slots[rest]] = target[rest]
        return slots

    def compact(self, n_nodes: int) -> None:
        """Sort appended edges into the CSR, of ``n_nodes`` rows, and give spare room back."""
        grown = n_nodes + 1 - len(self.indptr)
        indptr = np.pad(self.indptr, (0, grown), mode="edge") if grown else self.indptr
        if self.n_appended:
            # Keys are source over target: their order is the CSR's order.
            keys = self._appended.rows[:, 0]
            order = np.argsort(keys)
            source = (keys[order] >> np.uint64(32)).astype(np.int64)
            target = self.columns["target"][self.n_sorted + order]
            place, _ = search_rows(indptr, self.columns["target"], source, target)
            self._merge(place + np.arange(len(order)), self.n_sorted + order)
            counts = np.bincount(source, minlength=n_nodes)
            indptr = indptr + np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
            self._appended = KeyTable(1)
        elif len(self.columns["target"]) > len(self):
            self.columns = {
                name: column[: len(self)].copy() for name, column in self.columns.items()
            }
        self.indptr = indptr

    def _merge(self, places: Places, slots: Places) -> None:
        """Spread the sorted edges apart so that those in ``slots`` come to stand at ``places``."""
        is_old = np.ones(len(self), bool)
        is_old[places] = False
        for name, column in self.columns.items():
            merged = np.empty(len(self), column.dtype)
            merged[is_old] = column[: self.n_sorted]
            merged[places] = column[slots]
            self.columns[name] = merged

    def _reserve(self, count: int) -> None:
        """Room for ``count`` edges, and for as many more as the next merge will find."""
        if count > len(self.columns["target"]):
            room = max(count, self.n_sorted + self.appended_limit)
            for name, column in self.columns.items():
                self.columns[name] = np.zeros(room, column.dtype)
                self.columns[name][: len(column)] = column


def _keys(source: IntArray, target: IntArray) -> npt.NDArray[np.uint64]:
    keys = (source.astype(np.uint64) << np.uint64(32)) | target.astype(np.uint64)
    return keys[:, None]
