"""EdgeTable: read-only edges; and EdgeStore: their storage as a CSR with an append buffer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.graph.ragged import expand_rows, search_rows

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Places: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = dict[str, npt.NDArray[Any]]

DTYPES = {
    "target": np.dtype(np.int32),
    "visits": np.dtype(np.float64),
    "attempts": np.dtype(np.float32),
    "successes": np.dtype(np.float32),
}
"""Columns of an edge, 20 bytes; its source is its row."""

ATTEMPTED = "attempted"
"""Name of a fifth column, only present during an epoch: attempted in this epoch."""


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """All edges, sorted by source and then target, as arrays that are views of the counts.

    The views follow the counts until a new edge is added; call again after a change.

    Args:
        indptr: ``(n_nodes + 1,)`` int32: node ``i`` owns the edges ``indptr[i]:indptr[i + 1]``.
        target: ``(n_edges,)`` int32: the target node.
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
        """Number of nodes, including those without an edge."""
        return len(self.indptr) - 1

    @cached_property
    def source(self) -> npt.NDArray[np.int32]:
        """``(n_edges,)`` int32: the source node."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))

    def position(self, source: int, target: int) -> int:
        """Return the position of the edge source → target in the table, -1 if there is none."""
        first, end = self.indptr[source : source + 2].tolist()
        place = first + int(self.target[first:end].searchsorted(target))
        return place if place < end and self.target[place] == target else -1

    def positions(self, source: IntArray, target: IntArray) -> Places:
        """Return :meth:`position` of many edges ``(n,)``, in one search."""
        place, found = search_rows(self.indptr, self.target, source, target)
        return np.where(found, place, -1)


class EdgeStore:
    """Columns of the edges: a CSR, followed by edges that are not yet sorted in.

    An edge's *slot* is its index in the columns. Slots are valid until the next call that adds
    edges or compacts.

    Args:
        indptr: ``(n_nodes + 1,)`` int32 row bounds of the sorted edges.
        columns: The arrays of :data:`DTYPES`, and perhaps :data:`ATTEMPTED`.
    """

    def __init__(self, indptr: npt.NDArray[np.int32], columns: Columns) -> None:
        self.indptr = indptr
        self.columns = columns
        # Key → number, in order of appearance. A batch has few edges that are not in the CSR;
        # for these a dict is three times as fast as arrays.
        self._appended: dict[int, int] = {}
        # Source → the numbers of its appended edges, so that rows can be read before sorting.
        self._appended_rows: dict[int, list[int]] = {}

    @classmethod
    def empty(cls) -> EdgeStore:
        """Return a store without nodes and edges."""
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
        """Number of appended edges before the next merge, so that all merges stay O(n_edges)."""
        return max(4096, self.n_sorted // 32)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        columns = sum(column.nbytes for column in self.columns.values())
        tables = sys.getsizeof(self._appended) + sys.getsizeof(self._appended_rows)
        # Two numbers per edge, and a list for each source.
        appended = tables + 72 * self.n_appended + 88 * len(self._appended_rows)
        return self.indptr.nbytes + columns + appended

    def find(self, source: IntArray, target: IntArray) -> Places:
        """Return slots of edges, -1 for unknown ones."""
        place, found = search_rows(self.indptr, self.columns["target"], source, target)
        slots = np.where(found, place, -1)
        if self._appended and not found.all():
            rest = np.flatnonzero(~found)
            keys = _keys(source[rest], target[rest]).tolist()
            first = self.n_sorted  # the slot of the first appended edge
            slots[rest] = [self._appended.get(key, -1 - first) + first for key in keys]
        return slots

    def add(self, source: IntArray, target: IntArray) -> Places:
        """Return slots of edges; unknown ones are added with zero counts."""
        slots, found = search_rows(self.indptr, self.columns["target"], source, target)
        if found.all():
            return slots
        rest = np.flatnonzero(~found)
        if len(rest) > self.appended_limit:
            return self._add_many(source, target)
        keys = _keys(source[rest], target[rest]).tolist()
        slots[rest] = np.array([self._append(key) for key in keys]) + self.n_sorted
        self._reserve(len(self))
        self.columns["target"][slots[rest]] = target[rest]
        return slots

    def rows(self, nodes: Places) -> tuple[Places, Places]:
        """Return the edges out of nodes ``(n,)``, sorted in or not.

        Returns:
            For each edge: the position of its source in ``nodes``, and its slot; in the
            order of the nodes and then of the targets.
        """
        owner, slots = expand_rows(self.indptr, nodes)
        rows = self._appended_rows
        appended = [
            (position, number)
            for position, node in enumerate(nodes.tolist() if rows else ())
            for number in rows.get(node, ())
        ]
        if not appended:
            return owner, slots
        position, number = np.array(appended).T
        owner = np.concatenate([owner, position])
        slots = np.concatenate([slots, number + self.n_sorted])
        order = np.lexsort((self.columns["target"][slots], owner))
        return owner[order], slots[order]

    def compact(self, n_nodes: int) -> None:
        """Sort appended edges into the CSR, of ``n_nodes`` rows, and release spare memory."""
        self._sort_appended()
        if len(self.columns["target"]) > len(self):
            self.columns = {name: old[: len(self)].copy() for name, old in self.columns.items()}
        self.indptr = _padded(self.indptr, n_nodes)

    def _append(self, key: int) -> int:
        """Return the number of an edge in the append buffer, adding it if needed."""
        number = self._appended.get(key)
        if number is None:
            number = self._appended[key] = len(self._appended)
            self._appended_rows.setdefault(key >> int(_HALF), []).append(number)
        return number

    def _add_many(self, source: IntArray, target: IntArray) -> Places:
        """Add edges as :meth:`add` does, but sort new ones in directly: faster for very many."""
        self._sort_appended()
        _, found = search_rows(self.indptr, self.columns["target"], source, target)
        new = np.unique(_keys(source[~found], target[~found]))
        self._sort_in(new, None)
        return search_rows(self.indptr, self.columns["target"], source, target)[0]

    def _sort_appended(self) -> None:
        if self._appended:
            keys = np.fromiter(self._appended, np.uint64, self.n_appended)
            order = np.argsort(keys)
            self._sort_in(keys[order], self.n_sorted + order)
            self._appended, self._appended_rows = {}, {}

    def _sort_in(self, keys: npt.NDArray[np.uint64], slots: Places | None) -> None:
        """Insert new edges into the CSR: their keys ascend, their counts are in ``slots``."""
        if not keys.size:
            return
        source = (keys >> _HALF).astype(np.int64)
        target = (keys & _LOW_HALF).astype(np.int32)
        indptr = _padded(self.indptr, int(source[-1]) + 1)
        place, _ = search_rows(indptr, self.columns["target"], source, target)
        place += np.arange(len(keys))
        is_old = np.ones(self.n_sorted + len(keys), bool)
        is_old[place] = False
        for name, column in self.columns.items():
            merged = np.zeros(len(is_old), column.dtype)
            merged[is_old] = column[: self.n_sorted]
            if slots is not None:
                merged[place] = column[slots]
            self.columns[name] = merged
        self.columns["target"][place] = target
        n_new = np.bincount(source, minlength=len(indptr) - 1)
        self.indptr = indptr + np.concatenate([[0], np.cumsum(n_new)]).astype(np.int32)

    def _reserve(self, count: int) -> None:
        """Allocate memory for ``count`` edges, and for the expected size of the next merge."""
        if count > len(self.columns["target"]):
            room = max(count, self.n_sorted + self.appended_limit)
            for name, column in self.columns.items():
                self.columns[name] = np.zeros(room, column.dtype)
                self.columns[name][: len(column)] = column


_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


def _keys(source: IntArray, target: IntArray) -> npt.NDArray[np.uint64]:
    """Return keys with the source above the target, in the order of the CSR."""
    keys: npt.NDArray[np.uint64] = (source.astype(np.uint64) << _HALF) | target.astype(np.uint64)
    return keys


def _padded(indptr: npt.NDArray[np.int32], n_nodes: int) -> npt.NDArray[np.int32]:
    """Return row bounds with empty rows added up to ``n_nodes``."""
    n_more = n_nodes + 1 - len(indptr)
    return np.pad(indptr, (0, n_more), mode="edge") if n_more > 0 else indptr
