"""What to head for when a goal cannot be reached: the reachable node that meets most of it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csgraph, csr_array

from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.graph.planner import Planner


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
    wanted = planner.counts.space.goal(goal)
    edges, possible = planner.counts.edges(), planner.edge_probs() > 0
    ends = edges.source[possible], edges.target[possible]
    shape = (planner.counts.n_nodes, planner.counts.n_nodes)
    ways = csr_array((np.ones(len(ends[0])), ends), shape=shape)
    reached = csgraph.breadth_first_order(ways, node, return_predecessors=False)
    vectors = planner.counts.index.vectors(reached)
    n_missed = ((vectors != wanted) & (wanted != FREE)).sum(axis=1)
    return int(reached[np.argmin(n_missed)])
