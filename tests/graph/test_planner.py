from functools import partial
from itertools import pairwise
from math import log

import numpy as np
import pytest
from graph_cases import FOUR_BITS, bits, brute_force, graph_of, node_edges, partial_goals
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.error import InvalidAttributes, InvalidGoal, InvalidGraph
from gym_attrplan.graph import Plan, Planner, TransitionCounts, beta_mean

STEP = 0.01


def meets(node, goal):
    return all(wanted in (-1, bit) for wanted, bit in zip(goal, bits(node), strict=True))


def costs_by_hand(edges, estimate):
    """-log p + step cost of every edge whose probability is above 0."""
    probs = {ends: estimate(*outcome) for ends, outcome in edges.items()}
    return {ends: -log(p) + STEP for ends, p in probs.items() if p > 0}


BY_HAND = {
    "success_ratio": lambda attempts, successes: successes / attempts if attempts else 0.0,
    "beta_mean": lambda attempts, successes: (successes + 1) / (attempts + 2),
}


@given(node_edges(), partial_goals(), st.sampled_from(sorted(BY_HAND)))
def test_cost_of_every_plan_equals_brute_force(edges, goal, estimator):
    planner = Planner(graph_of(edges, n_nodes=12), estimator=estimator, step_cost=STEP)
    distance = brute_force(12, costs_by_hand(edges, BY_HAND[estimator]))
    ends = [node for node in range(12) if meets(node, goal)]
    best = distance[:, ends].min(axis=1, initial=np.inf)
    assert planner.distances(goal) == pytest.approx(best)
    for start in range(12):
        plan = planner.plan(start, goal)
        if best[start] == np.inf:
            assert plan is None
            assert planner.next_hop(start, goal) == -1
        else:
            assert plan.cost == pytest.approx(best[start])
            assert meets(int(plan.nodes[-1]), goal)
            assert set(pairwise(plan.nodes.tolist())) <= set(edges)
            assert plan.success_prob == pytest.approx(np.exp(STEP * len(plan) - plan.cost))


def test_plan_prefers_two_likely_edges_to_one_unlikely():
    counts = graph_of({(0, 3): (8, 1), (0, 1): (8, 8), (1, 3): (8, 8)}, n_nodes=4)
    plan = Planner(counts).plan(bits(0), bits(3))
    assert plan.nodes.tolist() == [0, 1, 3]
    assert plan.edge_probs == pytest.approx([0.9, 0.9])
    assert plan.success_prob == pytest.approx(0.81)


def test_of_equally_likely_plans_the_shorter_is_taken():
    certain = (1, 1)
    edges = {(0, 1): certain, (1, 2): certain, (2, 3): certain, (0, 4): certain, (4, 3): certain}
    planner = Planner(graph_of(edges, n_nodes=5), estimator="success_ratio")
    assert planner.plan(0, bits(3)).nodes.tolist() == [0, 4, 3]


def test_edges_that_are_certain_are_not_lost():
    planner = Planner(graph_of({(0, 1): (3, 3)}, n_nodes=2), estimator="success_ratio")
    plan = planner.plan(0, bits(1))
    assert plan.success_prob == 1.0
    assert plan.cost == pytest.approx(1e-3)


def test_an_edge_that_never_worked_is_not_walked():
    counts = graph_of({(0, 1): (5, 0), (1, 3): (1, 1)}, n_nodes=4)
    assert Planner(counts, estimator="success_ratio").plan(0, bits(3)) is None
    assert Planner(counts, estimator="beta_mean").plan(0, bits(3)) is not None


def test_a_goal_that_holds_has_a_plan_without_hops():
    plan = Planner(graph_of({(0, 1): (1, 1)}, n_nodes=2)).plan(bits(1), "a")
    assert plan
    assert (len(plan), plan.cost, plan.success_prob) == (0, 0.0, 1.0)
    assert plan.nodes.tolist() == [1]
    assert plan.describe() == "0 hops, success 1.00\nfrom a, not b, not c, not d"


def test_a_goal_that_no_node_meets_has_no_plan():
    planner = Planner(graph_of({(0, 1): (1, 1)}, n_nodes=2))
    assert planner.plan(0, "d") is None
    assert planner.next_hop(0, bits(9)) == -1
    assert (planner.distances("d") == np.inf).all()


def test_a_plan_describes_only_what_changes():
    planner = Planner(graph_of({(0, 1): (8, 8), (1, 6): (0, 0)}, n_nodes=7))
    assert planner.plan(0, "c").describe() == (
        "2 hops, success 0.45\n"
        "from not a, not b, not c, not d\n"
        "1. a            0.90\n"
        "2. not a, b, c  0.50"
    )


def test_plans_follow_changes_of_the_counts():
    counts = graph_of({(0, 1): (0, 0)}, n_nodes=4)
    planner = Planner(counts)
    assert planner.plan(0, bits(3)) is None
    counts.record(bits(1), bits(3))
    assert planner.plan(0, bits(3)).nodes.tolist() == [0, 1, 3]
    assert planner.next_hop(1, bits(3)) == 3
    counts.record(bits(3), bits(8))  # a node that was not there
    assert planner.next_hop(int(counts.index.find(bits(8))[0]), bits(3)) == -1


