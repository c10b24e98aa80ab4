"""Bins: real-valued attributes by the stretch of the number line that their value is in."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan import AttributeSpace, AttributeWrapper, Bins
from gym_attrplan.attributes import read_values
from gym_attrplan.error import InvalidAttributes, InvalidGoal

NUMBERS = st.floats(allow_nan=False, width=64)
EDGES = st.lists(
    st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8, unique=True
).map(sorted)
SPACE = AttributeSpace({"height": Bins([-1, 0, 1]), "lamp": 2})


@given(EDGES, NUMBERS)
def test_a_bin_holds_its_lower_edge_and_what_is_below_its_upper_one(edges, number):
    bins = Bins(edges)
    found = bins.find(number)
    lows, highs = [-np.inf, *bins.edges], [*bins.edges, np.inf]
    assert lows[found] <= number
    assert number < highs[found] or found == len(edges)


@given(EDGES)
def test_a_space_with_bins_survives_json(edges):
    space = AttributeSpace({"height": Bins(edges), "lamp": ["red", "green"]})
    again = AttributeSpace.from_json(space.to_json())
    assert again == space == AttributeSpace(space) == AttributeSpace(space.table)
    assert hash(again) == hash(space)
    assert again.bins["height"] == Bins(edges)


@given(EDGES, st.data())
def test_a_goal_at_an_edge_is_met_on_its_own_side_alone(edges, data):
    space = AttributeSpace({"height": Bins(edges)})
    edge = data.draw(st.sampled_from(space.bins["height"].edges))
    value = data.draw(NUMBERS)
    vector = space.encode({"height": value})
    assert bool(space.goal_set(f"height>={edge!r}").matches(vector)) == (value >= edge)
    assert bool(space.goal_set({"height": f"<{edge!r}"}).matches(vector)) == (value < edge)
    assert space.goal_set({"height": value}).matches(vector)


def test_default_names_give_the_edges():
    assert Bins([-1, 0.5]).names == ("below -1", "-1 to 0.5", "from 0.5")


def test_edges_on_both_sides_of_zero_are_one():
    assert Bins([-0.0]) == Bins([0.0])


def test_values_are_given_in_units_and_shown_by_name():
    assert SPACE.encode({"height": 0.3, "lamp": 0}).tolist() == [2, 0]
    assert SPACE.encode({"height": 0, "lamp": 0}).tolist() == [2, 0]
    assert SPACE.encode({"height": np.float32(-1), "lamp": 0}).tolist() == [1, 0]
    assert SPACE.encode({"height": "from 1", "lamp": 0}).tolist() == [3, 0]
    assert SPACE.decode([2, 1]) == {"height": "0 to 1", "lamp": True}
    assert SPACE.describe([2, -1]) == "height=0 to 1"
    assert SPACE.goal("height=0 to 1").tolist() == SPACE.goal("height=0.3").tolist() == [2, -1]
    assert SPACE.goal({"height": 7}).tolist() == [3, -1]


def test_a_batch_of_numbers_is_put_in_bins():
    batch = {"height": np.array([-5.0, 0.0, np.inf]), "lamp": np.array([0, 1, 0])}
    assert SPACE.encode(batch).tolist() == [[0, 0], [2, 1], [3, 0]]


def test_names_of_ones_own():
    space = AttributeSpace({"height": Bins([0.5], names=["low", "high"])})
    assert space.describe(space.encode({"height": 0.7})) == "height=high"
    assert AttributeSpace.from_json(space.to_json()).words == {"height": ("low", "high")}
    assert not space.is_binary


def test_tables_without_bins_are_as_they_were():
    table = {"door": 2, "lamp": ["red", "green"]}
    text = '{"door": 2, "lamp": ["red", "green"]}'
    assert AttributeSpace(table).table == table
    assert AttributeSpace(table).to_json() == text
    assert AttributeSpace.from_json(text) == AttributeSpace(table)


def test_an_attribute_function_may_return_numbers():
    env = AttributeWrapper(
        gym.make("CartPole-v1"),
        {"angle": Bins([0.0])},
        lambda _, observation: {"angle": observation[2]},
    )
    observation, _ = env.reset(seed=0, options={"goal": "angle=-0.2"})
    angle = float(observation["observation"][2])
    assert observation["achieved_goal"].tolist() == [int(angle >= 0.0)]
    assert observation["desired_goal"].tolist() == [0]


def test_a_vector_of_numbers_is_refused_with_the_remedy():
    with pytest.raises(InvalidAttributes, match=r"in bins are given as \{name: value\}"):
        read_values(SPACE, np.array([0.3, 1.0]))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "'height' takes a number, but not NaN, or one of .*; received nan"),
        (np.float32("nan"), "not NaN"),
        (np.array([0.0, np.nan]), "'height': only numbers are in bins, and NaN is in none"),
        (np.array(["x"]), "only numbers are in bins"),
        (True, "takes a number"),
        (None, "takes a number"),
        ("0 to 2", "received '0 to 2'"),
    ],
)
def test_what_is_in_no_bin_is_refused(value, message):
    with pytest.raises(InvalidAttributes, match=message):
        SPACE.encode({"height": value, "lamp": 0})


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("height>=0.5", "0.5 cuts through the bin '0 to 1'.* nearest edges are 0 and 1"),
        ("height<-7", "-7 cuts through the bin 'below -1'.* nearest edge is -1"),
        ("height>=7", "7 cuts through the bin 'from 1'.* nearest edge is 1"),
        ("height>0", "write 'height<0' or 'height>=0'; received 'height>0'"),
        ("height<=0", "a bin holds its lower edge"),
        ("height>=low", "compared with a number; received 'height>=low'"),
        ("height=nan", "not NaN"),
        ("height", "not a yes-or-no attribute: write 'height=below -1'"),
    ],
)
def test_goals_that_bins_cannot_tell_are_refused(goal, message):
    with pytest.raises(InvalidGoal, match=message):
        SPACE.goal_set(goal)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "1 to 32766 finite numbers"),
        ([1, 1], "each above the one before; received \\[1, 1\\]"),
        ([2, 1], "each above the one before"),
        ([np.nan], "finite"),
        ([np.inf], "finite"),
        (["1"], "a list of numbers"),
        ([True], "a list of numbers"),
        ([[1, 2]], "a list of numbers"),
        ([[1], [1, 2]], "a list of numbers"),
        (3, "a list of numbers"),
        (range(40_000), "1 to 32766"),
    ],
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(InvalidAttributes, match=message):
        Bins(edges)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "0.5"], ["a", "b, c"], "ab", 3])
def test_bad_names_are_refused(names):
    with pytest.raises(InvalidAttributes, match="as many different words"):
        Bins([1], names=names)


@pytest.mark.parametrize("table", [{"edges": [2, 1]}, {"x": 1}, {"edges": [1], "more": 2}, {}])
def test_a_table_that_describes_no_bins_is_refused(table):
    with pytest.raises(InvalidAttributes, match="the size of 'height'"):
        AttributeSpace({"height": table})
