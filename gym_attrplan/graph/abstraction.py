"""Which attributes plans can leave out, judged by the outcomes of hops."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gym_attrplan.attributes import FREE
from gym_attrplan.graph.counted_rows import FloatArray, Places
from gym_attrplan.graph.evidence import log_evidence, sums
from gym_attrplan.graph.merging import Merged, without
from gym_attrplan.graph.outcomes import HopOutcomes

MIN_GAIN = 1.0
"""Minimum evidence in nats that leaving out an attribute must gain."""

MAX_LOSS = 0.1
"""Maximum evidence, in nats an attempt, that each change may lose without an attribute."""

ANY_LOSS = 5.0
"""Evidence in nats that each change may lose in any case: so much is lost by chance."""


def needless(outcomes: HopOutcomes, columns: Iterable[int]) -> Merged:
    """Leave out attributes without which the success of hops is predicted at least as well.

    The more attributes a description has, the fewer attempts it has seen. Two ways to count the
    same attempts, with and without an attribute, are compared by their evidence: the probability
    that each gives to what happened (a beta-binomial for each description and change). An attribute
    that tells failure from success raises it, one that only divides the attempts lowers it.

    Args:
        outcomes: The outcomes of hops.
        columns: Places of the attributes that may be left out.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> outcomes = HopOutcomes(AttributeSpace({"key": 2, "door": 2, "clock": 60}))
        >>> times = np.arange(60)
        >>> for key in (0, 1):  # the door opens if the key is there, at any time
        ...     start = np.stack([np.full(60, key), np.zeros(60, int), times], axis=1)
        ...     end = start + [0, key, 0]
        ...     outcomes.record(start, [[-1, 1, -1]] * 60, end, made=key == 1, n_steps=9)
        >>> needless(outcomes, [0, 2])  # the clock
        ((2, ()),)
    """
    attempts = _Attempts(outcomes)
    gains = {column: attempts.gain([], column) for column in columns}
    left_out: list[int] = []
    for column in sorted(gains, key=lambda column: -gains[column]):
        if gains[column] < MIN_GAIN:
            break
        if not left_out or attempts.gain(left_out, column) >= MIN_GAIN:
            left_out.append(column)
    return without(left_out)


class _Attempts:
    """The counted attempts, which are added up anew for each set of attributes left out.

    Descriptions are compared by sums of random 64-bit codes, one for each value of an attribute.

    Args:
        outcomes: The outcomes of hops.
    """

    def __init__(self, outcomes: HopOutcomes) -> None:
        table, self._n_changes = outcomes.table(), outcomes.n_changes
        self._change, self._tried, self._made = table.change, table.attempts, table.successes
        self._asked = (outcomes.changes() != FREE)[table.change]
        draw = np.random.default_rng(0).integers
        sizes, n = outcomes.space.sizes, self._n_changes
        codes = draw(2**64, size=(len(sizes), int(sizes.max())), dtype=np.uint64)
        values = outcomes.index.vectors(table.node)
        self._codes = codes[np.arange(len(sizes)), values]
        self._code_of_change = draw(2**64, size=n, dtype=np.uint64)[table.change]
        tried, made = (np.bincount(table.change, x, n) for x in (self._tried, self._made))
        self._usual = (made + 1.0) / (tried + 2.0)

    def gain(self, left_out: list[int], column: int) -> float:
        """Return the evidence gained without one more attribute; -inf if a change loses much."""
        rows = np.flatnonzero(~self._asked[:, [*left_out, column]].any(axis=1))
        tried = np.bincount(self._change[rows], self._tried[rows], self._n_changes)
        gains = self._evidence(rows, [*left_out, column]) - self._evidence(rows, left_out)
        if (gains < -np.maximum(MAX_LOSS * tried, ANY_LOSS)).any():
            return -np.inf
        return float(gains.sum())

    def _evidence(self, rows: Places, left_out: list[int]) -> FloatArray:
        """Return ``(n_changes,)`` log probabilities of the attempts of some rows."""
        codes = np.delete(self._codes[rows], left_out, axis=1).sum(axis=1, dtype=np.uint64)
        _, first, group = np.unique(
            codes + self._code_of_change[rows], return_index=True, return_inverse=True
        )
        tried, made = (sums(group, x[rows]) for x in (self._tried, self._made))
        change = self._change[rows[first]]
        logs = log_evidence(self._usual[change], tried, made)
        return sums(change, logs, self._n_changes)
