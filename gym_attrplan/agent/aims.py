"""Aims: ways to the descriptions where a change that needs practice can be practised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.abstraction import needless
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.merging import Merged, merged
from gym_attrplan.graph.outcomes import HopOutcomes

Rows = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_NONE = -1
_N_AIMS = 8
"""Number of changes that are aimed at in an epoch.

A change gets no aim if this share of all hops, one of eight, begins where it can be practised.
"""

_N_STEPS_SEEN = 50_000
"""Maximum number of transitions that are searched for places to practise."""

_N_ROWS = 5_000
"""Number of recorded hops beyond which the ways are computed less often than every epoch."""


class Ways(NamedTuple):
    """How to get to where a change can be practised.

    Attributes:
        outcomes: The outcomes of hops, without the attributes that the ways leave out.
        left_out: These attributes.
        next: ``(n_nodes,)`` number of the change to ask for first, -1 where there is none.
        there: ``(n_nodes,)`` whether the description is such a place.
    """

    outcomes: HopOutcomes
    left_out: Merged
    next: Rows
    there: BoolArray

    def find(self, descriptions: IntArray) -> Rows:
        """Return ``(n,)`` numbers of descriptions, -1 for those that are not known."""
        return self.outcomes.index.find(merged(descriptions, self.left_out)).astype(np.int64)

    def share_begun(self) -> float:
        """Return the share of all hops that began where the change can be practised."""
        begun = self.outcomes.attempts_from()
        return float(begun[self.there].sum() / begun.sum())


class Aims:
    """Changes to practise, with the way to where they can be practised, hop by hop.

    A change that was seen to follow from a few descriptions only, such as taking what lies behind a
    locked door, is rarely practised where hops lead by chance. So some environments aim at a
    change, drawn by its squared need: their hops follow a plan to a description that it was seen
    to follow from, and then ask for it. An aim is given up when a hop fails. Like other plans,
    these leave out attributes that only divide the attempts. An aim asks for a change from nearby
    only, and long hops need practice too. So a change gets fewer aims, the more often it is made
    wherever it is asked for, and the more hops begin at those descriptions anyway.

    Args:
        outcomes: The outcomes of earlier hops.
        counts: The transitions seen.
        settings: The settings of practice.
        n_envs: Number of environments.
        rng: Generator of the draws.
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        counts: TransitionCounts,
        settings: PracticeSettings,
        n_envs: int,
        rng: np.random.Generator,
    ) -> None:
        self._outcomes, self._counts = outcomes, counts
        self._settings = settings
        self._rng = rng
        self._aims = np.full(n_envs, _NONE)
        self.forget()

    def forget(self) -> None:
        """Give up all aims, and compute the ways anew before the next."""
        self._aims[:] = _NONE
        self._due = _NONE
        self._ways: dict[int, Ways] = {}

    def give_up(self, rows: Rows) -> None:
        """Give up the aims of these environments."""
        self._aims[rows] = _NONE

    def direct(
        self,
        rows: Rows,
        descriptions: IntArray,
        changes: IntArray,
        *,
        where: BoolArray,
        possible: BoolArray | None = None,
    ) -> None:
        """Replace changes that were drawn by the next ones of the environments' aims.

        Args:
            rows: ``(n,)`` environments.
            descriptions: ``(n, n_attributes)`` where they are.
            changes: ``(n, n_attributes)`` the changes drawn.
            where: ``(n,)`` environments that begin a hop; the others keep their aims.
            possible: ``(n, n_attributes, n_values)`` values that are possible; None
                if that is not known.
        """
        if self._outcomes.epoch >= self._due:
            self._refresh()
        if not len(self._wanted):
            return
        free = np.flatnonzero(where & (self._aims[rows] == _NONE))
        drawn = self._rng.choice(len(self._wanted), len(free), p=self._shares)
        begins = self._rng.random(len(free)) < self._settings.aim_share * self._lacks[drawn]
        self._aims[rows[free[begins]]] = self._wanted[drawn[begins]]
        aiming = np.flatnonzero(where & (self._aims[rows] != _NONE))
        aims = self._aims[rows[aiming]]
        self._aims[rows[aiming]] = _NONE
        for aim in np.intersect1d(aims, list(self._ways)).tolist():
            ways, mine = self._ways[aim], aiming[aims == aim]
            here = ways.find(descriptions[mine])
            mine, here = mine[here >= 0], here[here >= 0]
            asked = changes[mine]
            asked[ways.there[here]] = self._single(aim)
            number = ways.next[here]
            going = number >= 0
            asked[going] = ways.outcomes.changes(number[going])
            if possible is not None:
                fits = _can_occur(asked, possible[mine])
                mine, asked, going = mine[fits], asked[fits], going[fits]
            changes[mine] = asked
            self._aims[rows[mine[going]]] = aim

    def _single(self, aim: int) -> IntArray:
        column, value = divmod(aim, self._n_values)
        single: IntArray = self._outcomes.singles([column], [value])[0]
        return single

    @property
    def _n_values(self) -> int:
        return int(self._outcomes.space.sizes.max())

    def _refresh(self) -> None:
        """Draw changes by need, and compute the ways to them and to those aimed at now."""
        outcomes = self._outcomes
        self._due = outcomes.epoch + 1 + len(outcomes) // _N_ROWS
        aims, nodes, need = self._places()
        every, first = np.unique(aims, return_index=True)
        self._ways, self._wanted = {}, every
        if not len(every):
            return
        column = every // self._n_values
        weights = np.maximum.reduceat(need, first) ** 2 / np.bincount(column)[column]
        n_aims = min(_N_AIMS, int((weights > 0).sum()))
        chosen = self._rng.choice(len(every), n_aims, replace=False, p=weights / weights.sum())
        self._wanted, self._shares = every[chosen], weights[chosen] / weights[chosen].sum()
        planners: dict[Merged, ChangePlanner] = {}
        for aim in np.union1d(self._wanted, np.intersect1d(self._aims, every)).tolist():
            mine = aims == aim
            mine[mine] = need[mine] >= 0.5 * need[mine].max()
            self._ways[aim] = self._ways_to(aim, nodes[mine], planners)
        singles = outcomes.singles(*np.divmod(self._wanted, self._n_values))
        tried, made = outcomes.attempts_at(singles)
        begun = np.array([self._ways[aim].share_begun() for aim in self._wanted.tolist()])
        enough = np.minimum(begun * _N_AIMS, 1.0)
        self._lacks = (1.0 - made / (tried + 1.0)) * (1.0 - enough)

    def _ways_to(self, aim: int, nodes: Rows, planners: dict[Merged, ChangePlanner]) -> Ways:
        """Return the ways to descriptions where an aim can be practised.

        Args:
            aim: The change.
            nodes: Numbers of the descriptions.
            planners: The planners made so far, by the attributes that they leave out.
        """
        outcomes = self._outcomes
        others = np.delete(np.arange(len(outcomes.space)), aim // self._n_values)
        left_out = needless(outcomes, others.tolist())
        if left_out not in planners:
            planners[left_out] = ChangePlanner(outcomes.merge(left_out))
        planner = planners[left_out]
        places = planner.outcomes.index.find(merged(outcomes.index.vectors(nodes), left_out))
        return Ways(planner.outcomes, left_out, *planner.ways_to(np.unique(places)))

    def _places(self) -> tuple[Rows, Rows, npt.NDArray[np.float64]]:
        """Return changes ``(n,)``, descriptions they were seen to follow from, and the needs."""
        outcomes, counts = self._outcomes, self._counts
        edges = counts.edges()
        seen = np.flatnonzero(edges.visits > 0)
        if len(seen) > _N_STEPS_SEEN:
            seen = self._rng.choice(seen, _N_STEPS_SEEN, replace=False)
        before = counts.index.vectors(edges.source[seen])
        after = counts.index.vectors(edges.target[seen])
        row, column = np.nonzero(before != after)
        nodes = outcomes.index.find(before[row]).astype(np.int64)
        pairs = np.stack([column * self._n_values + after[row, column], nodes], axis=1)
        aims, nodes = np.unique(pairs[nodes >= 0], axis=0).T
        singles = outcomes.singles(*np.divmod(aims, self._n_values))
        chances = outcomes.success_rates(outcomes.index.vectors(nodes), singles)
        return aims, nodes, self._settings.need(chances)


def _can_occur(changes: IntArray, possible: BoolArray) -> BoolArray:
    """Return ``(n,)`` whether all values that changes ask for can occur."""
    values = np.maximum(changes, 0).astype(np.int64)
    occurs = np.take_along_axis(possible, values[:, :, None], axis=2)[:, :, 0]
    held: BoolArray = (occurs | (changes == FREE)).all(axis=1)
    return held