def test_the_cache_holds_no_more_than_max_trees_and_keeps_the_latest_used():
    planner = Planner(graph_of({(0, 1): (0, 0), (1, 2): (0, 0)}, n_nodes=3), max_trees=2)
    grown = []
    grow = planner._grow_tree
    planner._grow_tree = lambda key: grown.append(key) or grow(key)
    for goal in (bits(0), bits(1), bits(0), bits(2), bits(0), bits(1)):
        planner.next_hop(0, goal)
    assert [np.frombuffer(key, np.int8).tolist() for key in grown] == [
        bits(0),
        bits(1),
        bits(2),
        bits(1),  # dropped when the third came: the second was older than the first
    ]
    assert len(planner._trees) == 2


def test_all_ways_to_write_a_goal_share_one_tree():
    planner = Planner(graph_of({(0, 3): (0, 0)}, n_nodes=4))
    goals = ("a, b", {"a": True, "b": 1}, [1, 1, -1, -1], np.array([1, 1, -1, -1], np.int64))
    assert {planner.next_hop(0, goal) for goal in goals} == {3}
    assert len(planner._trees) == 1


def test_an_estimator_may_be_any_function():
    counts = graph_of({(0, 1): (0, 0)}, n_nodes=2)
    plan = Planner(counts, estimator=partial(beta_mean, a=1, b=3)).plan(0, "a")
    assert plan.success_prob == 0.25
    assert Planner(counts, estimator=lambda edges: np.full(len(edges), 0.125)).edge_probs() == 0.125


# --- starts ---------------------------------------------------------------------------------


def test_an_unknown_start_has_no_plan_unless_the_nearest_is_asked_for():
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=2))
    assert planner.plan(bits(2), "a") is None
    assert planner.plan(bits(2), "a", unknown_start="nearest").nodes.tolist() == [0, 1]


def test_the_nearest_start_is_one_that_reaches_the_goal_and_of_several_the_closest():
    # From 1100₂ (c, d): 1000₂ is one bit away but stuck; 0100₂ and 1101₂ are one away and arrive,
    # the second by the better edge.
    counts = graph_of({(4, 3): (8, 4), (13, 3): (8, 8), (3, 8): (1, 1)})
    start = {node: int(counts.index.find(bits(node))[0]) for node in (4, 13)}
    plan = Planner(counts).plan(bits(12), bits(3), unknown_start="nearest")
    assert plan.nodes[0] == start[13]
    plan = Planner(counts).plan(bits(6), bits(3), unknown_start="nearest")
    assert plan.nodes[0] == start[4]


def test_no_node_is_nearest_if_none_reaches_the_goal():
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=2))
    assert planner.plan(bits(2), "d", unknown_start="nearest") is None


# --- errors ---------------------------------------------------------------------------------


@pytest.fixture
def planner():
    return Planner(graph_of({(0, 1): (1, 1)}, n_nodes=2))


def test_an_empty_graph_is_refused():
    planner = Planner(TransitionCounts(FOUR_BITS))
    for ask in (
        lambda: planner.plan(bits(0), "a"),
        lambda: planner.next_hop(0, "a"),
        lambda: planner.next_hops([-1], [bits(0)]),
        lambda: planner.distances("a"),
        planner.edge_probs,
    ):
        with pytest.raises(InvalidGraph, match="empty"):
            ask()


@pytest.mark.parametrize("node", [-1, 2, -9999, 10**9])
def test_an_unknown_node_is_refused(planner, node):
    with pytest.raises(InvalidGraph, match="node"):
        planner.plan(node, "a")
    with pytest.raises(InvalidGraph, match="node"):
        planner.next_hop(node, "a")


@pytest.mark.parametrize(
    "probs", [[1.1], [-0.1], [np.nan], [np.inf], [0.5, 0.5], [[0.5]], 0.5], ids=str
)
def test_probabilities_out_of_range_are_refused(probs):
    counts = graph_of({(0, 1): (1, 1)})
    planner = Planner(counts, estimator=lambda edges: np.array(probs))
    with pytest.raises(InvalidGraph, match="estimator must give"):
        planner.plan(0, "a")


@pytest.mark.parametrize(
    "option",
    [
        {"estimator": "beta_man"},
        {"step_cost": 0.0},
        {"step_cost": -1.0},
        {"step_cost": np.nan},
        {"step_cost": np.inf},
        {"max_trees": 0},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(option):
    with pytest.raises(InvalidGraph):
        Planner(graph_of({(0, 1): (1, 1)}), **option)


def test_goals_and_starts_of_another_space_are_refused(planner):
    with pytest.raises(InvalidGoal, match="no attribute named"):
        planner.plan(0, "e")
    with pytest.raises(InvalidGoal):
        planner.next_hop(0, np.array([1, 0, 0], np.int8))
    with pytest.raises(InvalidGoal):
        planner.next_hop(0, np.array([5, 0, 0, 0], np.int8))
    with pytest.raises(InvalidAttributes):
        planner.plan([0, 0, 0, -1], "a")
    with pytest.raises(InvalidGraph, match="'nearest'"):
        planner.plan(0, "a", unknown_start="closest")


def test_a_plan_along_nodes_without_an_edge_is_refused(planner):
    assert isinstance(planner.plan_along(np.array([0, 1])), Plan)
    with pytest.raises(InvalidGraph, match="follows edges"):
        planner.plan_along(np.array([1, 0]))
