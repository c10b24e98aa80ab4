"""Lessons: changes that chance has shown to be possible and that hops do not make yet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.outcomes import HopOutcomes

Rows = npt.NDArray[np.int64]

N_LESSONS = 4
"""Lessons at a time: each is planned for."""

LEARNED = 0.5
"""A change that is made more often than this is no lesson."""

MAX_HOPS = 8
"""Hops on the way to a lesson, before it is given up."""

_N_LOOKED_AT = 2_000
_MAX_ROWS = 50_000


class Lessons:
    """Leads environments to where a change was once seen to follow, and has them ask for it there.

    What lies deep in a world is seldom come by, and a change that ends the episode is avoided by
    every other hop: without lessons neither is ever practised where it can be learned.

    Args:
        num_envs: Number of environments.
        counts: What was seen to follow from what.
        outcomes: What hops do.
        share: How often an environment that is free takes a lesson.
        rng: Draws.
    """

    def __init__(
        self,
        num_envs: int,
        counts: TransitionCounts,
        outcomes: HopOutcomes,
        *,
        share: float,
        rng: np.random.Generator,
    ) -> None:
        self._counts, self._outcomes = counts, outcomes
        self._share = share
        self._rng = rng
        self._planner = ChangePlanner(outcomes, follows=False)
        self._bound_for = np.full(num_envs, -1)
        self._n_hops = np.zeros(num_envs, np.int64)
        self.places = np.zeros((0, len(counts.space)), counts.space.dtype)
        self.changes = self.places

    def choose(self) -> None:
        """Look for other lessons, and for the ways to them as hops go now."""
        self._bound_for[:] = -1
        self.places = self.changes = np.zeros(
            (0, len(self._counts.space)), self._counts.space.dtype
        )
        if len(self._outcomes) > _MAX_ROWS:
            return  # planning would take longer than practice
        edges = self._counts.edges()
        seen = self._rng.permutation(np.flatnonzero(edges.visits > 0))[:_N_LOOKED_AT]
        before = self._counts.index.vectors(edges.source[seen])
        after = self._counts.index.vectors(edges.target[seen])
        # The largest of random numbers, where something changed, is any of them.
        luck = np.where(before != after, self._rng.random(before.shape), -1.0)
        columns, rows = luck.argmax(axis=1), np.arange(len(seen))
        changes = np.full_like(before, FREE)
        changes[rows, columns] = after[rows, columns]
        hard = np.flatnonzero(self._outcomes.success_rates(before, changes) < LEARNED)[:N_LESSONS]
        self.places, self.changes = before[hard], changes[hard]
        self._planner.catch_up()

    def ask(self, rows: Rows, here: IntArray) -> IntArray:
        """``(n, n_attributes)`` what environments should ask for; all free for those without one.

        Args:
            rows: ``(n,)`` which environments.
            here: ``(n, n_attributes)`` their descriptions.
        """
        asked = np.full_like(here, FREE)
        if not len(self.places):
            return asked
        begins = (self._bound_for[rows] < 0) & (self._rng.random(len(rows)) < self._share)
        drawn = self._rng.integers(len(self.places), size=len(rows))
        self._bound_for[rows[begins]] = drawn[begins]
        self._n_hops[rows[begins]] = 0
        going = np.flatnonzero(self._bound_for[rows] >= 0)
        lesson = self._bound_for[rows[going]]
        there = (here[going] == self.places[lesson]).all(axis=1)
        asked[going[there]] = self.changes[lesson[there]]
        self._bound_for[rows[going[there]]] = -1
        going, lesson = going[~there], lesson[~there]
        if len(going):
            numbers = self._planner.next_changes(here[going], self.places[lesson])
            self._n_hops[rows[going]] += 1
            stuck = (numbers < 0) | (self._n_hops[rows[going]] > MAX_HOPS)
            self._bound_for[rows[going[stuck]]] = -1
            asked[going[~stuck]] = self._outcomes.changes(numbers[~stuck])
        return asked
