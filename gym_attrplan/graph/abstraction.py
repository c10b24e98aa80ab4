"""Which attributes plans can leave out, judged by the outcomes of hops."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import betaln

from gym_attrplan.graph.counted_rows import FloatArray
from gym_attrplan.graph.outcomes import PRIOR, HopOutcomes

MIN_GAIN = 1.0
"""Minimum evidence in nats that leaving out an attribute must gain."""

MAX_LOSS = 0.1
"""Maximum evidence, in nats an attempt, that each change may lose without an attribute."""

ANY_LOSS = 5.0
"""Evidence in nats that each change may lose in any case: so much is lost by chance."""


def needless(outcomes: HopOutcomes, columns: Iterable[int]) -> tuple[int, ...]:
    """Return attributes without which the success of hops is predicted at least as well.

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
        >>> [outcomes.space.names[i] for i in needless(outcomes, [0, 2])]
        ['clock']
    """
    gains = {column: _gain(outcomes, outcomes.without([column])) for column in columns}
    left_out: list[int] = []
    for column in sorted(gains, key=lambda column: -gains[column]):
        if gains[column] < MIN_GAIN:
            break
        fewer = outcomes.without([column])
        if not left_out or _gain(outcomes, fewer) >= MIN_GAIN:
            outcomes = fewer
            left_out.append(column)
    return tuple(sorted(left_out))


def _gain(outcomes: HopOutcomes, fewer: HopOutcomes) -> float:
    """Return the evidence gained by counting with fewer attributes; -inf if a change loses much."""
    evidence, attempts = _evidence(fewer)
    gains = evidence - _evidence(outcomes)[0][outcomes.find_changes(fewer.changes())]
    if (gains < -np.maximum(MAX_LOSS * attempts, ANY_LOSS)).any():
        return -np.inf
    return float(gains.sum())


def _evidence(outcomes: HopOutcomes) -> tuple[FloatArray, FloatArray]:
    """Return ``(n_changes,)`` log probabilities of the attempts at changes, and their numbers."""
    table, n = outcomes.table(), outcomes.n_changes
    tried, made = (np.bincount(table.change, x, n) for x in (table.attempts, table.successes))
    usual = ((made + 1.0) / (tried + 2.0))[table.change]
    success, failure = PRIOR * usual, PRIOR * (1.0 - usual)
    logs = betaln(success + table.successes, failure + table.attempts - table.successes)
    evidence = np.bincount(table.change, logs - betaln(success, failure), n)
    return np.asarray(evidence, np.float64), np.asarray(tried, np.float64)
