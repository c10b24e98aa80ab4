"""ChangePlanner: chooses the next change, from the recorded outcomes of hops."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csgraph, csr_array

from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.dependence import EVERYTHING, Grouping
from gym_attrplan.graph.goal_keys import GoalKey, goal_key, goal_of
from gym_attrplan.graph.outcomes import HopOutcomes, OutcomeTable
from gym_attrplan.graph.plan import Plan
from gym_attrplan.graph.ragged import expand_rows, first_of_each, row_argmin

FloatArray: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]
PairProbs: TypeAlias = Callable[[Places, Places], FloatArray]

_CLOSE = 1e-6
_MAX_SWEEPS = 1_000
_MAX_TICKS = 200
_NEVER = 1e-12
"""Minimum value of a description from which a plan to the goal is known."""


class Values(NamedTuple):
    """Values for one goal.

    Attributes:
        nodes: ``(n_nodes,)`` discounted probability to reach the goal from each description.
        made: ``(n_rows,)`` mean value of the outcomes of hops that make their change.
        missed: ``(n_rows,)`` mean value of the outcomes of hops that do not.
    """

    nodes: FloatArray
    made: FloatArray
    missed: FloatArray


class ChangePlanner:
    """Plans over outcomes: the best next change towards any goal, from any description.

    The value of a description is ``max over changes of discount ** n_steps * sum of P(end)
    value(end)``, 1 where the goal holds, and 0 where an episode ended without it. If a hop has
    several outcomes, their expectation counts. So a key that lies in any of seven rooms is not
    seven improbable edges, and a failed hop that can be retried costs time only. The search begins
    with one reverse Dijkstra along changes made, which gives a lower bound, and then iterates
    expectations until they converge.

    Args:
        outcomes: The outcomes of hops; the planner follows its changes.
        discount: Factor on the value of a goal per step.
        doubt: Number of failures added to every row, so that one lucky attempt is not certain.
        max_goals: Maximum number of goals to remember; the least recently used is dropped.
        grouping: Groups of attempts that count together; by default each description counts its
            own.

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
        grouping: Grouping = EVERYTHING,
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
        self.grouping = grouping
        self._known: OrderedDict[GoalKey, Values] = OrderedDict()
        self._version = -1

    # --- questions --------------------------------------------------------------------------

    def values(self, goal: GoalLike) -> Values:
        """Return the values of all descriptions and rows for a goal.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        self._follow()
        key = goal_key(self.outcomes.space, goal)
        if key not in self._known:
            wanted = goal_of(self.outcomes.space, key)
            self._known[key] = self._solve(self._matching(wanted))
            if len(self._known) > self.max_goals:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    def next_changes(
        self,
        descriptions: npt.ArrayLike,
        goals: list[Any] | npt.NDArray[Any],
        *,
        faith: PairProbs | None = None,
    ) -> Places:
        """Return the number of the next change for each environment.

        Args:
            descriptions: ``(n, n_attributes)``.
            goals: n goals, in any form ``AttributeSpace.goal_set`` reads.
            faith: ``(m,)`` environments and ``(m,)`` changes → factors on the changes'
                probabilities, below 1 for one that has failed in the environment's episode.

        Returns:
            ``(n,)`` change numbers, -1 if there is no plan to the goal or it already holds.
        """
        self._follow()
        nodes = self.outcomes.index.find(descriptions).astype(np.int64)
        chosen = np.full(len(nodes), -1)
        known = np.flatnonzero((nodes >= 0) & (nodes < self._n_nodes))
        owner, places = expand_rows(self._first_row, nodes[known])
        rows = self._by_node[places]
        envs, changes = known[owner], self._table.change[rows]
        trust = self._made[rows]
        if faith is not None:
            trust = trust * faith(envs, changes)
        worth = np.zeros(len(rows))
        bounds = np.searchsorted(owner, np.arange(len(known) + 1))
        for k, i in enumerate(known):
            mine = slice(bounds[k], bounds[k + 1])
            worth[mine] = self._worth(rows[mine], self.values(goals[i]), trust[mine])
        best, _ = row_argmin(np.where(worth > _NEVER, -worth, np.inf), owner, len(known))
        found = best >= 0
        chosen[known[found]] = self._table.change[rows[best[found]]]
        return chosen

    def ways_to(self, places: Places) -> tuple[Places, npt.NDArray[np.bool_]]:
        """Return how to get to any of some descriptions, from every description.

        Args:
            places: ``(k,)`` their numbers.

        Returns:
            ``(n_nodes,)`` the number of the next change, -1 if there is no way or it is not needed,
            and ``(n_nodes,)`` whether the description is one of them.
        """
        self._follow()
        worth = self._worth(np.arange(len(self._table.node)), self._solve(places))[self._by_node]
        owner = self._table.node[self._by_node]
        best, _ = row_argmin(np.where(worth > _NEVER, -worth, np.inf), owner, self._n_nodes)
        there = np.zeros(self._n_nodes, np.bool_)
        there[places] = True
        found = (best >= 0) & ~there
        chosen = np.full(self._n_nodes, -1)
        chosen[found] = self._table.change[self._by_node[best[found]]]
        return chosen, there

    def plan(
        self,
        description: npt.ArrayLike,
        goal: GoalLike,
        *,
        first: int | None = None,
        n_steps: int | None = None,
    ) -> Plan | None:
        """Return the plan to a goal, change by change; None if there is none.

        Each hop ends in its most frequent outcome that leads nearer to the goal. The plan's chance
        is the probability of reaching the goal by any outcomes: a failed hop may be retried, and a
        hop with another outcome continues from there.

        Args:
            description: The start.
            goal: The goal, in any form ``AttributeSpace.goal_set`` reads.
            first: The number of the first change; by default the best one.
            n_steps: Number of steps available; None for no limit.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        values = self.values(goal)
        node = int(self.outcomes.index.find(description)[0])
        if not 0 <= node < self._n_nodes or values.nodes[node] <= _NEVER:
            return None
        every = np.arange(len(self._table.node))
        worth = self._worth(every, values)
        goal_nodes = self._matching(goal)
        nodes, rows = [node], list[int]()
        full = self._with_ends(values.nodes, goal_nodes)
        while values.nodes[node] < 1.0:
            mine = self._by_node[self._first_row[node] : self._first_row[node + 1]]
            if first is not None and not rows:
                mine = mine[self._table.change[mine] == first]
            if not len(mine):
                return None  # it was never attempted here
            rows.append(int(mine[worth[mine].argmax()]))
            node = self._likely_end(rows[-1], full, better_than=values.nodes[node])
            if node < 0:  # its value is below the rounding error
                return None
            nodes.append(node)
        return Plan(
            nodes=np.array(nodes),
            vectors=self.outcomes.index.vectors(nodes),
            edge_probs=self._made[rows],
            cost=float(-np.log(values.nodes[nodes[0]])),
            space=self.outcomes.space,
            changes=self.outcomes.changes(self._table.change[rows]),
            chance=self._chance(worth, goal_nodes, rows[0], n_steps) if rows else 1.0,
        )

    # --- the search -------------------------------------------------------------------------

    def _worth(self, rows: Places, values: Values, made: FloatArray | None = None) -> FloatArray:
        """Return ``(n,)`` values of attempting the rows' changes, made with these probabilities.

        A change that leads nowhere when it is made is worth nothing, even if hops that missed it
        came nearer to the goal: nobody asks for a fourth barracks because the third is built first.
        """
        made = self._made[rows] if made is None else made
        missed = np.minimum(self._missed[rows], 1.0 - made) * values.missed[rows]
        missed[values.made[rows] <= 0.0] = 0.0
        worth: FloatArray = self._faded[rows] * (made * values.made[rows] + missed)
        return worth

    def _solve(self, goal_nodes: Places) -> Values:
        values = np.zeros(2 * self._n_nodes)
        if len(goal_nodes):
            goals = np.concatenate([goal_nodes, self._n_nodes + goal_nodes])
            values = np.exp(-csgraph.dijkstra(self._reverse, indices=goals, min_only=True))
        every = np.arange(len(self._table.node))
        tried = self._table.node[self._by_node[self._starts]] if len(every) else every
        for _ in range(_MAX_SWEEPS if len(every) else 0):
            worth = self._worth(every, self._means(values))
            best = np.maximum.reduceat(worth[self._by_node], self._starts)
            better = np.maximum(values[tried], best)
            change = float(np.max(better - values[tried], initial=0.0))
            values[tried] = better
            if change < _CLOSE:
                break
        return self._means(values)

    def _chance(
        self, worth: FloatArray, goal_nodes: Places, first: int, n_steps: int | None
    ) -> float:
        """Return the probability of the goal if the best change is always chosen after ``first``.

        Missing data of a row are filled in by the change's results elsewhere. A hop without a
        recorded failure is assumed to stay where it is when it fails. Its length is modelled as
        geometric with the recorded mean: that some hops take longer matters if time is
        short.
        """
        chances = self._with_ends(np.zeros(self._n_nodes), goal_nodes)
        chances[goal_nodes] = 1.0
        owner = self._table.node[self._by_node]
        best, _ = row_argmin(-worth[self._by_node], owner, self._n_nodes)
        asking = np.setdiff1d(np.flatnonzero(best >= 0), goal_nodes)
        rows = self._by_node[best[asking]]
        rows[self._table.node[rows] == self._table.node[first]] = first
        made, missed = self._made_ends[rows], self._missed_ends[rows]
        likely, unharmed = self._table.probs[rows], self._missed[rows] == 0
        n_ticks = _MAX_SWEEPS if n_steps is None else min(n_steps, _MAX_TICKS)
        share = np.ones(len(rows))
        if n_steps is not None:
            share = np.minimum(n_steps / n_ticks / self._table.n_steps[rows], 1.0)
        for _ in range(n_ticks):
            failed = np.where(unharmed, chances[asking], missed @ chances)
            after = likely * (made @ chances) + (1.0 - likely) * failed
            gain = share * (after - chances[asking])
            chances[asking] += gain
            if float(np.abs(gain).max(initial=0.0)) < _CLOSE:
                break
        return float(chances[self._table.node[first]])

    def _likely_end(self, row: int, values: FloatArray, *, better_than: float) -> int:
        """Return the most frequent outcome of a row that is nearer to the goal; -1 if none is."""
        own = np.flatnonzero(self._table.end_row == row)
        nearer = own[values[self._places[own]] > better_than]
        if not len(nearer):
            return -1
        return int(self._table.end_node[nearer[self._table.end_count[nearer].argmax()]])

    def _with_ends(self, nodes: FloatArray, goal_nodes: Places) -> FloatArray:
        """Return ``(2 n_nodes,)`` values of descriptions, and of those at an episode's end."""
        ended = np.zeros(len(nodes))
        ended[goal_nodes] = 1.0
        return np.concatenate([nodes, ended])

    def _means(self, values: FloatArray) -> Values:
        nodes = values[: self._n_nodes]
        return Values(nodes, self._made_ends @ values, self._missed_ends @ values)

    def _matching(self, goal: GoalLike) -> Places:
        nodes = self.outcomes.index.matching(goal).astype(np.int64)
        return nodes[nodes < self._n_nodes]

    def _follow(self) -> None:
        """Rebuild the search's data if the outcomes have changed."""
        if self._version == self.outcomes.version:
            return
        self._version = self.outcomes.version
        self._known.clear()
        self._table = table = self.grouping.expected(self.outcomes)
        self._n_nodes = len(self.outcomes.index)
        self._places = table.end_node + self._n_nodes * table.end_over
        total = table.attempts + self.doubt
        self._made = table.successes / total
        self._missed = (table.attempts - table.successes) / total
        self._faded = self.discount**table.n_steps
        self._made_ends = self._end_matrix(table, table.successes, made=True)
        self._missed_ends = self._end_matrix(table, table.attempts - table.successes, made=False)
        self._by_node = np.argsort(table.node, kind="stable")
        counts = np.bincount(table.node, minlength=self._n_nodes)
        self._first_row = np.concatenate([[0], np.cumsum(counts)])
        self._starts = self._first_row[:-1][counts > 0]
        self._reverse = self._edges(table, total)

    def _end_matrix(self, table: OutcomeTable, totals: FloatArray, *, made: bool) -> csr_array:
        """Return ``(n_rows, 2 n_nodes)`` shares of outcomes of successful or failed hops."""
        kept = table.end_made == made
        rows, places = table.end_row[kept], self._places[kept]
        shares = table.end_count[kept] / np.maximum(totals[rows], _NEVER)
        shape = (len(table.node), 2 * self._n_nodes)
        return coo_array((shares, (rows, places)), shape=shape).tocsr()

    def _edges(self, table: OutcomeTable, total: FloatArray) -> csr_array:
        """Return reversed outcomes of changes made, with the lowest cost of parallel ones."""
        kept = table.end_made & (self._places != table.node[table.end_row])
        rows = table.end_row[kept]
        source, target = table.node[rows], self._places[kept]
        chance = np.minimum(self._faded[rows] * table.end_count[kept] / total[rows], 1.0)
        costs = -np.log(np.maximum(chance, _NEVER))
        order = np.lexsort([costs, target, source])
        source, target, costs = source[order], target[order], costs[order]
        first = first_of_each(source, target)
        shape = (2 * self._n_nodes,) * 2
        edges = coo_array((costs[first], (target[first], source[first])), shape=shape)
        return edges.tocsr()
