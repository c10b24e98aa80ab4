"""What can be reached: how far everything is, and what comes closest to a goal that cannot be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph, csr_array

from gym_attrplan.agent.members import nearest_member
from gym_attrplan.attributes import FREE, GoalSet
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import Planner
from gym_attrplan.graph.nearest import nearest_reachable


def out_of_reach(planner: Planner, here: IntArray, goal: GoalSet) -> str:
    """Why no plan leads from a description to a goal: the nearest one that can be reached.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> from gym_attrplan.graph import TransitionCounts
        >>> space = AttributeSpace(["key", "door"])
        >>> counts = TransitionCounts(space)
        >>> _ = counts.record([0, 0], [1, 0])
        >>> print(out_of_reach(Planner(counts), np.array([0, 0]), space.goal_set("key, door")))
        No plan: no description that meets the goal was ever seen. The nearest description that can
        be reached is 'key, not door'; what differs is 'door'.
    """
    counts, space = planner.counts, planner.counts.space
    node = int(counts.index.find(here)[0]) if counts.n_nodes else -1
    if node < 0:
        return "No plan: the description here was never seen in training. Train longer."
    was_seen = len(counts.index.matching(goal)) > 0
    why = "no way to the goal is known from here"
    if not was_seen:
        why = "no description that meets the goal was ever seen"
    nearest = counts.index.vectors([nearest_reachable(planner, node, goal)])[0]
    wanted = nearest_member(goal, nearest)
    differs = space.describe(np.where(wanted == nearest, FREE, wanted))
    place = "the one here" if (nearest == here).all() else repr(space.describe(nearest))
    return (
        f"No plan: {why}. The nearest description that can be reached is {place}; "
        f"what differs is {differs!r}."
    )


def hops_from(planner: Planner, node: int) -> npt.NDArray[np.float64]:
    """``(n_nodes,)`` the fewest hops from a node to each other one; infinite without a way."""
    edges, possible = planner.counts.edges(), planner.edge_probs() > 0
    n_nodes = planner.counts.n_nodes
    ends = edges.source[possible], edges.target[possible]
    ways = csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    hops: npt.NDArray[np.float64] = csgraph.dijkstra(ways, indices=[node], unweighted=True)[0]
    return hops
