"""ChangePlanner: which change to ask for next, by where hops were seen to end."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csgraph, csr_array

from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.outcomes import HopOutcomes, OutcomeTable
from gym_attrplan.graph.ragged import expand_rows, row_argmin

FloatArray: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]

_CLOSE = 1e-6
_MAX_SWEEPS = 1_000
_NEVER = 1e-12
"""A value below this is none: no way to the goal is known."""


class Values(NamedTuple):
    """What leads to one goal.

    Attributes:
        nodes: ``(n_nodes,)`` the chance to get from each description to the goal, less for every
            step on the way.
        made: ``(n_rows,)`` the mean value of where a hop ends that makes its change.
        missed: ``(n_rows,)`` the same for hops that do not, 0 where an episode ended.
    """

    nodes: FloatArray
    made: FloatArray
    missed: FloatArray


class ChangePlanner:
    """Plans over outcomes: the best next change towards any goal, from any description.

    A description is worth ``max over changes of discount ** n_steps * sum of P(end) value(end)``,
    and 1 where the goal holds. Where a hop has several ends, their expectation counts: a key that
    lies in any of seven rooms is not seven unlikely edges; a hop that fails and can be tried again
    costs time, not everything. The search begins with one reverse Dijkstra along single ends,
    which is a lower bound, and then takes expectations until nothing changes.

    Args:
        outcomes: What hops did; the planner follows its changes.
        discount: What a goal is worth that is a step further away.
        doubt: Failures added to every row, so that one lucky attempt is not taken for certainty.
        max_goals: Goals to remember; the least recently used goes first.

    Raises:
        InvalidGraph: If an option is out of range.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> outcomes = HopOutcomes(AttributeSpace(["key", "door"]))
        >>> outcomes.record([[0, 0], [1, 0]] * 9, [[1, -1], [-1, 1]] * 9, [[1, 0], [1, 1]] * 9,
        ...                 made=True, n_steps=5)
        >>> planner = ChangePlanner(outcomes)
        >>> change = planner.next_changes([[0, 0]], ["door"])
        >>> outcomes.space.describe(outcomes.changes(change)[0])
        'key'
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        *,
        discount: float = 0.99,
        doubt: float = 1.0,
        max_goals: int = 256,
    ) -> None:
        if not 0.0 < discount < 1.0:
            raise InvalidGraph(f"a discount is between 0 and 1; received {discount}.")
        if not 0.0 <= doubt < np.inf:
            raise InvalidGraph(f"doubt is finite and at least 0; received {doubt}.")
        if max_goals < 1:
            raise InvalidGraph(f"a planner keeps at least one goal; received {max_goals}.")
        self.outcomes = outcomes
        self.discount = discount
        self.doubt = doubt
        self.max_goals = max_goals
        self._known: OrderedDict[bytes, Values] = OrderedDict()
        self._version: int | None = None

    # --- questions --------------------------------------------------------------------------

    def values(self, goal: GoalLike) -> Values:
        """What each description and row is worth for a goal.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        self._follow()
        wanted = self.outcomes.space.goal(goal)
        key = wanted.tobytes()
        if key not in self._known:
            self._known[key] = self._solve(self.outcomes.index.matching(wanted))
            if len(self._known) > self.max_goals:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def next_changes(
        self,
        descriptions: npt.ArrayLike,
        goals: list[Any] | npt.NDArray[Any],
        *,
        faith: FloatArray | None = None,
    ) -> Places:
        """The number of the change to ask for next in each environment.

        Args:
            descriptions: ``(n, n_attributes)``.
            goals: n goals, in any form.
            faith: ``(n, n_changes)`` factors on the changes' probabilities, below 1 for one that
                has failed in this episode.

        Returns:
            ``(n,)`` change numbers, -1 where no way to the goal is known or it holds already.
        """
        self._follow()
        nodes = self.outcomes.index.find(descriptions).astype(np.int64)
        chosen = np.full(len(nodes), -1)
        known = np.flatnonzero(nodes >= 0)
        owner, places = expand_rows(self._first_row, nodes[known])
        rows = self._by_node[places]
        values = [self.values(goals[i]) for i in known]
        worth = np.zeros(len(rows))
        for k, i in enumerate(known):
            mine = owner == k
            trust = 1.0 if faith is None else faith[i, self._table.change[rows[mine]]]
            worth[mine] = self._worth(rows[mine], values[k], trust)
        best, _ = row_argmin(np.where(worth > _NEVER, -worth, np.inf), owner, len(known))
        found = best >= 0
        chosen[known[found]] = self._table.change[rows[best[found]]]
        return chosen

    # --- the search -------------------------------------------------------------------------

    def _worth(self, rows: Places, values: Values, trust: Any = 1.0) -> FloatArray:
        """``(n,)`` what asking for the rows' changes is worth."""
        made = self._made[rows] * trust
        missed = self._missed[rows] * values.missed[rows]
        worth: FloatArray = self._faded[rows] * (made * values.made[rows] + missed)
        return worth

    def _solve(self, goal_nodes: Places) -> Values:
        n_nodes = len(self.outcomes.index)
        values = np.zeros(n_nodes)
        if len(goal_nodes):
            values = np.exp(-csgraph.dijkstra(self._reverse, indices=goal_nodes, min_only=True))
        every = np.arange(len(self._table.node))
        tried = self._table.node[self._by_node[self._starts]] if len(every) else every
        for _ in range(_MAX_SWEEPS if len(every) else 0):
            worth = self._worth(every, self._ends(values))
            best = np.maximum.reduceat(worth[self._by_node], self._starts)
            better = np.maximum(values[tried], best)
            change = float(np.max(better - values[tried], initial=0.0))
            values[tried] = better
            if change < _CLOSE:
                break
        return self._ends(values)

    def _ends(self, values: FloatArray) -> Values:
        return Values(values, self._made_ends @ values, self._missed_ends @ values)

    def _follow(self) -> None:
        """Rebuild what the search needs, if the outcomes have changed."""
        if self._version == self.outcomes.version:
            return
        self._version = self.outcomes.version
        self._known.clear()
        self._table = table = self.outcomes.table()
        total = table.attempts + self.doubt
        self._made = table.successes / total
        self._missed = (table.attempts - table.successes) / total
        self._faded = self.discount**table.n_steps
        self._made_ends = self._end_matrix(table, table.successes, made=True)
        self._missed_ends = self._end_matrix(table, table.attempts - table.successes, made=False)
        self._by_node = np.argsort(table.node, kind="stable")
        counts = np.bincount(table.node, minlength=len(self.outcomes.index))
        self._first_row = np.concatenate([[0], np.cumsum(counts)])
        self._starts = self._first_row[:-1][counts > 0]
        self._reverse = self._edges(table, total)

    def _end_matrix(self, table: OutcomeTable, totals: FloatArray, *, made: bool) -> csr_array:
        """``(n_rows, n_nodes)`` shares of the ends of hops that made their change, or did not."""
        kept = (table.end_made == made) & (table.end_node >= 0)
        rows, nodes = table.end_row[kept], table.end_node[kept]
        shares = table.end_count[kept] / np.maximum(totals[rows], _NEVER)
        shape = (len(table.node), len(self.outcomes.index))
        return coo_array((shares, (rows, nodes)), shape=shape).tocsr()

    def _edges(self, table: OutcomeTable, total: FloatArray) -> csr_array:
        """Reversed single ends with their costs, of parallel ones the cheapest."""
        kept = (table.end_node >= 0) & (table.end_node != table.node[table.end_row])
        rows = table.end_row[kept]
        source, target = table.node[rows], table.end_node[kept]
        chance = np.minimum(self._faded[rows] * table.end_count[kept] / total[rows], 1.0)
        costs = -np.log(np.maximum(chance, _NEVER))
        order = np.lexsort([costs, target, source])
        source, target, costs = source[order], target[order], costs[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (np.diff(source) != 0) | (np.diff(target) != 0)
        n_nodes = len(self.outcomes.index)
        edges = coo_array((costs[first], (target[first], source[first])), shape=(n_nodes, n_nodes))
        return edges.tocsr()
