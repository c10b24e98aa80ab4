"""Ways: plans through descriptions that may never have been seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.members import nearest_members
from gym_attrplan.attributes import GoalSet
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import Plan
from gym_attrplan.graph.hop_search import HopSearch, Way

Failures = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]

MAX_KNOWN = 100_000
"""Maximum number of remembered next hops; when it is exceeded, all are forgotten."""


class Ways:
    """Searches plans to goals, and remembers them hop by hop.

    Args:
        search: The search algorithm.
    """

    def __init__(self, search: HopSearch) -> None:
        self.search = search
        self._known: dict[tuple[bytes, bytes], int] = {}
        self._lost: set[tuple[bytes, bytes]] = set()
        self._version = -1

    def next_kind(self, description: IntArray, goal: IntArray, failures: Failures) -> int:
        """Return the kind of hop to attempt next; -1 if none leads nearer to the goal.

        Args:
            description: The start.
            goal: The goal.
            failures: ``(n,)`` kinds → number of failures here in this episode. Each failure doubles
                the cost of such a hop as the first one.
        """
        self._forget_if_changed()
        place = goal.tobytes(), description.tobytes()
        kind = self._known.get(place, -1)
        kinds = np.arange(len(self.search.model))
        failed = failures(kinds)
        if kind >= 0 and not failed[kind]:
            return kind
        if place in self._lost:
            return -1
        way = self._cheapest(description, goal, failed)
        if way is None or not len(way.kinds):
            self._lost.add(place)
            return -1
        self._remember(description, goal, way, but_first=bool(failed.any()))
        return int(way.kinds[0])

    def _cheapest(
        self, description: IntArray, goal: IntArray, failed: npt.NDArray[np.float64]
    ) -> Way | None:
        """Return the way with the lowest cost, with the first hop's failures taken into account."""
        way = self.search.find(description, goal)
        if way is None or not len(way.kinds) or not failed[way.kinds[0]]:
            return way
        costs = self.search.costs

        def cost(one: Way) -> float:
            first = one.kinds[0]
            return float(costs[one.kinds].sum() + costs[first] * (2.0 ** failed[first] - 1.0))

        for most in np.unique(failed[failed < failed[way.kinds[0]]]).tolist():
            other = self.search.find(description, goal, banned=np.flatnonzero(failed > most))
            if other is not None and other.reached >= way.reached:
                return min(way, other, key=cost)
        return way

    def plan(self, description: IntArray, goal: IntArray) -> Plan | None:
        """Return the way to a goal as a plan; None if none was found."""
        way = self.search.find(description, goal)
        if way is None or not way.reached:
            return None
        self._forget_if_changed()
        self._remember(description, goal, way)
        model = self.search.model
        vectors = self._vectors(description, way)
        kinds = way.kinds
        asked = model.changes(vectors[:-1], kinds) if len(kinds) else np.zeros((0, len(goal)), int)
        return Plan(
            nodes=np.full(len(vectors), -1),
            vectors=vectors,
            edge_probs=model.probs[kinds],
            cost=float(-np.log(model.probs[kinds]).sum()),
            space=model.space,
            changes=asked,
        )

    def plan_to_any(self, description: IntArray, goals: GoalSet) -> Plan | None:
        """Return the lowest-cost plan to the nearest member of any alternative, or None."""
        nearest = nearest_members(goals, np.asarray(description))
        plans = [plan for goal in nearest if (plan := self.plan(description, goal)) is not None]
        return min(plans, key=lambda plan: plan.cost, default=None)

    def _vectors(self, description: IntArray, way: Way) -> IntArray:
        """Return ``(n_hops + 1, n_attributes)`` descriptions on a way."""
        model = self.search.model
        vectors = [np.asarray(description, model.space.dtype)]
        for kind in way.kinds:
            change = model.changes(vectors[-1][None], [kind])[0]
            vectors.append(np.where(change == FREE, vectors[-1], change))
        return np.stack(vectors)

    def _remember(
        self, description: IntArray, goal: IntArray, way: Way, *, but_first: bool = False
    ) -> None:
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        hops = zip(self._vectors(description, way)[:-1], way.kinds.tolist(), strict=True)
        for i, (here, kind) in enumerate(hops):
            if i or not but_first:
                self._known[goal.tobytes(), here.tobytes()] = kind

    def _forget_if_changed(self) -> None:
        if self._version != self.search.model.version:
            self._version = self.search.model.version
            self._known.clear()
            self._lost.clear()
