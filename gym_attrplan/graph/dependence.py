"""Dependence: which attributes tell how hops end, judged by their outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph.abstraction import log_evidence, needless
from gym_attrplan.graph.counted_rows import FloatArray, Places
from gym_attrplan.graph.merging import Merged, group_of
from gym_attrplan.graph.outcomes import PRIOR, HopOutcomes, OutcomeTable
from gym_attrplan.graph.ragged import expand_rows

Splits: TypeAlias = tuple[int, ...]
Reads: TypeAlias = dict[int, Splits]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

MIN_GAIN = 3.0
"""Minimum evidence in nats that telling two groups of values apart must gain."""

N_SPLITS = 8
"""Number of values of an attribute at which a split is tried: quantiles of the attempts."""

THIN = 0.2
"""Evidence in nats an attempt that groups must gain over descriptions that count their own."""

MAX_ROWS = 2_000_000
"""Maximum number of descriptions times changes. Beyond it, only what was attempted is planned."""

MAX_ENDS = 12
"""Maximum number of outcomes of a group of attempts; rarer ones lead nowhere."""

_FEW = 10.0
"""Number of successes below which a kind of change does not show what passes."""

_MADE, _OVER, _ALONE, _N_HOW = 4, 2, 1, 8


class Dependence:
    """For each kind of change, the attributes that tell how it ends, and their values told apart.

    The more values are told apart, the fewer attempts each of them has seen. A *kind* of change
    asks for the same attributes. Ways to group its attempts are compared by their evidence, the
    probability that each gives to what happened: how often the change was made, how often nothing
    else was, and how long it took. A group is split at a value as long as that gains evidence. So a
    hop to open a door depends on the key, but not on the clock, which would only divide the
    attempts.

    Attributes that most hops change anyway, whatever they ask for, do not count unless goals name
    them, as plans cannot rely on them. An example is the ore that an economy spends on everything.

    Args:
        outcomes: The outcomes of hops.
    """

    def __init__(self, outcomes: HopOutcomes) -> None:
        self._outcomes = outcomes
        self._passing = _passing(outcomes)
        self._attempts: dict[bytes, _Attempts] = {}
        self._groupings: dict[frozenset[int], Grouping] = {}

    def grouping(self, named: Iterable[int]) -> Grouping:
        """Return the groups of attempts for plans to goals that name some attributes.

        Where descriptions have many attempts, each counts its own, without attributes that only
        divide them (:func:`~gym_attrplan.graph.abstraction.needless`).

        Args:
            named: Places of these attributes.

        Example:
            >>> from gym_attrplan.attributes import AttributeSpace
            >>> outcomes = HopOutcomes(AttributeSpace({"workers": 2, "house": 2, "flag": 60}))
            >>> starts = np.array([[i % 2, 0, i] for i in range(60)] * 2)
            >>> outcomes.record(starts, [[-1, 1, -1]] * 120, starts + [0, 1, 0], made=True,
            ...                 n_steps=90 - 80 * starts[:, 0])
            >>> Dependence(outcomes).grouping([1]).merges  # workers are faster, with any flag
            ((0, (1,)), (2, ()))
        """
        named = frozenset(named)
        if named not in self._groupings:
            self._groupings[named] = self._group(named)
        return self._groupings[named]

    def _group(self, named: frozenset[int]) -> Grouping:
        passing = self._passing.copy()
        passing[list(named)] = False
        key = passing.tobytes()
        if key not in self._attempts:
            self._attempts[key] = _Attempts(self._outcomes, passing)
        attempts = self._attempts[key]
        others = [place for place in range(len(passing)) if place not in named]
        if not attempts.thin:
            return Grouping(needless(self._outcomes, others))
        needed: dict[int, set[int]] = {place: set() for place in sorted(named)}
        found = list(needed)
        for place in found:  # grows
            for other, splits in attempts.reads_for(place):
                if other not in needed:
                    needed[other] = set()
                    found.append(other)
                needed[other].update(splits)
        merges = tuple((place, tuple(sorted(needed.get(place, ())))) for place in others)
        return Grouping(merges, attempts)


@dataclass(frozen=True)
class Grouping:
    """Groups of attempts in which a change is expected to end alike.

    Attributes:
        merges: The values that plans need not tell apart. An attribute that no goal and no useful
            hop depends on is left out.
        attempts: What each kind of change depends on; None if descriptions count their own.
    """

    merges: Merged
    attempts: _Attempts | None = None

    def expected(self, outcomes: HopOutcomes) -> OutcomeTable:
        """Return the table of outcomes in which all attempts of a group count for each of its rows.

        Every known description has a row for each change that was attempted in its group, so that a
        plan can ask for what was never attempted in just this description. Outcomes change the same
        attributes to the same values as in the attempts. If those changed an attribute that the
        change is to leave alone, they count only where it had the same value before.

        Args:
            outcomes: Outcomes of hops, with these values merged.
        """
        table = outcomes.table()
        if self.attempts is None:
            return table
        changes = outcomes.changes()
        vectors = outcomes.index.vectors(np.arange(len(outcomes.index)))
        groups = _Groups(self.attempts, vectors, changes)
        group_of_row = groups.of(table.node, table.change)
        sums = (table.attempts, table.successes, table.attempts * table.n_steps)
        attempts, successes, steps = (_sums(group_of_row, x, groups.number) for x in sums)
        ends = self.attempts.ends(outcomes, table, group_of_row)
        node, change = table.node, table.change
        if len(vectors) * len(changes) <= MAX_ROWS:
            possible = ((vectors[:, None] != changes) & (changes != FREE)).any(axis=2)
            possible[node, change] = True
            node, change = np.nonzero(possible)
            tried = attempts[groups.of(node, change)] > 0.0
            node, change = node[tried], change[tried]
        group = groups.of(node, change)
        first = np.searchsorted(ends.group, np.arange(groups.number + 1))
        row, which = expand_rows(first, group)
        here = vectors[node[row]]
        fits = ((ends.before[which] == FREE) | (ends.before[which] == here)).all(axis=1)
        row, which, here = row[fits], which[fits], here[fits]
        alike = row * _N_HOW + ends.how[which]
        share = ends.n_times[which] / _sums(alike, ends.n_times[which])[alike]
        after = ends.after[which]
        reached = outcomes.index.find(np.where(after == FREE, here, after).astype(here.dtype))
        known = reached >= 0
        row, which, share, reached = row[known], which[known], share[known], reached[known]
        return OutcomeTable(
            node=node,
            change=change,
            attempts=attempts[group],
            successes=successes[group],
            probs=outcomes.corrected(attempts[group], successes[group], change),
            n_steps=steps[group] / attempts[group],
            end_row=row,
            end_node=reached.astype(np.int64),
            end_made=(ends.how[which] & _MADE).astype(np.bool_),
            end_over=(ends.how[which] & _OVER).astype(np.bool_),
            end_count=share * ends.total[which],
        )


EVERYTHING = Grouping(())
"""All values are told apart, and each description counts its own attempts."""


class _Groups:
    """The groups of attempts, by descriptions and changes.

    Args:
        attempts: What each kind of change depends on.
        vectors: ``(n_nodes, n_attributes)`` the descriptions.
        changes: ``(n_changes, n_attributes)`` the changes.
    """

    def __init__(self, attempts: _Attempts, vectors: IntArray, changes: IntArray) -> None:
        kinds, kind_of = np.unique(changes != FREE, axis=0, return_inverse=True)
        self._kind_of = kind_of.reshape(-1)
        self._codes = np.zeros((len(kinds), len(vectors)), np.int64)
        for codes, kind in zip(self._codes, kinds, strict=True):
            codes[:] = np.unique(_codes(vectors, attempts.reads(kind)), return_inverse=True)[1]
        sizes = self._codes.max(axis=1, initial=-1)[self._kind_of] + 1
        self._first = np.cumsum(sizes) - sizes
        self.number = int(sizes.sum())

    def of(self, nodes: Places, changes: Places) -> Places:
        """Return ``(n,)`` groups of descriptions and changes."""
        groups: Places = self._first[changes] + self._codes[self._kind_of[changes], nodes]
        return groups


class _Ends(NamedTuple):
    """Outcomes of groups of attempts, by their groups, the most frequent ones first.

    Attributes:
        group: ``(n,)`` the group.
        how: ``(n,)`` whether the change was made, the episode was over, and nothing else changed.
        after: ``(n, n_attributes)`` the values that changed; -1 for those that did not.
        before: ``(n, n_attributes)`` their earlier values, where the change is to leave them alone.
        n_times: ``(n,)`` how often.
        total: ``(n,)`` how often the group had outcomes with the same ``how``.
    """

    group: Places
    how: Places
    after: Places
    before: Places
    n_times: FloatArray
    total: FloatArray


class _Attempts:
    """The counted attempts, which are added up anew for each way to group them.

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
        self._alone = _sums(row, made, len(table.node))
        self._steps = table.attempts * table.n_steps
        pairs = ((self._tried, self._made), (self._made, self._alone), (self._steps, self._tried))
        self._usual = [self._rates(*pair) for pair in pairs]

    def _rates(self, tried: FloatArray, made: FloatArray) -> FloatArray:
        """Return ``(n_changes,)`` rates over all descriptions."""
        tried, made = (_sums(self._change, x, self._n_changes) for x in (tried, made))
        rates: FloatArray = (made + 1.0) / (tried + 2.0)
        return rates

    @cached_property
    def thin(self) -> bool:
        """Whether descriptions have too few attempts to count each its own."""
        gain = 0.0
        for kind in self._kinds:
            rows = self._rows(kind)
            gain += self._evidence(rows, self.reads(kind)) - self._evidence(rows)
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
        evidence = self._evidence(rows, found)
        while True:
            tries = []
            for column, splits in candidates:
                finer = tuple(sorted({*found.get(column, ()), *splits}))
                if finer != found.get(column):
                    more = self._evidence(rows, {**found, column: finer})
                    tries.append((more, column, finer))
            more, column, finer = max(tries, default=(-np.inf, 0, ()))
            if more - evidence < MIN_GAIN:
                break
            evidence, found[column] = more, finer
        return found

    def ends(self, outcomes: HopOutcomes, table: OutcomeTable, groups: Places) -> _Ends:
        """Return the outcomes of groups.

        Args:
            outcomes: The outcomes of hops.
            table: Their table.
            groups: ``(n_rows,)`` the group of each row of the table.
        """
        row = table.end_row
        starts = outcomes.index.vectors(table.node[row])
        ends = outcomes.index.vectors(table.end_node)
        moved, asked = starts != ends, (outcomes.changes() != FREE)[table.change[row]]
        before = np.where(moved & ~asked & ~self.passing, starts, FREE)
        alone = (before == FREE).all(axis=1)
        how = _MADE * table.end_made + _OVER * table.end_over + _ALONE * alone
        after = np.where(moved, ends, FREE)
        keys = np.column_stack([groups[row], how, after, before]).astype(np.int64)
        keys, number = np.unique(keys, axis=0, return_inverse=True)
        count = _sums(number.reshape(-1), table.end_count, len(keys))
        order = np.lexsort([-count, keys[:, 0]])
        keys, count = keys[order], count[order]
        group, how = keys[:, 0], keys[:, 1]
        alike = group * _N_HOW + how
        total = _sums(alike, count)[alike]
        kept = np.arange(len(keys)) - np.searchsorted(group, group) < MAX_ENDS
        after, before = np.split(keys[:, 2:], [len(outcomes.space)], axis=1)
        return _Ends(group[kept], how[kept], after[kept], before[kept], count[kept], total[kept])

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

    def _evidence(self, rows: Places, reads: Reads | None = None) -> float:
        """Return the log probability of the attempts of some rows, if grouped in this way.

        Args:
            rows: ``(n,)`` the rows.
            reads: Where to split the groups; None if each row counts for itself.
        """
        codes = np.arange(len(rows))
        if reads is not None:
            codes = _codes(self._starts[rows], reads) * self._n_changes + self._change[rows]
        _, first, group = np.unique(codes, return_index=True, return_inverse=True)
        tried, made, alone, steps = (
            _sums(group, x[rows]) for x in (self._tried, self._made, self._alone, self._steps)
        )
        success, clean, pace = (rates[self._change[rows[first]]] for rates in self._usual)
        logs = log_evidence(success, tried, made) + log_evidence(clean, made, alone)
        logs += log_evidence(pace, steps, tried, PRIOR / pace)
        return float(logs.sum())


