"""Choice of targets: the best neighbours, or the nearest match of an unreachable goal."""

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
    """Return the node reachable from ``node`` (or itself) that misses the fewest goal attributes.

    Of equally good ones it is the one with the fewest hops.

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
    """Return the neighbours with the lowest costs of plans to the goals, the best first.

    Args:
        planner: Gives the costs of plans.
        nodes: ``(n,)`` current nodes; -1, an unknown vector, has no neighbours.
        goals: ``(n, n_attributes)``; -1 is free.
        n_best: Maximum number of neighbours.

    Returns:
        ``(n, n_best)`` node numbers and the costs of the plans from there; -1 and infinite if
        there are fewer neighbours with a plan.

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
