"""explain: explanation of a plan, or of why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.costs import cost_matrix, edge_costs
from gym_attrplan.graph.plan import Plan, describe_change
from gym_attrplan.graph.planner import Planner

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class EdgeReport:
    """Figures of one edge.

    Args:
        source: The source node.
        target: The target node.
        change: Its change, in attribute words.
        prob: The planner's probability.
        visits: How often exploration saw it.
        attempts: How often the policy tried it.
        successes: How often the attempt succeeded.
        std: Standard deviation of the Beta(1, 1) posterior: how uncertain the probability is.

    Example:
        >>> edge = EdgeReport(0, 1, "key", 0.5, visits=3, attempts=0, successes=0, std=0.289)
        >>> edge.describe()
        'key: 0.50 ± 0.29, 0 of 0 attempts, seen 3 times'
    """

    source: int
    target: int
    change: str
    prob: float
    visits: float
    attempts: float
    successes: float
    std: float

    def describe(self) -> str:
        """Return the figures as one line of text."""
        return (
            f"{self.change}: {self.prob:.2f} ± {self.std:.2f}, {self.successes:g} of "
            f"{self.attempts:g} attempts, seen {self.visits:g} times"
        )


@dataclass(frozen=True, eq=False)
class Explanation:
    """Explanation of a plan, made by :func:`explain`.

    Args:
        goal: The goal in attribute words.
        plans: The best plans, the best first; empty if there is none.
        bottlenecks: Edges of the best plan, the least probable first.
        uncertain: Edges of all these plans, the most uncertain first: attempts there teach most.
        start_known: Whether the start is a node of the graph.
        n_goal_nodes: Number of nodes that meet the goal.
        reaching_share: Share of all nodes from which the goal can be reached.
        reached_share: Share of all nodes that can be reached from the start.

    Example:
        >>> nothing = Explanation("door", (), (), (), True, 0, 0.0, 0.5)
        >>> print(nothing.describe())
        No plan for: door
        No known node meets the goal.
        0% of the nodes reach the goal, 50% can be reached from the start.
    """

    goal: str
    plans: tuple[Plan, ...]
    bottlenecks: tuple[EdgeReport, ...]
    uncertain: tuple[EdgeReport, ...]
    start_known: bool
    n_goal_nodes: int
    reaching_share: float
    reached_share: float

    def describe(self) -> str:
        """Return the explanation as text."""
        lines = [f"{len(self.plans) or 'No'} plan{'s' * (len(self.plans) > 1)} for: {self.goal}"]
        if not self.start_known:
            lines.append("The start was never seen.")
        if not self.n_goal_nodes:
            lines.append("No known node meets the goal.")
        lines.append(
            f"{self.reaching_share:.0%} of the nodes reach the goal, "
            f"{self.reached_share:.0%} can be reached from the start."
        )
        for number, plan in enumerate(self.plans, start=1):
            lines += ["", f"Plan {number}: {plan.describe()}"]
        for title, edges in (("Bottlenecks", self.bottlenecks), ("Uncertain", self.uncertain)):
            if edges:
                lines += ["", f"{title}:", *(f"  {edge.describe()}" for edge in edges)]
        return "\n".join(lines)


def explain(
    planner: Planner, start: int | npt.ArrayLike, goal: GoalLike, *, k: int = 3
) -> Explanation:
    """Return alternative plans, bottlenecks, uncertain edges and reachable shares.

    Args:
        planner: The planner.
        start: A node's number, or an attribute vector.
        goal: The goal, in any form ``AttributeSpace.goal_set`` reads.
        k: Maximum number of plans, bottlenecks and uncertain edges. Plans beyond the first cost a
            search for every hop (Yen's algorithm): seconds on millions of edges.

    Raises:
        InvalidGoal: If the goal does not belong to the space.
        InvalidGraph: If the graph is empty, has no such node, or ``k`` is below 1.

    Example:
        >>> from gym_attrplan.graph import TransitionCounts
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
        >>> print(explain(Planner(counts), [0, 0], "door").describe())
        1 plan for: door
        100% of the nodes reach the goal, 100% can be reached from the start.
        <BLANKLINE>
        Plan 1: 2 hops, success 0.25
        from not key, not door
        1. key   0.50
        2. door  0.50
        <BLANKLINE>
        Bottlenecks:
          key: 0.50 ± 0.29, 0 of 0 attempts, seen 1 times
          door: 0.50 ± 0.29, 0 of 0 attempts, seen 1 times
        <BLANKLINE>
        Uncertain:
          key: 0.50 ± 0.29, 0 of 0 attempts, seen 1 times
          door: 0.50 ± 0.29, 0 of 0 attempts, seen 1 times
    """
    if k < 1:
        raise InvalidGraph(f"an explanation shows at least one plan; received k={k}.")
    counts = planner.counts
    distances = planner.distances(goal)
    node = planner.find_start(start)
    plans = _best_plans(planner, node, goal, k) if node >= 0 and distances[node] < np.inf else ()
    in_best = _reports(planner, plans[:1])
    in_all = _reports(planner, plans)
    return Explanation(
        goal=counts.space.describe(counts.space.read_goal(goal)),
        plans=plans,
        bottlenecks=tuple(sorted(in_best, key=lambda edge: edge.prob)[:k]),
        uncertain=tuple(sorted(in_all, key=lambda edge: -edge.std)[:k]),
        start_known=node >= 0,
        n_goal_nodes=len(counts.index.matching(goal)),
        reaching_share=float(np.mean(distances < np.inf)),
        reached_share=_reached_share(planner, node),
    )


def _best_plans(planner: Planner, start: int, goal: GoalLike, k: int) -> tuple[Plan, ...]:
    """Return the ``k`` simple paths of lowest cost, each ending at the first goal node."""
    edges, probs = planner.counts.edges(), planner.edge_probs()
    ends, sink = planner.counts.index.matching(goal).astype(np.int32), edges.n_nodes
    used = (probs > 0.0) & ~np.isin(edges.source, ends)  # a plan ends at the goal
    # Yen's algorithm takes one end only: every goal node leads to it, at the same cost.
    costs = np.concatenate([edge_costs(probs[used], planner.step_cost), np.ones(len(ends))])
    source = np.concatenate([edges.source[used], ends])
    target = np.concatenate([edges.target[used], np.full_like(ends, sink)])
    graph = sparse.csr_array((costs, (source, target)), shape=(sink + 1, sink + 1))
    _, before = csgraph.yen(graph, start, sink, k, return_predecessors=True)
    return tuple(planner.plan_along(_path(row, start, sink)) for row in before)


def _path(before: IntArray, start: int, sink: int) -> IntArray:
    path = [int(before[sink])]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return np.array(path[::-1])


def _reached_share(planner: Planner, start: int) -> float:
    if start < 0:
        return 0.0
    edges = planner.counts.edges()
    graph = cost_matrix(edges, planner.edge_probs(), planner.step_cost)
    reached = csgraph.breadth_first_order(graph, start, return_predecessors=False)
    return len(reached) / edges.n_nodes


def _reports(planner: Planner, plans: tuple[Plan, ...]) -> list[EdgeReport]:
    """Return one report for each edge of the plans, in the plans' order."""
    edges, probs, space = planner.counts.edges(), planner.edge_probs(), planner.counts.space
    reports: dict[int, EdgeReport] = {}
    for plan in plans:
        for hop, ends in enumerate(pairwise(plan.nodes.tolist())):
            place = edges.position(*ends)
            successes, attempts = float(edges.successes[place]), float(edges.attempts[place])
            a, b = 1.0 + successes, 1.0 + attempts - successes
            reports[place] = EdgeReport(
                source=ends[0],
                target=ends[1],
                change=describe_change(space, plan.vectors[hop], plan.vectors[hop + 1]),
                prob=float(probs[place]),
                visits=float(edges.visits[place]),
                attempts=attempts,
                successes=successes,
                std=float(np.sqrt(a * b / ((a + b) ** 2 * (a + b + 1.0)))),
            )
    return list(reports.values())
