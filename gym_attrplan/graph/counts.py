"""TransitionCounts: table of observed transitions and of the policy's attempts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.vectors import as_array, whole_numbers
from gym_attrplan.error import InvalidGraph, shown
from gym_attrplan.graph import storage
from gym_attrplan.graph.edges import ATTEMPTED, EdgeStore, EdgeTable
from gym_attrplan.graph.index import NodeIndex
from gym_attrplan.graph.ragged import row_argmin

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.float64]

MIN_NEED = 0.05
"""Minimum need of practice, of an edge that always works; half-reliable ones have 0.5 more."""


class TransitionCounts:
    """A growing, mergeable table of transitions between attribute vectors.

    Each edge has three numbers: *visits*, how often exploration saw it; *attempts*, how
    often the policy tried it; *successes*, how often the attempt succeeded (the last two are
    float32, with seven digits). A transition from a vector to itself is no edge: only its vector is
    recorded.

    Edges are in a CSR and a small append buffer. Known edges are updated in place; new ones are
    sorted in when the buffer is full or when all edges are read (:meth:`edges`). Single
    rows (:meth:`neighbours`, :meth:`sample_neighbours`) are read from both.

    Args:
        space: The attributes of a vector.

    Example:
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> counts.record([[0, 0], [1, 0], [0, 0]], [[1, 0], [1, 1], [1, 0]])
        array([2., 1., 2.])
        >>> counts.attempt([1, 0], [1, 1], True)
        >>> counts.n_nodes, counts.n_edges, counts.total
        (3, 2, 3.0)
        >>> counts.neighbours(0)
        array([1], dtype=int32)
    """

    def __init__(self, space: AttributeSpace) -> None:
        self.space = space
        self.index = NodeIndex(space)
        self.version = 0  # changes with every change of the table, for the planner's cache
        self.total = 0.0
        self._store = EdgeStore.empty()
        self._decay = 1.0

    # --- writing ----------------------------------------------------------------------------

    def record(
        self,
        from_vectors: npt.ArrayLike,
        to_vectors: npt.ArrayLike,
        weight: npt.ArrayLike = 1.0,
    ) -> FloatArray:
        """Count observed transitions.

        Args:
            from_vectors: ``(n, n_attributes)`` vectors, or one vector: a batch of one.
            to_vectors: The vectors that followed, of the same shape.
            weight: Weight of each, above 0: one number or ``(n,)``.

        Returns:
            ``(n,)`` visits of each transition after the whole batch, 0 for one from a vector to
            itself. The bonus wrappers use them.

        Raises:
            InvalidAttributes: If a vector does not belong to the space.
            InvalidGraph: On batches of different lengths, or a weight not finite and above 0.
        """
        packed = self._pack_pairs(from_vectors, to_vectors)
        weights = _checked_weights(weight, len(packed) // 2)
        source, target = self._add_nodes(packed)
        moved = source != target
        if moved.all():  # the common case needs no copies
            return self._count_visits(source, target, weights)
        visits = np.zeros(len(moved))
        weights = np.broadcast_to(weights, len(moved))[moved]
        visits[moved] = self._count_visits(source[moved], target[moved], weights)
        return visits

    def attempt(
        self,
        from_vectors: npt.ArrayLike,
        target_vectors: npt.ArrayLike,
        succeeded: npt.ArrayLike,
    ) -> None:
        """Count attempts of the policy: this is c_π.

        An attempt at an unknown edge adds the edge, with no visits. An attempt
        to stay (from a vector to itself) is not counted.

        Args:
            from_vectors: ``(n, n_attributes)`` vectors where the attempts began, or one vector.
            target_vectors: Their target neighbours, of the same shape.
            succeeded: Whether each succeeded: one truth value or ``(n,)``.

        Raises:
            InvalidAttributes: If a vector does not belong to the space.
            InvalidGraph: On batches of different lengths, or outcomes other than true and false.
        """
        packed = self._pack_pairs(from_vectors, target_vectors)
        outcomes = _checked_outcomes(succeeded, len(packed) // 2)
        source, target = self._add_nodes(packed)
        moved = source != target
        slots = self._store.add(source[moved], target[moved])
        columns = self._store.columns
        if self._decay < 1.0 and slots.size:
            fresh = slots[~columns[ATTEMPTED][slots]]  # a repeated slot is still assigned once
            for name in ("attempts", "successes"):
                columns[name][fresh] = columns[name][fresh] * np.float32(self._decay)
            columns[ATTEMPTED][fresh] = True
        np.add.at(columns["attempts"], slots, np.float32(1.0))
        np.add.at(columns["successes"], slots, outcomes[moved])
        self._changed()

    def start_epoch(self, decay: float = 1.0) -> None:
        """Begin an epoch of attempts in which older ones count less.

        At the *first* attempt of an edge in the epoch, its earlier attempts and successes are
        multiplied by ``decay``; an edge that is not attempted again keeps its counts.

        Args:
            decay: γ, from 0 (forget) to 1 (keep).

        Raises:
            InvalidGraph: If ``decay`` is outside 0 … 1.
        """
        if not 0.0 <= decay <= 1.0:
            raise InvalidGraph(f"a decay is from 0 (forget) to 1 (keep); received {decay}.")
        self._decay = float(decay)
        self._store.columns.pop(ATTEMPTED, None)
        if decay < 1.0:
            self._store.columns[ATTEMPTED] = np.zeros_like(self._store.columns["target"], bool)

    def merge(self, other: TransitionCounts) -> None:
        """Add all counts of ``other``. Node numbers may differ; the epoch is not changed.

        Raises:
            InvalidGraph: If the attributes differ.
        """
        if other.space != self.space:
            raise InvalidGraph(
                f"only counts over the same attributes can be merged; received {other.space!r} "
                f"for {self.space!r}."
            )
        edges = other.edges()
        number = self.index.add_packed(other.index.packed)
        slots = self._store.add(number[edges.source], number[edges.target])
        for name in ("visits", "attempts", "successes"):
            self._store.columns[name][slots] += getattr(edges, name)  # an edge has one slot
        self.total += other.total
        self._changed()

    # --- reading ----------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of vectors seen."""
        return len(self.index)

    @property
    def n_edges(self) -> int:
        """Number of edges seen or attempted."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Number of bytes, including the node index."""
        return self.index.nbytes + self._store.nbytes

    def __repr__(self) -> str:
        return (
            f"<TransitionCounts: {self.n_nodes} nodes, {self.n_edges} edges, {self.total:g} visits>"
        )

    def visits(self, from_vectors: npt.ArrayLike, to_vectors: npt.ArrayLike) -> FloatArray:
        """Return ``(n,)`` visits of transitions, 0 if never seen."""
        numbers = self.index.find_packed(self._pack_pairs(from_vectors, to_vectors))
        source, target = numbers[0::2], numbers[1::2]
        known = (source >= 0) & (target >= 0)
        slots = np.full(len(source), -1, np.int64)
        slots[known] = self._store.find(source[known], target[known])
        visits = np.zeros(len(slots))
        visits[slots >= 0] = self._store.columns["visits"][slots[slots >= 0]]
        return visits

    def edges(self) -> EdgeTable:
        """Return all edges, sorted by source and target, as read-only views."""
        self.compact()
        columns = self._store.columns
        views = (
            self._store.indptr,
            *(columns[name] for name in ("target", "visits", "attempts", "successes")),
        )
        views = tuple(view.view() for view in views)
        for view in views:
            view.flags.writeable = False
        return EdgeTable(*views)

    def neighbours(self, node: int) -> npt.NDArray[np.int32]:
        """Return nodes seen after ``node``, ascending; targets only attempted are left out.

        Raises:
            InvalidGraph: On an unknown node number.
        """
        _, slots = self._store.rows(self.index.check_nodes(node))
        columns = self._store.columns
        neighbours: npt.NDArray[np.int32] = columns["target"][slots[columns["visits"][slots] > 0]]
        return neighbours

    def followers(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return observed successors: positions in ``nodes`` ``(m,)``, and the successors ``(m,)``.

        Raises:
            InvalidGraph: On an unknown node number.
        """
        owner, slots = self._store.rows(self.index.check_nodes(nodes))
        columns = self._store.columns
        kept = columns["visits"][slots] > 0
        return owner[kept], columns["target"][slots[kept]]

    def sample_neighbours(
        self, nodes: npt.ArrayLike, rng: np.random.Generator, *, by_need: bool = False
    ) -> npt.NDArray[np.int32]:
        """Draw one neighbour of each node, in proportion to its visits or by need of practice.

        Args:
            nodes: ``(n,)`` node numbers.
            rng: Source of randomness.
            by_need: Whether to draw edges by need, most often those that fail as often as they
                work.

        Returns:
            ``(n,)`` int32 node numbers, -1 for a node without neighbours.

        Raises:
            InvalidGraph: On an unknown node number.
        """
        numbers = self.index.check_nodes(nodes)
        owner, slots = self._store.rows(numbers)
        columns = self._store.columns
        rates = visits = columns["visits"][slots]
        if by_need:
            probs = (columns["successes"][slots] + 1.0) / (columns["attempts"][slots] + 2.0)
            rates = np.where(visits > 0, np.sqrt(probs * (1.0 - probs)) + MIN_NEED, 0.0)
        # The first of several exponential clocks to ring is drawn in proportion to the rates.
        clocks = np.full(len(slots), np.inf)
        np.divide(rng.standard_exponential(len(slots)), rates, out=clocks, where=rates > 0)
        winner, _ = row_argmin(clocks, owner, len(numbers))
        drawn = np.full(len(numbers), -1, np.int32)
        drawn[winner >= 0] = self._store.columns["target"][slots[winner[winner >= 0]]]
        return drawn

    def compact(self) -> None:
        """Sort new edges in and release spare memory. Numbers and counts do not change."""
        self._store.compact(self.n_nodes)

    # --- files ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything counted as plain arrays, for :meth:`from_arrays`."""
        self.compact()
        return {
            "nodes": np.ascontiguousarray(self.index.packed),
            "indptr": self._store.indptr.copy(),
            **{name: column.copy() for name, column in self._store.columns.items()},
            "total": np.array(self.total),
            "decay": np.array(self._decay),
        }

    @classmethod
    def from_arrays(
        cls, space: AttributeSpace, arrays: Mapping[str, npt.NDArray[Any]]
    ) -> TransitionCounts:
        """Return the counts that :meth:`to_arrays` converted.

        Raises:
            InvalidGraph: If an array is missing or the arrays are not a graph over ``space``.
        """
        counts = cls(space)
        counts.restore(arrays)
        return counts

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Replace all counts by those of :meth:`to_arrays`.

        Raises:
            InvalidGraph: If an array is missing or the arrays are not a graph over the space.
        """
        self.index, self._store, self.total, self._decay = storage.read_arrays(self.space, arrays)
        self._changed()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save to one ``.npz`` file, including the space, without pickle.

        The file is replaced only when the new one is complete, and any number of
        processes may save to it.

        Raises:
            OSError: If the file cannot be written.
        """
        storage.write_file(Path(path), self.space, self.to_arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TransitionCounts:
        """Load the counts that :meth:`save` wrote.

        Raises:
            InvalidGraph: If the file does not hold counts, is damaged, or would unpack to far more
                than its size.
            FileNotFoundError: If there is no such file.
        """
        return cls.from_arrays(*storage.read_file(Path(path)))

    # --- helpers ----------------------------------------------------------------------------

    def _pack_pairs(self, first: npt.ArrayLike, second: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """Return ``(2 n, n_words)``: from and to in turn, so that nodes are numbered in order."""
        before, after = (
            np.atleast_2d(whole_numbers(end, self.space.dtype, source="a transition's end"))
            for end in (first, second)
        )
        if before.shape != after.shape or before.ndim > 2:
            raise InvalidGraph(
                "each transition has two ends: two vectors or two batches of one length; received "
                f"shapes {before.shape} and {after.shape}."
            )
        return self.space.pack(np.stack([before, after], axis=1).reshape(-1, before.shape[1]))

    def _add_nodes(self, packed: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
        numbers = self.index.add_packed(packed)
        # Converted to numpy's index type once here, not in every look-up.
        source, target = numbers.reshape(-1, 2).T.astype(np.int64)
        return source, target

    def _count_visits(self, source: IntArray, target: IntArray, weights: FloatArray) -> FloatArray:
        slots = self._store.add(source, target)
        column = self._store.columns["visits"]
        np.add.at(column, slots, weights)
        self.total += float(weights.sum() if weights.ndim else weights * len(slots))
        visits = column[slots]
        self._changed()
        return visits

    def _changed(self) -> None:
        self.version += 1
        if self._store.n_appended > self._store.appended_limit:
            self.compact()


def _checked_weights(weight: npt.ArrayLike, n: int) -> FloatArray:
    rule = "a weight is a number"
    weights = as_array(weight, rule=rule, kind=InvalidGraph, dtype=np.float64)
    if weights.shape not in ((), (n,)):
        raise InvalidGraph(f"one weight, or one for each of {n}; received shape {weights.shape}.")
    if not ((weights > 0) & (weights < np.inf)).all():
        raise InvalidGraph(f"a weight is finite and above 0; received {shown(weight)}.")
    return weights


def _checked_outcomes(succeeded: npt.ArrayLike, n: int) -> npt.NDArray[np.float32]:
    rule = "an attempt succeeds or fails, true or false"
    outcomes = as_array(succeeded, rule=rule, kind=InvalidGraph)
    if outcomes.shape not in ((), (n,)):
        raise InvalidGraph(f"one outcome, or one for each of {n}; received {outcomes.shape}.")
    if not np.isin(outcomes, (0, 1)).all():
        raise InvalidGraph(f"{rule}; received {shown(succeeded)}.")
    return np.broadcast_to(outcomes.astype(np.float32), n)
