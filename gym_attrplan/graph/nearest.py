"""What to head for: the best neighbours, or where a goal is out of reach what meets most of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph, csr_array

from gym_attrplan.attributes import GoalLike
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph.costs import edge_costs
from gym_attrplan.graph.planner import Planner
from gym_attrplan.graph.ragged import expand_rows


def nearest_reachable(planner: Planner, node: int, goal: GoalLike) -> int:
    """Of the nodes reachable from ``node`` (itself included) the one that misses least of a goal.

    Of equally good ones it is the one fewest hops away.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> from gym_attrplan.graph import TransitionCounts
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [0, 1]], [[1, 0], [1, 1]])
        >>> nearest_reachable(Planner(counts), 0, "key, door")  # 'key' is as close as it gets
        1
    """
    (node,) = planner.counts.index.check_nodes(node).tolist()
    wanted = planner.counts.space.goal_set(goal)
    edges, possible = planner.counts.edges(), planner.edge_probs() > 0
    ends = edges.source[possible], edges.target[possible]
    shape = (planner.counts.n_nodes, planner.counts.n_nodes)
    ways = csr_array((np.ones(len(ends[0])), ends), shape=shape)
    reached = csgraph.breadth_first_order(ways, node, return_predecessors=False)
    vectors = planner.counts.index.vectors(reached)
    return int(reached[np.argmin(wanted.n_missed(vectors))])


def best_neighbours(
    planner: Planner, nodes: npt.NDArray[np.int64], goals: IntArray, n_best: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The neighbours through which the ways to the goals are cheapest, the best one first.

    Args:
        planner: Knows the ways.
        nodes: ``(n,)`` current nodes; -1, a vector never seen, has no neighbours.
        goals: ``(n, n_attributes)``; -1 is free.
        n_best: How many at most.

    Returns:
        ``(n, n_best)`` node numbers and what the ways on from there cost; -1 and infinite where
        there are fewer neighbours that lead on.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> from gym_attrplan.graph import TransitionCounts
        >>> counts = TransitionCounts(AttributeSpace({"floor": 4}))
        >>> _ = counts.record([[0], [0], [1], [2], [1]], [[1], [2], [3], [1], [0]])
        >>> start, goal = np.array([0]), np.array([[3]], np.int8)
        >>> found, costs = best_neighbours(Planner(counts), start, goal, 3)
        >>> found, costs.round(2)
        (array([[ 1,  2, -1]]), array([[0.69, 1.39,  inf]]))
    """
    edges, probs = planner.counts.edges(), planner.edge_probs()
    known = np.flatnonzero(nodes >= 0)
    owner, places = expand_rows(edges.indptr, nodes[known])
    owner, target = known[owner], edges.target[places].astype(np.int64)
    onward = np.empty(len(target))
    first, last = (np.searchsorted(owner, known, side=side) for side in ("left", "right"))
    for row, i, j in zip(known, first, last, strict=True):
        onward[i:j] = planner.distances(goals[row])[target[i:j]]
    costs = edge_costs(probs[places], planner.step_cost) + onward
    order = np.lexsort((costs, owner))
    order = order[costs[order] < np.inf]
    rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
    order, rank = order[rank < n_best], rank[rank < n_best]
    best, distances = np.full((len(nodes), n_best), -1), np.full((len(nodes), n_best), np.inf)
    best[owner[order], rank], distances[owner[order], rank] = target[order], onward[order]
    return best, distances
