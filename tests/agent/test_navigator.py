"""Following plans: targets, re-planning, memory and what to do without a plan."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.agent import PlannerOptions
from gym_attrplan.agent.navigator import Navigator
from gym_attrplan.agent.planner_options import checked_options
from gym_attrplan.error import InvalidGraph

SPACE = AttributeSpace(["a", "b", "c"])
NEW, OLD = np.array([True]), np.array([False])


def graph(*edges):
    """Edges written as 'from>to' over the bits abc, each attempted and reached ten times."""
    counts = TransitionCounts(SPACE)
    for edge in edges:
        source, target = ([int(bit) for bit in side] for side in edge.split(">"))
        for _ in range(10):
            counts.record(source, target)
            counts.attempt(source, target, True)
    return counts


def see(achieved, goal):
    row = [int(bit) for bit in achieved]
    goal = SPACE.goal(goal)
    return {"achieved_goal": np.array([row], np.int8), "desired_goal": goal[None]}


def navigator(counts, *, max_hop_steps=3, success_probs=None, **options):
    return Navigator(
        counts,
        PlannerOptions(**options),
        max_hop_steps=max_hop_steps,
        success_probs=success_probs,
    )


def target(journey):
    return "".join(map(str, journey.targets[0]))


def test_it_heads_for_the_next_node_and_on_from_there():
    guide = navigator(graph("000>100", "100>110"))
    journey = guide.advance(None, see("000", "b"), NEW)
    assert target(journey) == "100"
    journey = guide.advance(journey, see("000", "b"), OLD)
    assert (target(journey), journey.n_steps.tolist()) == ("100", [2])
    journey = guide.advance(journey, see("100", "b"), OLD)
    assert (target(journey), journey.n_steps.tolist()) == ("110", [1])


def test_it_plans_again_when_it_strays_or_the_goal_changes():
    guide = navigator(graph("000>100", "100>110", "001>011", "000>010"), memory=False)
    journey = guide.advance(None, see("000", "a, b"), NEW)
    journey = guide.advance(journey, see("001", "b"), OLD)
    assert target(journey) == "011"
    journey = guide.advance(None, see("000", "a"), NEW)
    journey = guide.advance(journey, see("000", "b"), OLD)
    assert target(journey) == "010"


def test_a_hop_that_fails_is_tried_another_way_with_memory_and_the_same_way_without():
    counts = graph("000>100", "100>110", "000>010", "010>110")
    counts.attempt([0, 0, 0], [1, 0, 0], True)  # slightly the better way
    for memory, second in ((True, "010"), (False, "100")):
        guide = navigator(counts, memory=memory, max_hop_steps=2)
        journey = guide.advance(None, see("000", "a, b"), NEW)
        assert target(journey) == "100"
        for _ in range(2):
            journey = guide.advance(journey, see("000", "a, b"), OLD)
        assert target(journey) == second


def test_a_new_episode_forgets_what_failed():
    counts = graph("000>100", "100>110", "000>010", "010>110")
    counts.attempt([0, 0, 0], [1, 0, 0], True)
    guide = navigator(counts, max_hop_steps=1)
    journey = guide.advance(None, see("000", "a, b"), NEW)
    journey = guide.advance(journey, see("000", "a, b"), OLD)
    assert target(journey) == "010"
    journey = guide.advance(journey, see("000", "a, b"), NEW)
    assert target(journey) == "100"


def test_the_state_at_hand_decides_on_the_first_edge():
    def not_through_a(observations):
        return np.where(observations["desired_goal"][:, 0] == 1, 0.01, 0.99)

    counts = graph("000>100", "100>110", "000>010", "010>110")
    for first_edge, expected in ((True, "010"), (False, "100")):
        counts.attempt([0, 0, 0], [1, 0, 0], True)
        guide = navigator(counts, first_edge=first_edge, success_probs=not_through_a)
        assert target(guide.advance(None, see("000", "a, b"), NEW)) == expected


def test_an_unreachable_goal_is_approached_as_far_as_the_graph_goes():
    guide = navigator(graph("000>100", "100>110", "110>100"))
    journey = guide.advance(None, see("000", "a, b, c"), NEW)
    assert (target(journey), journey.lost.tolist()) == ("100", [False])
    journey = guide.advance(journey, see("110", "a, b, c"), OLD)  # as near as it gets
    assert journey.lost.tolist() == [True]
    guide = navigator(graph("000>100"), unreachable="explore")
    assert guide.advance(None, see("000", "c"), NEW).lost.tolist() == [True]


def test_from_a_vector_never_seen_it_goes_on_as_from_the_most_similar_one():
    guide = navigator(graph("000>100", "100>110"))
    assert target(guide.advance(None, see("001", "b"), NEW)) == "100"


def test_with_an_empty_graph_everything_is_still_to_be_explored():
    guide = navigator(TransitionCounts(SPACE))
    journey = guide.advance(None, see("000", "b"), NEW)
    assert journey.lost.tolist() == [True]


def test_a_goal_that_holds_asks_for_no_change():
    guide = navigator(graph("000>100"))
    journey = guide.advance(None, see("100", "a"), NEW)
    assert (target(journey), journey.lost.tolist()) == ("100", [False])


def two_ways(*, n_reached, n_failed):
    """Surely by 100 and 110 to b, or at once, which was tried as often as said."""
    counts = graph("000>100", "100>110")
    counts.record([0, 0, 0], [1, 1, 0])
    for i in range(n_reached + n_failed):
        counts.attempt([0, 0, 0], [1, 1, 0], i < n_reached)
    return counts


def edge_probs(counts, planner):
    guide = Navigator(counts, checked_options(planner), max_hop_steps=2)
    return guide.planner.plan([0, 0, 0], "b").edge_probs.tolist()


def test_the_papers_planner_believes_success_ratios_even_of_one_attempt():
    assert edge_probs(two_ways(n_reached=1, n_failed=0), "paper") == [1.0]
    assert len(edge_probs(two_ways(n_reached=1, n_failed=0), "robust")) == 2
    assert edge_probs(two_ways(n_reached=1, n_failed=1), "paper") == [1.0, 1.0]
    assert edge_probs(two_ways(n_reached=0, n_failed=0), "paper") == [1.0, 1.0]


def test_the_papers_planner_takes_the_most_probable_way():
    for n_failed, expected in ((4, [0.6]), (9, [1.0, 0.5])):  # 6 of 10 and 6 of 15 at once
        counts = two_ways(n_reached=6, n_failed=n_failed)
        for _ in range(10):
            counts.attempt([1, 0, 0], [1, 1, 0], False)
        assert edge_probs(counts, "paper") == expected


def test_the_papers_planner_learns_nothing_within_an_episode():
    def not_through_a(observations):
        return np.where(observations["desired_goal"][:, 0] == 1, 0.01, 0.99)

    counts = graph("000>100", "100>110", "000>010", "010>110")
    counts.attempt([0, 0, 0], [0, 1, 0], False)  # slightly the worse way
    options = {"max_hop_steps": 1, "success_probs": not_through_a}
    guide = Navigator(counts, checked_options("paper"), **options)
    journey = guide.advance(None, see("000", "a, b"), NEW)
    for _ in range(3):
        assert target(journey) == "100"
        journey = guide.advance(journey, see("000", "a, b"), OLD)


def test_an_unknown_planner_is_refused():
    with pytest.raises(InvalidGraph, match="robust"):
        checked_options("clever")


def test_where_actions_are_a_continuum_a_hop_costs_time():
    counts = graph("000>100", "100>110", "110>010", "000>010")
    for _ in range(10):
        counts.attempt([0, 0, 0], [0, 1, 0], False)
    for continuum, options, way in [
        (False, {}, "100"),  # three sure hops, for where a failure may be the end
        (True, {}, "010"),  # one that is tried twice
        (True, {"step_cost": 1e-3}, "100"),
    ]:
        guide = Navigator(counts, PlannerOptions(**options), max_hop_steps=3, continuum=continuum)
        assert target(guide.advance(None, see("000", "b, not a"), NEW)) == way
