"""Dependence: attempts at hops that count together, where descriptions have few of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gym_attrplan.attributes import FREE
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph.abstraction import needless
from gym_attrplan.graph.counted_rows import FloatArray, Places
from gym_attrplan.graph.evidence import BoolArray, Evidence, codes_of, passing_attributes, sums
from gym_attrplan.graph.merging import Merged
from gym_attrplan.graph.outcomes import HopOutcomes, OutcomeTable
from gym_attrplan.graph.ragged import expand_rows

MAX_ROWS = 2_000_000
"""Maximum number of descriptions times changes. Beyond it, only what was attempted is planned."""

MAX_ENDS = 12
"""Maximum number of outcomes of a group of attempts; rarer ones lead nowhere."""

_MADE, _OVER, _ALONE, _N_HOW = 4, 2, 1, 8


class Dependence:
    """The attributes that changes depend on, also by way of other changes.

    Attributes that most hops change anyway, whatever they ask for, do not count unless goals name
    them, as plans cannot rely on them. An example is the ore that an economy spends on everything.

    Args:
        outcomes: The outcomes of hops.
    """

    def __init__(self, outcomes: HopOutcomes) -> None:
        self._outcomes = outcomes
        self._evidence: dict[bytes, Evidence] = {}
        self._groupings: dict[frozenset[int], Grouping] = {}

    @cached_property
    def _passing(self) -> BoolArray:
        return passing_attributes(self._outcomes)

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
        if key not in self._evidence:
            self._evidence[key] = Evidence(self._outcomes, passing)
        evidence = self._evidence[key]
        others = [place for place in range(len(passing)) if place not in named]
        if not evidence.thin:
            return Grouping(needless(self._outcomes, others))
        needed: dict[int, set[int]] = {place: set() for place in sorted(named)}
        found = list(needed)
        for place in found:  # grows
            for other, splits in evidence.reads_for(place):
                if other not in needed:
                    needed[other] = set()
                    found.append(other)
                needed[other].update(splits)
        merges = tuple((place, tuple(sorted(needed.get(place, ())))) for place in others)
        return Grouping(merges, evidence)


@dataclass(frozen=True)
class Grouping:
    """Groups of attempts in which a change is expected to end alike.

    Attributes:
        merges: The values that plans need not tell apart. An attribute that no goal and no useful
            hop depends on is left out.
        evidence: What each kind of change depends on; None if descriptions count their own.
    """

    merges: Merged
    evidence: Evidence | None = None

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
        if self.evidence is None:
            return table
        changes = outcomes.changes()
        vectors = outcomes.index.vectors(np.arange(len(outcomes.index)))
        groups = _Groups(self.evidence, vectors, changes)
        group_of_row = groups.of(table.node, table.change)
        counts = (table.attempts, table.successes, table.attempts * table.n_steps)
        attempts, successes, steps = (sums(group_of_row, x, groups.number) for x in counts)
        ends = _ends(outcomes, table, group_of_row, self.evidence.passing)
        node, change = table.node, table.change
        if len(vectors) * len(changes) <= MAX_ROWS:
            possible = np.zeros((len(vectors), len(changes)), np.bool_)
            for values, wanted in zip(vectors.T, changes.T, strict=True):
                possible |= (wanted != FREE) & (values[:, None] != wanted)
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
        share = ends.n_times[which] / sums(alike, ends.n_times[which])[alike]
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
        evidence: What each kind of change depends on.
        vectors: ``(n_nodes, n_attributes)`` the descriptions.
        changes: ``(n_changes, n_attributes)`` the changes.
    """

    def __init__(self, evidence: Evidence, vectors: IntArray, changes: IntArray) -> None:
        kinds, kind_of = np.unique(changes != FREE, axis=0, return_inverse=True)
        self._kind_of = kind_of.reshape(-1)
        self._codes = np.zeros((len(kinds), len(vectors)), np.int64)
        for codes, kind in zip(self._codes, kinds, strict=True):
            codes[:] = np.unique(codes_of(vectors, evidence.reads(kind)), return_inverse=True)[1]
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


def _ends(outcomes: HopOutcomes, table: OutcomeTable, groups: Places, passing: BoolArray) -> _Ends:
    """Return the outcomes of groups.

    Args:
        outcomes: The outcomes of hops.
        table: Their table.
        groups: ``(n_rows,)`` the group of each row of the table.
        passing: ``(n_attributes,)`` attributes that do not count.
    """
    row = table.end_row
    starts = outcomes.index.vectors(table.node[row])
    ends = outcomes.index.vectors(table.end_node)
    moved, asked = starts != ends, (outcomes.changes() != FREE)[table.change[row]]
    before = np.where(moved & ~asked & ~passing, starts, FREE)
    alone = (before == FREE).all(axis=1)
    how = _MADE * table.end_made + _OVER * table.end_over + _ALONE * alone
    after = np.where(moved, ends, FREE)
    keys = np.column_stack([groups[row], how, after, before]).astype(np.int64)
    keys, number = np.unique(keys, axis=0, return_inverse=True)
    count = sums(number.reshape(-1), table.end_count, len(keys))
    order = np.lexsort([-count, keys[:, 0]])
    keys, count = keys[order], count[order]
    group, how = keys[:, 0], keys[:, 1]
    alike = group * _N_HOW + how
    total = sums(alike, count)[alike]
    kept = np.arange(len(keys)) - np.searchsorted(group, group) < MAX_ENDS
    after, before = np.split(keys[:, 2:], [len(outcomes.space)], axis=1)
    return _Ends(group[kept], how[kept], after[kept], before[kept], count[kept], total[kept])
