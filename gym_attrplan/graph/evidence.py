"""Evidence: which attributes tell how hops end, judged by their outcomes."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from gym_attrplan.attributes import FREE
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph.counted_rows import FloatArray, Places
from gym_attrplan.graph.merging import group_of
from gym_attrplan.graph.outcomes import PRIOR, HopOutcomes

Splits: TypeAlias = tuple[int, ...]
Reads: TypeAlias = dict[int, Splits]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

MIN_GAIN = 3.0
"""Minimum evidence in nats that telling two groups of values apart must gain."""

N_SPLITS = 8
"""Number of values of an attribute at which a split is tried: quantiles of the attempts."""

THIN = 0.2
"""Evidence in nats an attempt that groups must gain over descriptions that count their own."""

FEW = 10.0
"""Number of successes below which a kind of change does not show what passes."""


class Evidence:
    """For each kind of change, the attributes that tell how it ends, and their values told apart.

    The more values are told apart, the fewer attempts each of them has seen. A *kind* of change
    asks for the same attributes. Ways to group its attempts are compared by their evidence, the
    probability that each gives to what happened: how often the change was made, how often nothing
    else was, and how long it took. A group is split at a value as long as that gains evidence. So a
    hop to open a door depends on the key, but not on the clock, which would only divide the
    attempts.

    Args:
        outcomes: The outcomes of hops.
        passing: ``(n_attributes,)`` attributes that do not count.
    """

    def __init__(self, outcomes: HopOutcomes, passing: BoolArray) -> None:
        table, changes = outcomes.table(), outcomes.changes()
        self.passing = passing
        self._change, self._n_changes = table.change, len(changes)
        self._asked = changes != FREE
        self._starts = outcomes.index.vectors(table.node).astype(np.int64)
        self._kinds = np.unique(self._asked, axis=0)
        self._known: dict[bytes, Reads] = {}
        row = table.end_row
        moved = outcomes.index.vectors(table.end_node) != self._starts[row]
        alone = ~(moved & ~self._asked[table.change[row]] & ~passing).any(axis=1)
        self._tried, self._made = table.attempts, table.successes
        made = table.end_count * (table.end_made & alone)
        self._alone = sums(row, made, len(table.node))
        self._steps = table.attempts * table.n_steps
        pairs = ((self._tried, self._made), (self._made, self._alone), (self._steps, self._tried))
        self._usual = [self._rates(*pair) for pair in pairs]

    def _rates(self, tried: FloatArray, made: FloatArray) -> FloatArray:
        """Return ``(n_changes,)`` rates over all descriptions."""
        tried, made = (sums(self._change, x, self._n_changes) for x in (tried, made))
        rates: FloatArray = (made + 1.0) / (tried + 2.0)
        return rates

    @cached_property
    def thin(self) -> bool:
        """Whether descriptions have too few attempts to count each its own."""
        gain = 0.0
        for kind in self._kinds:
            rows = self._rows(kind)
            gain += self._log(rows, self.reads(kind)) - self._log(rows)
        return bool(gain > THIN * self._tried.sum())

    def reads_for(self, place: int) -> list[tuple[int, Splits]]:
        """Return what changes of an attribute depend on.

        Args:
            place: Its place.
        """
        return [pair for kind in self._kinds if kind[place] for pair in self.reads(kind).items()]

    def _rows(self, kind: BoolArray) -> Places:
        """Return the rows of the attempts of a kind of change."""
        mine = (self._asked == kind).all(axis=1)
        return np.flatnonzero(mine[self._change])

    def reads(self, kind: BoolArray) -> Reads:
        """Return what a kind of change depends on, and where to split it.

        Args:
            kind: ``(n_attributes,)`` what it asks for.
        """
        key = kind.tobytes()
        if key not in self._known:
            self._known[key] = self._search(self._rows(kind))
        return self._known[key]

    def _search(self, rows: Places) -> Reads:
        candidates = [
            (column, splits)
            for column in np.flatnonzero(~self.passing).tolist()
            for splits in self._splits(rows, column)
        ]
        found: Reads = {}
        evidence = self._log(rows, found)
        while True:
            tries = []
            for column, splits in candidates:
                finer = tuple(sorted({*found.get(column, ()), *splits}))
                if finer != found.get(column):
                    more = self._log(rows, {**found, column: finer})
                    tries.append((more, column, finer))
            more, column, finer = max(tries, default=(-np.inf, 0, ()))
            if more - evidence < MIN_GAIN:
                break
            evidence, found[column] = more, finer
        return found

    def _splits(self, rows: Places, column: int) -> list[Splits]:
        """Return ways to tell an attribute's values apart: at one of them, or at all."""
        values, tried = self._starts[rows, column], self._tried[rows]
        levels = np.unique(values)
        splits = levels[1:].tolist()
        if len(splits) > N_SPLITS:
            order = np.argsort(values, kind="stable")
            share = np.cumsum(tried[order]) / tried.sum()
            at = np.searchsorted(share, np.arange(1, N_SPLITS + 1) / (N_SPLITS + 1))
            splits = sorted({splits[0], *values[order[at]].tolist()} - {levels[0]})
        single: list[Splits] = [(value,) for value in splits]
        return [*single, tuple(splits)] if len(splits) > 1 else single

    def _log(self, rows: Places, reads: Reads | None = None) -> float:
        """Return the log probability of the attempts of some rows, if grouped in this way.

        Args:
            rows: ``(n,)`` the rows.
            reads: Where to split the groups; None if each row counts for itself.
        """
        codes = np.arange(len(rows))
        if reads is not None:
            codes = codes_of(self._starts[rows], reads) * self._n_changes + self._change[rows]
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        tried, made, alone, steps = (
            sums(group, x[rows]) for x in (self._tried, self._made, self._alone, self._steps)
        )
        success, clean, pace = (rates[self._change[rows[first]]] for rates in self._usual)
        logs = log_evidence(success, tried, made) + log_evidence(clean, made, alone)
        logs += log_evidence(pace, steps, tried, PRIOR / pace)
        return float(logs.sum())


