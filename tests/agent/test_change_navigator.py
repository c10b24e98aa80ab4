"""ChangeNavigator: which change to ask for next, and what to do where no plan leads on."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan.agent import PlannerOptions
from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph.outcomes import HopOutcomes

PLACES = AttributeSpace({"place": 8})
ROOMS = AttributeSpace({"room": 4, "key": 2, "door": 2, "lamp": 2})
KEY, DOOR, LAMP = [-1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, -1, 1]
NEW, OLD = np.array([True]), np.array([False])


def navigator(space, *hops, max_hop_steps=2, **options):
    """Hops given as (start, change, end, times made), each one step long; 0 times is 9 failures."""
    outcomes = HopOutcomes(space)
    for start, change, end, times in hops:
        n = times or 9
        outcomes.record([start] * n, [change] * n, [end] * n, made=times > 0, n_steps=1)
    return ChangeNavigator(outcomes, PlannerOptions(**options), max_hop_steps=max_hop_steps)


def see(achieved, goal):
    return {"achieved_goal": np.array([achieved], np.int8), "desired_goal": np.array([goal])}


def targets_of(guide, achieved, goal, n_steps):
    """What is asked for in each step of an episode in which nothing ever happens."""
    journey, found = None, []
    for _ in range(n_steps):
        journey = guide.advance(journey, see(achieved, goal), OLD)
        found.append(journey.targets[0].tolist())
    return found


def test_it_asks_for_a_change_until_it_holds_and_then_for_the_next():
    guide = navigator(
        ROOMS, ([0, 0, 0, 0], KEY, [2, 1, 0, 0], 9), ([2, 1, 0, 0], DOOR, [2, 1, 1, 0], 9)
    )
    journey = guide.advance(None, see([0, 0, 0, 0], DOOR), NEW)
    assert journey.targets.tolist() == [KEY]
    journey = guide.advance(journey, see([1, 0, 0, 0], DOOR), OLD)  # on the way through a room
    assert (journey.targets.tolist(), journey.n_steps.tolist()) == ([KEY], [2])
    journey = guide.advance(journey, see([2, 1, 0, 0], DOOR), OLD)
    assert (journey.targets.tolist(), journey.n_steps.tolist()) == ([DOOR], [1])
    journey = guide.advance(journey, see([2, 1, 1, 0], DOOR), OLD)
    assert journey.targets.tolist() == [DOOR]  # it is met: what holds is to stay


def test_plans_ignore_an_attribute_unless_the_goal_names_it():
    """The key was taken in the dark and the door opened in the light: no table joins the two."""
    dark, lit = [0, 0, 0, 0], [0, 1, 0, 1]
    hops = [
        (dark, KEY, [0, 1, 0, 0], 9),
        (lit, DOOR, [0, 1, 1, 1], 9),
        (dark, LAMP, [0, 0, 0, 1], 9),
    ]
    assert navigator(ROOMS, *hops).plan(dark, DOOR) is None
    guide = navigator(ROOMS, *hops, ignore=("lamp",))
    plan = guide.plan(dark, DOOR)
    assert plan.hops == ["key", "door"]
    assert plan.vectors.tolist() == [dark, [0, 1, 0, 0], [0, 1, 1, 0]]
    assert guide.plan([0, 0, 0, 1], DOOR).vectors[:, 3].tolist() == [1, 1, 1]
    assert guide.plan(dark, ROOMS.goal_set("door=1 or room=3")).hops == plan.hops
    assert guide.plan(dark, LAMP).hops == ["lamp"]
    assert guide.plan(dark, [-1, -1, 1, 1]) is None
    journey = guide.advance(None, see(dark, DOOR), NEW)
    assert journey.targets.tolist() == [KEY]
    journey = guide.advance(journey, see([0, 1, 0, 0], DOOR), OLD)
    assert journey.targets.tolist() == [DOOR]
    journey = guide.advance(journey, see([0, 0, 0, 0], LAMP), OLD)
    assert journey.targets.tolist() == [LAMP]


def test_plans_leave_out_what_no_hop_depends_on_unless_told_not_to():
    """The key was taken in the dark and the door opened in the light, in every room."""
    every = [(room, lamp) for room in range(4) for lamp in (0, 1)]
    hops = [([0, 0, 0, 0], LAMP, [0, 0, 0, 1], 9)]
    hops += [([room, 0, 0, 0], KEY, [room, 1, 0, 0], 9) for room in range(4)]
    hops += [([room, 0, 0, 0], KEY, [room, 0, 0, 0], 0) for room in range(4)]
    hops += [([room, 1, 0, 1], DOOR, [room, 1, 1, 1], 9) for room in range(4)]
    hops += [([room, 0, 0, lamp], DOOR, [room, 0, 0, lamp], 0) for room, lamp in every]
    start = [3, 0, 0, 0]
    assert navigator(ROOMS, *hops, ignore=()).plan(start, DOOR) is None
    guide = navigator(ROOMS, *hops)
    plan = guide.plan(start, DOOR)
    assert plan.hops == ["key", "door"]
    assert plan.vectors.tolist() == [start, [3, 1, 0, 0], [3, 1, 1, 0]]
    known = guide.outcomes.index.find(plan.vectors)
    assert plan.nodes.tolist() == known.tolist()
    journey = guide.advance(None, see(start, DOOR), NEW)
    assert journey.targets.tolist() == [KEY]
    assert guide.followed_plan(journey, 0, np.array(start)).hops == plan.hops
    assert guide.plan([0, 0, 0, 0], "lamp").hops == ["lamp"]
    assert plan.edge_probs[0] == pytest.approx(36 / 73)
    failed = [[3, 0, 0, 0]] * 99
    guide.outcomes.record(failed, [KEY] * 99, failed, made=False, n_steps=9)
    assert guide.plan(start, DOOR).edge_probs[0] < 0.1  # now the room decides


def test_what_is_ignored_follows_new_outcomes():
    guide = navigator(ROOMS, ([0, 0, 0, 1], KEY, [0, 1, 0, 1], 9), ignore=("lamp",))
    assert guide.plan([0, 0, 0, 0], DOOR) is None
    guide.outcomes.record([[0, 1, 0, 0]] * 9, [DOOR] * 9, [[0, 1, 1, 0]] * 9, made=True, n_steps=1)
    assert guide.plan([0, 0, 0, 0], DOOR).hops == ["key", "door"]


def test_a_change_whose_time_is_up_waits_for_others_that_are_nearly_as_good():
    """At once 0.98, through 1 0.97; each failure about halves the faith in what has failed."""
    guide = navigator(PLACES, ([0], [7], [7], 90), ([0], [1], [1], 90), ([1], [7], [7], 90))
    assert targets_of(guide, [0], [7], 8) == [[7], [7], [1], [1], [7], [7], [1], [1]]


def test_a_change_that_failed_once_is_still_asked_for_before_a_poor_one():
    """Through 1 it is 0.3 only: less than half of 0.98 and more than a quarter."""
    poor = [([0], [1], [1], 30), ([0], [1], [0], 0), ([1], [7], [7], 30)]
    outcomes = navigator(PLACES, ([0], [7], [7], 90), *poor).outcomes
    for _ in range(7):  # 30 of 93 and one more in doubt
        outcomes.record([[0]] * 9, [[1]] * 9, [[2]] * 9, made=False, n_steps=1)
    guide = ChangeNavigator(outcomes, PlannerOptions(), max_hop_steps=2)
    assert targets_of(guide, [0], [7], 6) == [[7], [7], [7], [7], [1], [1]]


def test_a_way_round_that_leads_back_is_not_taken_for_ever():
    """The door does not open here; the lamp goes on and off, and each time the door looks near."""
    dark, lit, off = [0, 0, 0, 0], [0, 0, 0, 1], [-1, -1, -1, 0]
    hops = [(dark, DOOR, [0, 0, 1, 0], 90), (dark, LAMP, lit, 90), (lit, off, dark, 90)]
    guide = navigator(ROOMS, *hops, max_hop_steps=1)
    journey, here, asked = None, dark, []
    for _ in range(40):
        journey = guide.advance(journey, see(here, DOOR), OLD)
        asked.append(journey.targets[0].tolist())
        here = {tuple(LAMP): lit, tuple(off): dark}.get(tuple(asked[-1]), here)
    assert asked[:4] == [DOOR, LAMP, off, LAMP]
    assert asked.count(DOOR) == 8  # and not once, as without a count of returns


def test_what_failed_is_forgotten_with_the_episode_and_without_memory_at_once():
    hops = [([0], [7], [7], 90), ([0], [1], [1], 90), ([1], [7], [7], 90)]
    guide = navigator(PLACES, *hops, max_hop_steps=1)
    journey = guide.advance(None, see([0], [7]), NEW)
    journey = guide.advance(journey, see([0], [7]), OLD)
    assert journey.targets.tolist() == [[1]]
    assert guide.advance(journey, see([0], [7]), NEW).targets.tolist() == [[7]]
    forgetful = navigator(PLACES, *hops, max_hop_steps=1, memory=False)
    assert targets_of(forgetful, [0], [7], 3) == [[7]] * 3


def test_environments_of_a_batch_fail_each_on_its_own():
    hops = [([0], [7], [7], 90), ([0], [1], [1], 90), ([1], [7], [7], 90)]
    guide = navigator(PLACES, *hops, max_hop_steps=1)
    both = {"achieved_goal": np.zeros((2, 1), np.int8), "desired_goal": np.full((2, 1), 7)}
    journey = guide.advance(None, both, np.array([True, True]))
    journey = guide.advance(journey, both, np.array([False, True]))  # the second begins anew
    assert journey.targets.tolist() == [[1], [7]]


def test_an_unknown_description_takes_the_plan_of_the_most_similar_one():
    """The lamp is lit, which was never seen: without it the key comes first."""
    guide = navigator(
        ROOMS,
        ([0, 0, 0, 0], KEY, [0, 1, 0, 0], 9),
        ([0, 1, 0, 0], DOOR, [0, 1, 1, 0], 9),
        ([3, 0, 0, 0], DOOR, [3, 0, 1, 0], 9),
    )
    dark, lit = [0, 0, 0, 0], [0, 0, 0, 1]
    for description in (dark, lit):
        assert guide.advance(None, see(description, DOOR), NEW).targets.tolist() == [KEY]
        assert guide.plan(description, "door").changes.tolist() == [KEY, DOOR]
    assert guide.advance(None, see([3, 0, 0, 1], DOOR), NEW).targets.tolist() == [DOOR]


def test_an_unknown_description_is_not_taken_for_the_goal_that_it_resembles():
    """Most like it is where the goal holds; from there no hop is needed, but from here one is."""
    guide = navigator(ROOMS, ([3, 1, 0, 0], DOOR, [0, 0, 1, 1], 9))
    unknown = [0, 0, 0, 1]
    assert guide.advance(None, see(unknown, DOOR), NEW).targets.tolist() == [DOOR]
    plan = guide.plan(unknown, DOOR)
    assert plan is None or plan.changes.tolist() == [DOOR]


def test_an_unknown_description_is_planned_for_as_it_is_acted_in():
    """Most like it is where the key comes first, which it has: what is next is the door."""
    guide = navigator(
        ROOMS, ([0, 0, 0, 0], KEY, [3, 1, 0, 1], 9), ([3, 1, 0, 1], DOOR, [3, 1, 1, 1], 9)
    )
    unknown = [0, 1, 0, 0]
    journey = guide.advance(None, see(unknown, DOOR), NEW)
    assert journey.targets.tolist() == [DOOR]
    plan = guide.plan(unknown, DOOR)
    assert plan is None or plan.changes[0].tolist() == DOOR


def test_a_goal_out_of_reach_is_exchanged_for_the_reachable_description_nearest_to_it():
    """Key and lamp can be had, in this order; nobody has ever opened the door."""
    guide = navigator(
        ROOMS, ([0, 0, 0, 0], KEY, [0, 1, 0, 0], 9), ([0, 1, 0, 0], LAMP, [0, 1, 0, 1], 9)
    )
    all_three = [-1, 1, 1, 1]
    journey = guide.advance(None, see([0, 0, 0, 0], all_three), NEW)
    assert journey.targets.tolist() == [KEY]
    journey = guide.advance(journey, see([0, 1, 0, 0], all_three), OLD)
    assert journey.targets.tolist() == [LAMP]
    assert guide.plan([0, 0, 0, 0], all_three) is None


def test_it_follows_what_is_counted_while_it_is_in_use():
    guide = navigator(PLACES, ([0], [1], [1], 9))
    assert guide.advance(None, see([0], [5]), NEW).targets.tolist() == [[-1]]
    guide.outcomes.record([[3]] * 9, [[4]] * 9, [[4]] * 9, made=True, n_steps=1)
    assert guide.advance(None, see([3], [5]), NEW).targets.tolist() == [[-1]]  # 3 and 4 are new
    assert guide.planner.counts.n_nodes == 4


def test_from_a_known_description_without_a_way_there_is_no_plan():
    """From 5 only failures are known; that 0 and 1 have a way to 7 does not help."""
    guide = navigator(PLACES, ([0], [1], [1], 9), ([1], [7], [7], 9), ([5], [7], [5], 0))
    assert guide.plan([0], {"place": 7}).changes.tolist() == [[1], [7]]
    assert guide.plan([5], {"place": 7}) is None


def test_where_nothing_is_known_nothing_is_asked_for_until_something_happens():
    guide = navigator(ROOMS)
    journey = guide.advance(None, see([0, 0, 0, 0], DOOR), NEW)
    assert journey.targets.tolist() == [[-1] * 4]
    assert guide.plan([0, 0, 0, 0], "door") is None
    journey = guide.advance(journey, see([0, 0, 0, 0], DOOR), OLD)
    assert journey.n_steps.tolist() == [2]
    journey = guide.advance(journey, see([1, 0, 0, 0], DOOR), OLD)
    assert journey.n_steps.tolist() == [1]  # it looked again
    assert journey.starts.tolist() == [[1, 0, 0, 0]]


def test_a_part_of_the_goal_that_worked_elsewhere_is_tried_where_no_plan_leads_on():
    """Here only failures are known; elsewhere the key works more often than the lamp."""
    guide = navigator(
        ROOMS,
        ([0, 0, 0, 0], DOOR, [0, 0, 0, 0], 0),
        ([3, 0, 0, 0], KEY, [3, 1, 0, 0], 9),
        ([3, 0, 0, 0], LAMP, [3, 0, 0, 1], 9),
        ([3, 1, 0, 0], LAMP, [3, 1, 0, 0], 0),
    )
    journey = guide.advance(None, see([0, 0, 0, 0], [-1, 1, 1, 1]), NEW)
    assert journey.targets.tolist() == [KEY]


@pytest.mark.parametrize("new", [NEW, OLD])
def test_the_journey_that_was_given_is_left_as_it_was(new):
    guide = navigator(PLACES, ([0], [7], [7], 90), ([0], [1], [1], 90), max_hop_steps=1)
    journey = guide.advance(None, see([0], [7]), NEW)
    later = guide.advance(journey, see([1], [3]), new)
    assert (journey.targets.tolist(), journey.goals.tolist()) == ([[7]], [[7]])
    assert (journey.starts.tolist(), journey.n_steps.tolist()) == ([[0]], [1])
    assert later.goals.tolist() == [[3]]
