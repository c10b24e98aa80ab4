import itertools

import numpy as np
import pytest
from graph_cases import bits, graph_of, node_edges, partial_goals
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.error import InvalidGoal, InvalidGraph
from gym_attrplan.graph import Planner, explain

DIAMOND = {(0, 1): (8, 8), (1, 3): (8, 7), (0, 2): (8, 4), (2, 3): (0, 0), (0, 3): (8, 0)}


@pytest.fixture
def planner():
    return Planner(graph_of(DIAMOND, n_nodes=5))


def test_alternatives_come_best_first(planner):
    plans = explain(planner, bits(0), bits(3)).plans
    # 0.9 · 0.8, then 0.5 · 0.5, then 0.1
    assert [plan.nodes.tolist() for plan in plans] == [[0, 1, 3], [0, 2, 3], [0, 3]]
    assert [plan.success_prob for plan in plans] == pytest.approx([0.72, 0.25, 0.1])


def test_the_bottleneck_is_the_least_probable_edge_of_the_best_plan(planner):
    first, second = explain(planner, 0, bits(3)).bottlenecks
    assert (first.source, first.target, first.prob) == (1, 3, pytest.approx(0.8))
    assert (first.attempts, first.successes, first.visits) == (8, 7, 1)
    assert (second.source, second.target) == (0, 1)


def test_the_most_uncertain_edge_was_never_attempted(planner):
    edge = explain(planner, 0, bits(3), k=2).uncertain[0]
    assert (edge.source, edge.target) == (2, 3)
    assert edge.std == pytest.approx((1 / 12) ** 0.5)  # of a uniform variable


def test_shares_count_what_reaches_and_what_is_reached(planner):
    answer = explain(planner, 1, bits(3))
    assert answer.reaching_share == 4 / 5  # all but the lone node 4
    assert answer.reached_share == 2 / 5
    assert answer.n_goal_nodes == 1


def test_a_plan_ends_where_the_goal_first_holds():
    planner = Planner(graph_of({(0, 1): (8, 8), (1, 3): (8, 8), (0, 3): (8, 1)}, n_nodes=4))
    plans = explain(planner, 0, "a", k=5).plans
    assert [plan.nodes.tolist() for plan in plans] == [[0, 1], [0, 3]]


def test_no_plan_is_explained_too(planner):
    answer = explain(planner, 4, bits(3))
    assert answer.plans == answer.bottlenecks == answer.uncertain == ()
    assert answer.reached_share == 1 / 5
    assert answer.describe().startswith("No plan for: a, b, not c, not d\n80% of the nodes")
    assert "never seen" in explain(planner, bits(9), "a").describe()
    assert "No known node" in explain(planner, 0, "d").describe()


def test_the_text_names_plans_bottlenecks_and_doubts(planner):
    text = explain(planner, 0, bits(3)).describe()
    assert "3 plans for: a, b, not c, not d" in text
    assert "Plan 1: 2 hops, success 0.72" in text
    assert "Bottlenecks:\n  b: 0.80 ± 0.12, 7 of 8 attempts, seen 1 times" in text
    assert "Uncertain:\n  a: 0.50 ± 0.29, 0 of 0 attempts" in text


def test_a_goal_that_holds_needs_no_hop(planner):
    answer = explain(planner, 3, bits(3))
    assert [len(plan) for plan in answer.plans] == [0]
    assert "0 hops, success 1.00" in answer.describe()


@settings(max_examples=40)
@given(node_edges(6, 14), partial_goals(), st.integers(1, 4))
def test_the_best_k_plans_are_those_of_brute_force(edges, goal, k):
    planner = Planner(graph_of(edges, n_nodes=6))
    ends = set(planner.counts.index.matching(goal).tolist())
    costs = []
    for length, start in itertools.product(range(6), [0]):
        for middle in itertools.permutations(range(1, 6), length):
            path = [start, *middle]
            hops = list(itertools.pairwise(path))
            if path[-1] in ends and not ends & set(path[:-1]) and set(hops) <= set(edges):
                costs.append(planner.plan_along(np.array(path)).cost)
    found = [plan.cost for plan in explain(planner, 0, goal, k=k).plans]
    assert found == pytest.approx(sorted(costs)[:k])


def test_bad_questions_are_refused(planner):
    with pytest.raises(InvalidGraph, match="k=0"):
        explain(planner, 0, "a", k=0)
    with pytest.raises(InvalidGraph, match="node"):
        explain(planner, 7, "a")
    with pytest.raises(InvalidGoal):
        explain(planner, 0, "e")
