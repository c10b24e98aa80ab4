"""AttributeSpace: values worked out by hand, and laws that hold for every space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan import FREE, AttributeSpace
from gym_attrplan.error import InvalidAttributes, InvalidGoal

NAMES = st.from_regex(r"[a-z_]{1,6}(\([a-z]{1,4}(, [a-z]{1,4})?\))?", fullmatch=True).filter(
    lambda name: name != "anything"
)
WORDS = st.lists(st.sampled_from(["red", "green", "blue", "far left"]), min_size=2, unique=True)
SIZES = st.one_of(st.just(2), st.integers(2, 400), WORDS)
UP_TO_SIX = st.integers(1, 6)
SPACES = st.dictionaries(NAMES, SIZES, min_size=1, max_size=12).map(AttributeSpace)


@st.composite
def spaces_with_vectors(draw, n_rows=UP_TO_SIX, lowest=0):
    space = draw(SPACES)
    rows = [
        [draw(st.integers(lowest, int(size) - 1)) for size in space.sizes]
        for _ in range(draw(n_rows))
    ]
    return space, np.array(rows, space.dtype)


@pytest.fixture
def blocks() -> AttributeSpace:
    return AttributeSpace({"on(red, green)": 2, "left_of(blue, red)": 2, "ore": 41})


@given(spaces_with_vectors())
def test_decode_undoes_encode(case):
    space, vectors = case
    np.testing.assert_array_equal(space.encode(space.decode(vectors)), vectors)
    np.testing.assert_array_equal(space.encode(space.decode(vectors[0])), vectors[0])


@given(spaces_with_vectors())
def test_unpack_undoes_pack(case):
    space, vectors = case
    np.testing.assert_array_equal(space.unpack(space.pack(vectors)), vectors)


@given(spaces_with_vectors())
def test_keys_are_equal_exactly_where_vectors_are(case):
    space, vectors = case
    keys = space.keys(vectors)
    for i, row in enumerate(vectors):
        for j, other in enumerate(vectors):
            assert (keys[i] == keys[j]) == bool((row == other).all())


@given(spaces_with_vectors(lowest=FREE))
def test_goal_reads_back_what_describe_writes(case):
    space, goals = case
    for goal in goals:
        np.testing.assert_array_equal(space.goal(space.describe(goal)), goal)


@given(spaces_with_vectors(n_rows=st.just(2)), st.data())
def test_matches_agrees_with_the_definition_and_with_packed_masks(case, data):
    space, (achieved, target) = case
    free = np.array(data.draw(st.lists(st.booleans(), min_size=len(space), max_size=len(space))))
    goal = np.where(free, FREE, target).astype(space.dtype)
    expected = all(
        wanted in (FREE, value)
        for value, wanted in zip(achieved.tolist(), goal.tolist(), strict=True)
    )
    assert bool(space.matches(achieved, goal)) == expected
    mask, bits = space.pack_goal(goal)
    assert bool(((space.pack(achieved)[0] & mask) == bits).all()) == expected


@given(SPACES)
def test_json_round_trip_gives_an_equal_space(space):
    again = AttributeSpace.from_json(space.to_json())
    assert again == space
    assert hash(again) == hash(space)


def test_batches_encode_from_arrays_and_from_rows(blocks):
    expected = [[1, 0, 3], [0, 1, 40]]
    columns = {
        "on(red, green)": np.array([True, False]),
        "left_of(blue, red)": np.array([0, 1]),
        "ore": np.array([3, 40]),
    }
    assert blocks.encode(columns).tolist() == expected
    assert blocks.encode(blocks.decode(expected)).tolist() == expected


def test_goal_reads_names_negations_and_values_whatever_the_spacing(blocks):
    goal = blocks.goal("on(red,green), not  left_of( blue, red ),ore = 3")
    assert goal.tolist() == [1, 0, 3]
    assert goal.dtype == np.int8


def test_what_a_goal_does_not_name_is_free(blocks):
    assert blocks.goal({"ore": 7}).tolist() == [-1, -1, 7]
    assert blocks.goal([1, -1, -1]).tolist() == [1, -1, -1]


@pytest.mark.parametrize("nothing", [{}, "", "anything", [-1, -1, -1]])
def test_a_goal_may_leave_everything_free_and_is_then_always_met(blocks, nothing):
    goal = blocks.goal(nothing)
    assert goal.tolist() == [-1, -1, -1]
    assert blocks.matches(np.array([[0, 0, 0], [1, 1, 40]]), goal).all()
    assert blocks.describe(goal) == "anything"


def test_words_stand_for_values():
    space = AttributeSpace({"lamp": ["red", "green"]})
    assert space.goal({"lamp": "green"}).tolist() == space.goal("lamp=1").tolist() == [1]
    assert space.decode([0]) == {"lamp": "red"}


def test_three_hundred_attributes_work():
    space = AttributeSpace([f"a{i}" for i in range(300)])
    vectors = np.random.default_rng(0).integers(2, size=(50, 300), dtype=np.int8)
    assert space.n_words == 5
    assert len(set(space.keys(vectors))) == 50
    np.testing.assert_array_equal(space.unpack(space.pack(vectors)), vectors)
    assert space.goal(space.describe(vectors[0])).tolist() == vectors[0].tolist()


def test_sizes_above_127_take_sixteen_bits():
    assert AttributeSpace({"a": 127}).dtype == np.int8
    assert AttributeSpace({"a": 128}).dtype == np.int16
    assert AttributeSpace({"a": 32767}).goal("a=32766").tolist() == [32766]


def test_box_holds_goals_and_vectors(blocks):
    assert blocks.box.contains(np.array([-1, 0, 40], np.int8))
    assert not blocks.box.contains(np.array([2, 0, 0], np.int8))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "at least one"),
        (["a", "a"], "'a' is given twice"),
        (["on(a, b)", "on(a,b)"], "differ in more than spaces"),
        ([""], "non-empty"),
        (["  "], "non-empty"),
        ([3], "non-empty text"),
        (["not a"], "nor start with 'not '"),
        (["a=b"], "may not hold '='"),
        (["a, b"], "commas outside brackets"),
        (["anything"], "anything"),
        ("abc", "list of names"),
        ({"a": 1}, "from 2"),
        ({"a": 40_000}, "32767"),
        ({"a": True}, "whole number"),
        ({"a": 2.0}, "whole number"),
        ({"a": ["x"]}, "two different words"),
        ({"a": ["x", "x"]}, "two different words"),
        ({"a": ["0", "1"]}, "two different words"),
    ],
)
def test_bad_names_and_sizes_are_refused(sizes, message):
    with pytest.raises(InvalidAttributes, match=message):
        AttributeSpace(sizes)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (
            "on(red, pink)",
            r"no attribute named 'on\(red, pink\)'. Did you mean 'on\(red, green\)'?",
        ),
        ({"oar": 3}, "Did you mean 'ore'?"),
        ("lamp", r"no attribute named 'lamp'. There are 'on\(red, green\)'"),
        ("on(red, green) and ore=3", "by commas, not by 'and'"),
        ("ore=41", "'ore' takes 0 to 40; received '41'"),
        ({"ore": -1}, "takes 0 to 40; received -1"),
        ({"ore": 2.5}, "'ore' takes a whole number, 0 to 40; received 2.5"),
        ({"ore": np.float32(1.0)}, "takes a whole number, 0 to 40; received 1.0"),
        ("on(red, green)=lit", r"\(write 'on\(red, green\)' or 'not on\(red, green\)'\)"),
        ({"ore": float("nan")}, "received nan"),
        ("ore", "not a yes-or-no attribute: write 'ore=0'"),
        ("ore=1, ore=2", "two values of 'ore'"),
        ([1, 0], r"3 values.*received shape \(2,\)"),
        ([1, 0, 41], "'ore' the value 41"),
        ([-2, 0, 0], "the value -2"),
        ([1.0, 0.0, 0.0], "whole numbers"),
        ([300, 0, 0], "beyond every size"),
    ],
)
def test_bad_goals_are_refused_with_the_remedy(blocks, goal, message):
    with pytest.raises(InvalidGoal, match=message):
        blocks.goal(goal)


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1, 0], r"3 values.*shape \(2,\)"),
        ([1, 0, -1], "'ore' the value -1"),
        ([2, 0, 0], "the value 2; it takes 0 to 1. Give it a larger size"),
        ([1.0, 0, 0], "whole numbers"),
        ([np.nan, 0, 0], "whole numbers"),
        (["a", 0, 0], "whole numbers"),
        ([[[1, 0, 0]]], "shape"),
    ],
)
def test_bad_vectors_are_refused(blocks, vector, message):
    with pytest.raises(InvalidAttributes, match=message):
        blocks.check(vector)


def test_encode_needs_every_attribute(blocks):
    with pytest.raises(InvalidAttributes, match=r"\['ore'\] not given"):
        blocks.encode({"on(red, green)": 1, "left_of(blue, red)": 0})


def test_from_json_refuses_other_text():
    with pytest.raises(InvalidAttributes, match="JSON"):
        AttributeSpace.from_json("{")
