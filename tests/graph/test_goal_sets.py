"""Planners given goal sets: held to what they say of the goals that the sets consist of."""

from __future__ import annotations

import numpy as np
import pytest
from graph_cases import FOUR_BITS, bits, graph_of, node_edges, partial_goals
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace, GoalSet
from gym_attrplan.error import InvalidGoal, InvalidGraph
from gym_attrplan.graph import NodeIndex, Planner, TransitionCounts, explain
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.nearest import nearest_reachable
from gym_attrplan.graph.outcomes import HopOutcomes

GOALS = st.lists(partial_goals(), min_size=1, max_size=4)


def ore_chain() -> TransitionCounts:
    """0 → 1 → 2 → 3 → 4 in ``ore``."""
    counts = TransitionCounts(AttributeSpace({"ore": 5, "lamp": 2}))
    counts.record([[i, 0] for i in range(4)], [[i + 1, 0] for i in range(4)])
    return counts


@given(node_edges(), GOALS)
def test_the_cost_is_that_of_the_nearest_member(edges, goals):
    planner = Planner(graph_of(edges))
    members = np.min([planner.distances(goal) for goal in goals], axis=0)
    goal = FOUR_BITS.goal_set(goals)
    np.testing.assert_allclose(planner.distances(goal), members)
    for node in range(planner.counts.n_nodes):
        plan = planner.plan(node, goal)
        assert (plan is None) == (members[node] == np.inf)
        if plan is not None:
            assert plan.cost == pytest.approx(members[node])
            assert goal.matches(plan.vectors[-1])


@given(GOALS)
def test_the_nodes_that_match_are_those_of_the_members(goals):
    index = NodeIndex(FOUR_BITS)
    index.add([bits(node) for node in range(15)])
    expected = sorted(set().union(*(index.matching(goal).tolist() for goal in goals)))
    assert index.matching(FOUR_BITS.goal_set(goals)).tolist() == expected


@given(partial_goals())
def test_a_change_planner_values_a_set_as_the_goal_with_the_same_descriptions(goal):
    outcomes = HopOutcomes(FOUR_BITS)
    for node in range(15):
        after = (node * 7 + 3) % 16
        change = np.where(np.array(bits(node)) == bits(after), -1, bits(after))
        outcomes.record([bits(node)], [change], [bits(after)], made=True, n_steps=2)
    planner = ChangePlanner(outcomes)
    members = [
        vector for vector in map(bits, range(16)) if FOUR_BITS.goal_set(goal).matches(vector)
    ]
    union = FOUR_BITS.goal_set(members)
    np.testing.assert_allclose(planner.values(union).nodes, planner.values(goal).nodes)
    one, other = (planner.plan(bits(0), wanted) for wanted in (goal, union))
    assert (one is None) == (other is None)
    if one is not None:
        assert one.nodes.tolist() == other.nodes.tolist()
    chosen = planner.next_changes([bits(0), bits(1)], [union, goal])
    assert chosen.tolist() == planner.next_changes([bits(0), bits(1)], [goal, union]).tolist()


def test_planners_read_texts_and_mappings_that_are_sets():
    planner = Planner(ore_chain())
    assert planner.plan([0, 0], "ore>=2").vectors[-1].tolist() == [2, 0]
    assert planner.plan([0, 0], {"ore": [3, 4]}).vectors[-1].tolist() == [3, 0]
    assert planner.plan([0, 0], ["lamp", "ore=4"]).vectors[-1].tolist() == [4, 0]
    assert planner.next_hop(2, "ore>=2") == -1


def test_a_goal_set_is_searched_for_once_however_it_is_written():
    planner = Planner(ore_chain())
    for goal in ("ore>=2", "ore>1", {"ore": ">=2"}, planner.counts.space.goal_set("not ore<2")):
        planner.distances(goal)
    assert [type(key) for key in planner._trees] == [GoalSet]
    planner.distances("ore>=4")  # a single value is the vector's
    planner.distances([4, -1])
    assert len(planner._trees) == 2


def test_every_node_may_have_a_goal_of_its_own_in_any_form():
    planner = Planner(ore_chain())
    goals = ["ore>=1", planner.counts.space.goal_set("ore>=3 or lamp"), {"ore": 1}]
    assert planner.next_hops([0, 1, 2], goals).tolist() == [1, 2, -1]
    assert planner.next_hops([0, 3], goals[1]).tolist() == [1, -1]
    assert planner.next_hops([0, 3], "ore>=3").tolist() == [1, -1]
    with pytest.raises(InvalidGraph, match="one goal for each of 2 nodes; received 3"):
        planner.next_hops([0, 1], goals)


def test_a_goal_set_of_another_space_is_refused():
    other = AttributeSpace(["lamp", "key"]).goal_set("lamp or key")
    for ask in (Planner(ore_chain()).distances, ore_chain().index.matching):
        with pytest.raises(InvalidGoal, match="belongs to one space"):
            ask(other)


def test_explanations_and_nearest_nodes_take_goal_sets():
    planner = Planner(ore_chain())
    assert explain(planner, [0, 0], "ore>=2 or lamp").goal == "ore>=2 or lamp"
    # The lamp is never lit: nodes 1, 3 and 4 miss only that, and node 1 is the nearest.
    assert nearest_reachable(planner, 0, "lamp, ore=1 or lamp, ore>=3") == 1
