"""Advice: said when it is due, silent otherwise."""

from __future__ import annotations

import pytest

from gym_attrplan.agent import advice
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes


@pytest.fixture
def counts():
    """From nothing to the key; the door never opens."""
    counts = TransitionCounts(AttributeSpace({"key": 2, "door": ["locked", "open"], "ore": 4}))
    counts.record([[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 1]])
    return counts


def test_a_world_in_which_nothing_changed_is_named():
    (text,) = advice.on_exploring(TransitionCounts(AttributeSpace(["key"])))
    assert "never saw an attribute change" in text
    assert "exploration_fraction" in text


def test_an_attribute_that_never_changed_is_named_with_its_value(counts):
    (text,) = advice.on_exploring(counts)
    assert text.startswith("'door' never changed while exploring: it was always 'door=locked'.")


def test_attributes_that_all_changed_need_no_advice(counts):
    counts.record([1, 0, 1], [1, 1, 1])
    assert advice.on_exploring(counts) == []


def test_hops_that_never_arrive_are_named_with_the_longest_hop():
    (text,) = advice.on_hopping(100, 0, max_hop_steps=7)
    assert text.startswith("of the last 100 attempts to hop 0 arrived.")
    assert "max_hop_steps=7" in text


@pytest.mark.parametrize(("n_failed", "n_reached"), [(99, 0), (98, 2)])
def test_few_attempts_or_some_that_arrive_need_no_advice(n_failed, n_reached):
    assert advice.on_hopping(n_failed + n_reached, n_reached, max_hop_steps=7) == []


def practised(counts, *changes):
    """Outcomes of 40 hops each that made their change from where nothing was had yet."""
    outcomes = HopOutcomes(counts.space)
    for change in changes:
        ends = [[max(0, value) for value in change]] * 40
        outcomes.record([[0, 0, 0]] * 40, [change] * 40, ends, made=True, n_steps=4)
    return outcomes


def well_practised(counts):
    """Outcomes in which every description of the counts occurs, and every change works."""
    outcomes = practised(counts, [1, -1, -1], [-1, -1, 1])
    outcomes.record([[1, 0, 0]] * 40, [[-1, -1, 1]] * 40, [[1, 0, 1]] * 40, made=True, n_steps=4)
    return outcomes


def test_values_that_were_hardly_asked_for_are_named(counts):
    outcomes = practised(counts, [1, -1, -1])
    outcomes.record([[1, 0, 0]] * 9, [[-1, -1, 1]] * 9, [[1, 0, 1]] * 9, made=True, n_steps=4)
    (text,) = advice.on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=9)
    assert text.startswith("'ore=1' was asked for only 9 times")


def test_descriptions_that_no_hop_has_come_to_are_counted(counts):
    outcomes = practised(counts, [1, -1, -1], [-1, -1, 1])
    (text,) = advice.on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=9)
    assert text.startswith("1 of 3 descriptions were seen that no hop has reached, such as 'key")


def test_values_that_came_about_but_that_no_hop_has_reached_are_named(counts):
    outcomes = practised(counts, [1, -1, -1])
    outcomes.record([[1, 0, 0]] * 3, [[-1, -1, 1]] * 3, [[1, 0, 0]] * 3, made=False, n_steps=9)
    (text,) = advice.on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=9)
    assert text.startswith("'ore=1' was seen, but no hop to it ever worked (3 attempts).")
    outcomes = well_practised(counts)
    assert advice.on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=9) == []


def test_practice_in_which_no_hop_arrives_is_advised_on_as_hopping_is(counts):
    outcomes = HopOutcomes(counts.space)
    hops = ([[0, 0, 0]] * 200, [[1, -1, -1]] * 200, [[0, 0, 0]] * 200)
    outcomes.record(*hops, made=False, n_steps=9)
    found = advice.on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=9)
    assert found == advice.on_hopping(200, 0, max_hop_steps=9)


@pytest.mark.parametrize(("n_steps", "n_said"), [(59, 1), (60, 0)])
def test_more_descriptions_than_steps_can_cover_are_said_to_be_too_many(counts, n_steps, n_said):
    outcomes = well_practised(counts)
    found = advice.on_practice(counts, outcomes, n_steps=n_steps, max_hop_steps=9)
    assert len(found) == n_said
    assert all(text.startswith("there are 3 descriptions, more than 59 steps") for text in found)


def test_a_goal_outside_the_graph_is_answered_with_the_closest_description(counts):
    text = advice.on_goal(counts, [0, 0, 0], "key, door=open, ore=1")
    assert "the closest is 'key, door=locked, ore=1', which lacks 'door=open'" in text


def test_what_the_goal_leaves_free_does_not_count_as_a_difference(counts):
    text = advice.on_goal(counts, [0, 0, 0], "not key, door=open")
    assert "the closest is 'not key, door=locked, ore=0', which lacks 'door=open'" in text


def test_a_goal_that_was_seen_but_cannot_be_reached_from_here_is_told_apart(counts):
    text = advice.on_goal(counts, [1, 0, 1], "not key")
    assert text.startswith("'not key' was seen, but no way to it from 'key, door=locked, ore=1'")


def test_before_learning_the_advice_is_to_learn():
    planner = Planner(TransitionCounts(AttributeSpace(["key"])))
    assert "learn()" in advice.on_goal(planner.counts, [0], "key")


def test_the_summary_names_the_weakest_hop(counts):
    counts.attempt([[0, 0, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 1]], [False, True])
    assert advice.summary(Planner(counts)) == (
        "3 attribute sets, 2 transitions; a hop succeeds with 0.50 on average, the weakest with "
        "0.33: key, from 'not key, door=locked, ore=0'."
    )


def test_advice_is_a_warning_of_its_own_kind():
    with pytest.warns(advice.AdviceWarning, match="mind the gap"):
        advice.warn(["mind the gap"])
