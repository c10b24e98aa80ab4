"""Attributes that plans can leave out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan import AttributeSpace
from gym_attrplan.graph.abstraction import needless
from gym_attrplan.graph.merging import without
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace({"key": 2, "door": 2, "clock": 30, "lamp": 2})
KEY, DOOR, CLOCK, LAMP = range(4)


def attempts(*hops):
    """``(column asked for, {column: value} at the start, made, times)``, at all clocks in turn."""
    outcomes = HopOutcomes(SPACE)
    for asked, start, made, times in hops:
        starts = np.zeros((times, 4), int)
        starts[:, CLOCK] = np.arange(times) % 30
        for column, value in start.items():
            starts[:, column] = value
        ends, change = starts.copy(), np.full(4, -1)
        change[asked] = 1
        ends[:, asked] = made
        outcomes.record(starts, [change] * times, ends, made=made, n_steps=5)
    return outcomes


def test_what_only_divides_the_attempts_is_left_out_and_what_decides_is_not():
    outcomes = attempts((DOOR, {KEY: 1}, True, 60), (DOOR, {KEY: 0}, False, 60))
    assert needless(outcomes, [KEY, CLOCK]) == without([CLOCK])


def test_only_the_given_attributes_are_left_out():
    outcomes = attempts((DOOR, {KEY: 1}, True, 60))
    assert needless(outcomes, [LAMP]) == ()
    assert needless(outcomes, []) == ()


def test_what_one_change_depends_on_stays_though_all_others_gain():
    others = [(KEY, {LAMP: lamp}, made, 150) for lamp in (0, 1) for made in (True, False)]
    decides = [(DOOR, {LAMP: 1}, True, 12), (DOOR, {LAMP: 0}, False, 12)]
    assert LAMP in dict(needless(attempts(*others), [LAMP, CLOCK]))
    assert LAMP not in dict(needless(attempts(*others, *decides), [LAMP, CLOCK]))


def test_two_attributes_that_say_the_same_are_not_both_left_out():
    """The lamp burns exactly if the key is there, so either can stand for the other."""
    outcomes = attempts((DOOR, {KEY: 1, LAMP: 1}, True, 60), (DOOR, {}, False, 60))
    assert {KEY, LAMP} - set(dict(needless(outcomes, [KEY, LAMP])))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=20, max_size=60))
def test_counts_of_older_attempts_do_not_matter_to_what_decides(draws):
    outcomes = HopOutcomes(SPACE)
    for key, lamp in draws:
        start = [int(key), 0, 0, int(lamp)]
        end = [int(key), int(key), 0, int(lamp)]
        outcomes.record([start], [[-1, 1, -1, -1]], [end], made=key, n_steps=5)
        outcomes.start_epoch(0.97)
    if min(sum(key for key, _ in draws), sum(not key for key, _ in draws)) >= 8:
        assert KEY not in dict(needless(outcomes, [KEY, LAMP]))


@pytest.mark.parametrize("columns", [[KEY], [KEY, CLOCK, LAMP]])
def test_nothing_is_known_without_attempts(columns):
    assert needless(HopOutcomes(SPACE), columns) == ()