def _codes(descriptions: IntArray, reads: Reads) -> Places:
    """Return ``(n,)`` numbers that tell apart what is read."""
    codes = np.zeros(len(descriptions), np.int64)
    for column, splits in reads.items():
        codes = codes * (len(splits) + 1) + group_of(descriptions[:, column], splits)
    return codes


def _sums(numbers: Places, amounts: FloatArray, n: int = 0) -> FloatArray:
    """Return ``(n,)`` sums of amounts by their numbers."""
    return np.asarray(np.bincount(numbers, amounts, n), np.float64)


def _passing(outcomes: HopOutcomes) -> BoolArray:
    """Return ``(n_attributes,)`` what most hops change, whatever else they ask for."""
    table, asked = outcomes.table(), outcomes.changes() != FREE
    starts = outcomes.index.vectors(table.node[table.end_row])
    moved = outcomes.index.vectors(table.end_node) != starts
    kinds, kind_of = np.unique(asked, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)[table.change[table.end_row]]
    passing: BoolArray = np.ones(moved.shape[1], np.bool_)
    for i, kind in enumerate(kinds):
        made = table.end_count * (table.end_made & (kind_of == i))
        if made.sum() >= _FEW:
            passing &= kind | (made @ moved > 0.5 * made.sum())
    return passing
