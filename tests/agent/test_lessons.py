"""Lessons: environments are led to where a change was seen to follow, and ask for it there."""

import numpy as np

from gym_attrplan.agent.lessons import MAX_HOPS, Lessons
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace({"room": 3, "at_goal": 2})
START, MIDDLE, DEEP, GOAL = [0, 0], [1, 0], [2, 0], [2, 1]
TO_MIDDLE, TO_DEEP, AT_GOAL, FREE = [1, -1], [2, -1], [-1, 1], [-1, -1]


def world():
    """Three rooms in a row; hops lead through them, but never to the goal in the last one."""
    counts, outcomes = TransitionCounts(SPACE), HopOutcomes(SPACE)
    counts.record([START, MIDDLE, DEEP], [MIDDLE, DEEP, GOAL])
    for start, change, end in ((START, TO_MIDDLE, MIDDLE), (MIDDLE, TO_DEEP, DEEP)):
        outcomes.record([start] * 20, [change] * 20, [end] * 20, made=True, n_steps=5)
    outcomes.record([DEEP] * 20, [AT_GOAL] * 20, [DEEP] * 20, made=False, n_steps=50)
    return counts, outcomes


def lessons(num_envs=1, share=1.0, made_of=None):
    counts, outcomes = made_of or world()
    found = Lessons(num_envs, counts, outcomes, share=share, rng=np.random.default_rng(0))
    found.choose()
    return found


def ask(found, *descriptions):
    rows = np.arange(len(descriptions))
    return found.ask(rows, np.array(descriptions, np.int8)).tolist()


def test_what_was_seen_to_follow_and_no_hop_makes_is_a_lesson():
    found = lessons()
    assert (found.places.tolist(), found.changes.tolist()) == ([DEEP], [AT_GOAL])


def test_an_environment_is_led_there_hop_by_hop_and_then_asks():
    found = lessons(share=1.0)
    assert ask(found, START) == [TO_MIDDLE]
    found._share = 0.0  # it is on its way, and takes no other lesson
    assert ask(found, MIDDLE) == [TO_DEEP]
    assert ask(found, DEEP) == [AT_GOAL]
    assert ask(found, DEEP) == [FREE]


def test_without_a_way_there_is_no_lesson_to_go_to():
    found = lessons()
    assert ask(found, [0, 1]) == [FREE]
    assert ask(found, GOAL) == [FREE]


def test_a_lesson_that_is_not_reached_is_given_up():
    found = lessons()
    found._rng = np.random.default_rng(0)
    asked = [ask(found, START)]
    found._share = 0.0
    asked += [ask(found, START) for _ in range(MAX_HOPS)]
    assert asked == [[TO_MIDDLE]] * MAX_HOPS + [[FREE]]


def test_the_share_of_environments_that_set_out_is_as_given():
    found = lessons(num_envs=2_000, share=0.1)
    asked = np.array(ask(found, *[START] * 2_000))
    assert 130 < (asked != FREE).any(axis=1).sum() < 270


def test_what_hops_make_by_now_is_no_lesson_any_more():
    counts, outcomes = world()
    outcomes.record([DEEP] * 60, [AT_GOAL] * 60, [GOAL] * 60, made=True, n_steps=5, over=True)
    assert lessons(made_of=(counts, outcomes)).places.shape == (0, 2)