def codes_of(descriptions: IntArray, reads: Reads) -> Places:
    """Return ``(n,)`` numbers that tell apart what is read."""
    codes = np.zeros(len(descriptions), np.int64)
    for column, splits in reads.items():
        codes = codes * (len(splits) + 1) + group_of(descriptions[:, column], splits)
    return codes


def sums(numbers: Places, amounts: FloatArray, n: int = 0) -> FloatArray:
    """Return ``(n,)`` sums of amounts by their numbers."""
    return np.asarray(np.bincount(numbers, amounts, n), np.float64)


def passing_attributes(outcomes: HopOutcomes) -> BoolArray:
    """Return ``(n_attributes,)`` what most hops change, whatever else they ask for."""
    table, asked = outcomes.table(), outcomes.changes() != FREE
    starts = outcomes.index.vectors(table.node[table.end_row])
    moved = outcomes.index.vectors(table.end_node) != starts
    kinds, kind_of = np.unique(asked, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)[table.change[table.end_row]]
    passing: BoolArray = np.ones(moved.shape[1], np.bool_)
    for i, kind in enumerate(kinds):
        made = table.end_count * (table.end_made & (kind_of == i))
        if made.sum() >= FEW:
            passing &= kind | (made @ moved > 0.5 * made.sum())
    return passing


def log_evidence(
    rates: FloatArray, tried: FloatArray, made: FloatArray, weight: FloatArray | float = PRIOR
) -> FloatArray:
    """Return ``(n,)`` log probabilities of successes, with the usual rates as prior.

    Args:
        rates: ``(n,)`` usual rates.
        tried: ``(n,)`` attempts.
        made: ``(n,)`` those that succeeded.
        weight: Number of attempts that the usual rate counts for.
    """
    success, failure = weight * rates, weight * (1.0 - rates)
    missed = np.maximum(tried - made, 0.0)
    return np.asarray(betaln(success + made, failure + missed) - betaln(success, failure))
