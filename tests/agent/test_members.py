"""Goal sets: which of the descriptions asked for an agent heads for."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan import AttributeSpace
from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.agent.members import as_vector, nearest_member
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace({"ore": 5, "lamp": 2, "door": 2})


@pytest.mark.parametrize(
    ("goal", "here", "wanted"),
    [
        ("ore>=3", [1, 0, 0], [3, -1, -1]),
        ("ore>=3", [4, 0, 0], [4, -1, -1]),
        ("ore<=1", [3, 0, 0], [1, -1, -1]),
        ("ore!=2, lamp", [2, 0, 0], [1, 1, -1]),
        ("ore>=3, lamp or door", [0, 0, 0], [-1, -1, 1]),
        ("ore>=3, lamp or door", [3, 1, 0], [3, 1, -1]),
    ],
)
def test_the_nearest_member_asks_for_as_few_changes_as_can_be(goal, here, wanted):
    member = nearest_member(SPACE.goal_set(goal), np.array(here, SPACE.dtype))
    assert member.tolist() == wanted


@pytest.fixture
def navigator():
    """Ore comes one by one; the lamp can be lit, but the door was never seen to open."""
    outcomes = HopOutcomes(SPACE)
    for ore in range(4):
        outcomes.record(
            [[ore, 0, 0]] * 9, [[ore + 1, -1, -1]] * 9, [[ore + 1, 0, 0]] * 9, made=True, n_steps=4
        )
    outcomes.record([[0, 0, 0]] * 9, [[-1, 1, -1]] * 9, [[0, 1, 0]] * 9, made=True, n_steps=30)
    return ChangeNavigator(outcomes, PlannerOptions(), max_hop_steps=50)


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("ore>=2", [2, -1, -1]),
        ("ore=1 or lamp", [1, -1, -1]),  # four steps, not thirty
        ("ore=4 or lamp", [-1, 1, -1]),  # of four hops one may fail
        ("door or lamp", [-1, 1, -1]),  # what is known to work
        ("door", [-1, -1, 1]),
    ],
)
def test_an_agent_heads_for_what_is_reached_best(navigator, goal, wanted):
    here = np.array([0, 0, 0], SPACE.dtype)
    assert as_vector(SPACE, goal, here, navigator.plan).tolist() == wanted


def test_what_is_met_already_is_kept(navigator):
    here = np.array([3, 0, 0], SPACE.dtype)
    assert as_vector(SPACE, "ore>=2", here, navigator.plan).tolist() == [3, -1, -1]
