"""Planner: one search per goal; afterwards every next hop is a look-up."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from gym_attrplan.attributes import GoalLike
from gym_attrplan.attributes.vectors import as_array
from gym_attrplan.error import InvalidAttributes, InvalidGraph
from gym_attrplan.graph.costs import checked_probs, cost_matrix, edge_costs
from gym_attrplan.graph.counts import TransitionCounts
from gym_attrplan.graph.edges import EdgeTable
from gym_attrplan.graph.estimators import ESTIMATORS, Estimator
from gym_attrplan.graph.goal_keys import GoalKey, goal_key, goal_keys, goal_of
from gym_attrplan.graph.memory import EpisodeMemory
from gym_attrplan.graph.plan import Plan
from gym_attrplan.graph.ragged import expand_rows, row_argmin

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]
FirstEdgeProbs: TypeAlias = Callable[[Places, Places, Places], npt.ArrayLike]

_CHUNK = 1 << 16  # nodes compared at a time with a start that was never seen


class _Tree(NamedTuple):
    """Shortest paths to one goal from every node: 12 bytes per node."""

    distances: FloatArray
    next_nodes: npt.NDArray[np.int32]


class Planner:
    """Plans over counts: the most probable path from any node to any goal.

    An edge of probability p costs ``-log p + step_cost``, so the path of lowest cost is the most
    probable and, of equally probable ones, the shortest. The first call for a goal runs one reverse
    Dijkstra from all nodes that meet it. Its result is cached, and later calls only look it
    up, until the counts change.

    Args:
        counts: The graph; the planner follows its changes.
        estimator: A name in :data:`~gym_attrplan.graph.ESTIMATORS` or a function from an
            :class:`~gym_attrplan.graph.EdgeTable` to ``(n_edges,)`` probabilities.
        step_cost: Cost of a hop beside its improbability, above 0.
        max_trees: Maximum number of goals to remember, at 12 bytes per node each; the least
            recently used is dropped, and searched again when it is needed.

    Raises:
        InvalidGraph: If the estimator is unknown, the step cost is not finite and above 0, or
            ``max_trees`` is below 1.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
        >>> counts.attempt([[0, 0], [1, 0]], [[1, 0], [1, 1]], [True, False])
        >>> planner = Planner(counts)
        >>> print(planner.plan([0, 0], "door").describe())
        2 hops, success 0.22
        from not key, not door
        1. key   0.67
        2. door  0.33
        >>> planner.next_hop(0, "door")
        1
        >>> planner.plan([1, 1], "not door") is None
        True
    """

    def __init__(
        self,
        counts: TransitionCounts,
        *,
        estimator: str | Estimator = "beta_mean",
        step_cost: float = 1e-3,
        max_trees: int = 256,
    ) -> None:
        if isinstance(estimator, str) and estimator not in ESTIMATORS:
            raise InvalidGraph(
                f"an estimator is a function or one of {list(ESTIMATORS)}; received {estimator!r}."
            )
        if not 0.0 < step_cost < np.inf:
            raise InvalidGraph(f"a step cost is finite and above 0; received {step_cost}.")
        if max_trees < 1:
            raise InvalidGraph(
                f"a planner keeps at least one tree; received max_trees={max_trees}."
            )
        self.counts = counts
        self.estimator = ESTIMATORS[estimator] if isinstance(estimator, str) else estimator
        self.step_cost = step_cost
        self.max_trees = max_trees
        self._trees: OrderedDict[GoalKey, _Tree] = OrderedDict()
        self._version: int | None = None  # of the counts from which the data below were made
        self._edges: EdgeTable
        self._probs: FloatArray

    # --- one question -----------------------------------------------------------------------

    def next_hop(self, node: int, goal: GoalLike) -> int:
        """Return the next node from ``node``, or -1 if the goal holds there or cannot be reached.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
            InvalidGraph: If the graph is empty or has no such node.
        """
        next_nodes = self._tree(self._key(goal)).next_nodes
        if not 0 <= node < len(next_nodes):
            self.counts.index.check_nodes(node)
        return next_nodes.item(node)

    def distances(self, goal: GoalLike) -> FloatArray:
        """Return ``(n_nodes,)`` cost of the path from each node to the goal, infinite if none."""
        view = self._tree(self._key(goal)).distances.view()
        view.flags.writeable = False
        return view

    def plan(
        self,
        start: int | npt.ArrayLike,
        goal: GoalLike,
        *,
        unknown_start: Literal["none", "nearest"] = "none",
    ) -> Plan | None:
        """Return the plan of lowest cost, or None if the goal cannot be reached.

        Args:
            start: A node's number, or an attribute vector.
            goal: The goal, in any form ``AttributeSpace.goal_set`` reads.
            unknown_start: What to do for an unknown vector: no plan (``"none"``), or the plan of
                the known node with the fewest different attributes that reaches the goal, and of
                several the closest to it (``"nearest"``; ``plan.vectors[0]`` is that node).

        Raises:
            InvalidGoal: If the goal does not belong to the space.
            InvalidGraph: If the graph is empty, has no such node, or ``unknown_start`` is invalid.
        """
        if unknown_start not in ("none", "nearest"):
            raise InvalidGraph(f"unknown_start is 'none' or 'nearest'; received {unknown_start!r}.")
        tree = self._tree(self._key(goal))
        node = self.find_start(start)
        if node < 0 and unknown_start == "nearest":
            node = self._nearest(np.asarray(start), tree)
        if node < 0 or tree.distances[node] == np.inf:
            return None
        path = [node]
        while (onward := tree.next_nodes.item(path[-1])) >= 0:
            path.append(onward)
        return self._plan_through(path)

    # --- many questions ---------------------------------------------------------------------

    def next_hops(
        self,
        nodes: npt.ArrayLike,
        goals: GoalLike | Sequence[GoalLike],
        *,
        first_edge_probs: FirstEdgeProbs | None = None,
        memory: EpisodeMemory | None = None,
        envs: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.int32]:
        """Return the next node for many environments, each with a goal of its own.

        Args:
            nodes: ``(n,)`` current nodes; -1, an unknown vector, has no next hop.
            goals: ``(n, n_attributes)`` with -1 for free, a list of n goals, or one goal for all.
            first_edge_probs: Called once with the environments, sources and targets ``(m,)`` of all
                edges out of the current nodes; returns ``(m,)`` probabilities that replace the
                estimator's, since the current states are more informative than averages. An edge
                without a success keeps the estimator's: a model trained on attempts can only guess
                there.
            memory: Extra costs within the running episodes.
            envs: ``(n,)`` the environment of each row, for the two above; ``0 … n-1`` by default.

        Returns:
            ``(n,)`` int32 node numbers; -1 where the goal already holds or cannot be reached.

        Raises:
            InvalidGoal: If a goal does not belong to the space.
            InvalidGraph: On an empty graph, an unknown node, or probabilities outside 0 … 1.
        """
        self._refresh()
        numbers = self.counts.index.check_nodes(nodes, lowest=-1)
        keys = goal_keys(self.counts.space, goals, len(numbers))
        if first_edge_probs is None and memory is None:
            hops = [
                self._tree(key).next_nodes.item(node) if node >= 0 else -1
                for key, node in zip(keys, numbers.tolist(), strict=True)
            ]
            return np.array(hops, np.int32)
        who = np.arange(len(numbers)) if envs is None else np.asarray(envs, np.int64)
        if who.shape != numbers.shape:
            raise InvalidGraph(f"one environment a row, {len(numbers)}; received {who.shape}.")
        return self._best_first_edges(numbers, keys, who, first_edge_probs, memory)

    def _best_first_edges(
        self,
        nodes: Places,
        keys: list[GoalKey],
        envs: Places,
        first_edge_probs: FirstEdgeProbs | None,
        memory: EpisodeMemory | None,
    ) -> npt.NDArray[np.int32]:
        """Return for each row the target of the edge with the lowest total cost to the goal."""
        hops = np.full(len(nodes), -1, np.int32)
        rows = np.flatnonzero(nodes >= 0)
        owner, places = expand_rows(self._edges.indptr, nodes[rows])
        owner = rows[owner]
        source, target = nodes[owner], self._edges.target[places].astype(np.int64)
        probs = self._probs[places]
        if first_edge_probs is not None and places.size:
            given = first_edge_probs(envs[owner], source, target)
            given = checked_probs(given, len(places), source="first_edge_probs")
            probs = np.where(self._edges.successes[places] > 0, given, probs)
        costs = edge_costs(probs, self.step_cost)
        if memory is not None:
            costs += memory.extra_cost(envs[owner], source, target)
        bounds = np.searchsorted(owner, np.arange(len(nodes) + 1)).tolist()
        for row, (key, first, last) in enumerate(zip(keys, bounds[:-1], bounds[1:], strict=True)):
            distances = self._tree(key).distances
            # A row whose goal already holds has no candidate.
            arrived = nodes[row] >= 0 and distances[nodes[row]] == 0.0
            costs[first:last] += np.inf if arrived else distances[target[first:last]]
        best, _ = row_argmin(costs, owner, len(nodes))
        hops[best >= 0] = target[best[best >= 0]]
        return hops

    # --- the planner's graph ----------------------------------------------------------------

    def edge_probs(self) -> FloatArray:
        """Return the estimator's ``(n_edges,)`` probabilities, ordered as ``counts.edges()``."""
        self._refresh()
        view = self._probs.view()
        view.flags.writeable = False
        return view

    def find_start(self, start: int | npt.ArrayLike) -> int:
        """Return the node of a start given by number or vector; -1 for an unknown vector."""
        if isinstance(start, int) and 0 <= start < self.counts.n_nodes:
            return start
        rule = "a start is a node's number or a vector"
        given = as_array(start, rule=rule, kind=InvalidAttributes)
        if given.ndim == 0:
            return int(self.counts.index.check_nodes(given)[0])
        return int(self.counts.index.find(given)[0])

    def plan_along(self, nodes: IntArray) -> Plan:
        """Return the plan through these nodes.

        Raises:
            InvalidGraph: If two successive nodes are not joined by an edge.
        """
        self._refresh()
        return self._plan_through(self.counts.index.check_nodes(nodes).tolist())

    def _plan_through(self, path: list[int]) -> Plan:
        places = [self._edges.position(*hop) for hop in pairwise(path)]
        if -1 in places:
            raise InvalidGraph(f"a plan follows edges; received nodes {path}.")
        probs = self._probs.take(places)
        return Plan(
            nodes=np.array(path),
            vectors=self.counts.index.vectors(path),
            edge_probs=probs,
            cost=float(edge_costs(probs, self.step_cost).sum()),
            space=self.counts.space,
        )

    def _refresh(self) -> None:
        """Estimate and transpose again if the counts have changed."""
        if self._version == self.counts.version:
            return
        if self.counts.n_nodes == 0:
            raise InvalidGraph("the graph is empty; record transitions before planning.")
        self._trees.clear()
        self._edges = self.counts.edges()
        probs = self.estimator(self._edges)
        self._probs = checked_probs(probs, len(self._edges), source="the estimator")
        self._reversed = cost_matrix(self._edges, self._probs, self.step_cost).T.tocsr()
        self._version = self.counts.version

    def _key(self, goal: GoalLike) -> GoalKey:
        return goal_key(self.counts.space, goal)

    def _tree(self, key: GoalKey) -> _Tree:
        self._refresh()
        tree = self._trees.get(key)
        if tree is None:
            tree = self._trees[key] = self._grow_tree(key)
            if len(self._trees) > self.max_trees:
                self._trees.popitem(last=False)
        else:
            self._trees.move_to_end(key)
        return tree

    def _grow_tree(self, key: GoalKey) -> _Tree:
        """Search backwards from every node that meets the goal: predecessors are next nodes."""
        ends = self.counts.index.matching(goal_of(self.counts.space, key))
        n_nodes = self.counts.n_nodes
        if ends.size == 0:
            return _Tree(np.full(n_nodes, np.inf), np.full(n_nodes, -1, np.int32))
        distances: FloatArray
        next_nodes: npt.NDArray[np.int32]
        if ends.size == 1:  # the simple search is a little faster
            distances, next_nodes = csgraph.dijkstra(
                self._reversed, indices=ends[0], return_predecessors=True
            )
        else:
            distances, next_nodes, _ = csgraph.dijkstra(
                self._reversed, indices=ends, min_only=True, return_predecessors=True
            )
        return _Tree(distances, np.maximum(next_nodes, -1, out=next_nodes))

    def _nearest(self, vector: IntArray, tree: _Tree) -> int:
        """Return the node that reaches the goal and differs least from ``vector``; -1 if none."""
        best = (np.inf, np.inf, -1)
        reaching = np.flatnonzero(tree.distances < np.inf)
        for first in range(0, len(reaching), _CHUNK):
            nodes = reaching[first : first + _CHUNK]
            different = (self.counts.index.vectors(nodes) != vector).sum(axis=1)
            closest = np.lexsort((tree.distances[nodes], different))[0]
            node = int(nodes[closest])
            best = min(best, (float(different[closest]), float(tree.distances[node]), node))
        return best[2]
