"""Whatever is given as a space, a vector or a goal: an error of the library, and a short one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gym_attrplan import AttributeSpace
from gym_attrplan.attributes import load_function, naming
from gym_attrplan.error import MAX_SHOWN, InvalidAttributes, InvalidGoal, did_you_mean, shown
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.wrappers.goals import as_goals

SPACE = AttributeSpace({"door": 2, "ore": 41, "lamp": ["red", "green"]})


class Unwilling:
    """Raises whatever is asked of it."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def __array__(self, *_, **__):
        raise RuntimeError("no array")


def kind(value: object) -> str:
    """A test's name: the values themselves may be endless, or look different in each process."""
    return type(value).__name__


def nested(depth: int) -> list:
    inner: list = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "goal",
    [
        "ore=²",
        "ore=٣",
        "ore=" + "9" * 5_000,
        "ore=-1",
        "ore=1e1",
        "ore=nan",
        {"ore": 10**5_000},
        {"ore": -(10**5_000)},
        {"ore": None},
        {"ore": [1]},
        {"ore": np.array([1])},
        {"ore": b"1"},
        {"lamp": "\ud800"},
        {1: True},
        {None: True},
        {("door",): True},
        {b"door": True},
        None,
        0,
        b"door",
        [],
        [[0, 1, 0], [1]],
        [[0, 1, 0]],
        [0, 1, None],
        [0, 1, 10**30],
        [0, 1, np.nan],
        ["door", "ore", "lamp"],
        np.array([0, 1, 0], object),
        np.array([0, 1, 0], complex),
        np.array([0, 1, 0], "datetime64[s]"),
        np.zeros(3, [("x", int)]),
        np.array(1),
        nested(100),
        nested(100_000),
        Unwilling(),
        itertools.count(),
        object(),
    ],
    ids=kind,
)
def test_every_bad_goal_is_an_invalid_goal(goal):
    with pytest.raises(InvalidGoal):
        SPACE.goal(goal)
    with pytest.raises(InvalidGoal):
        as_goals(SPACE, goal, 2)
    with pytest.raises(InvalidGoal):
        SPACE.describe(goal)


@pytest.mark.parametrize("goals", [[[0, 1, 0], [1]], Unwilling(), [[0, 1], [1, 0]], [[[0, 1, 0]]]])
def test_the_planner_refuses_bad_goals_for_many(goals):
    counts = TransitionCounts(SPACE)
    counts.record([0, 0, 0], [1, 0, 0])
    with pytest.raises(InvalidGoal):
        Planner(counts).next_hops([0, 1], goals)


@pytest.mark.parametrize("start", [[[0, 1], [1]], Unwilling(), "door"])
def test_the_planner_refuses_a_start_that_is_none(start):
    counts = TransitionCounts(SPACE)
    counts.record([0, 0, 0], [1, 0, 0])
    with pytest.raises(ValueError, match="received") as caught:
        Planner(counts).plan(start, "door")
    assert type(caught.value).__module__ == "gym_attrplan.error"


@pytest.mark.parametrize("vector", [[[0], [0, 1]], None, Unwilling(), nested(100), [0, 0, 1e400]])
def test_every_bad_vector_is_invalid_attributes(vector):
    with pytest.raises(InvalidAttributes):
        SPACE.check(vector)
    with pytest.raises(InvalidAttributes):
        TransitionCounts(SPACE).record([0, 0, 0], vector)


@pytest.mark.parametrize(
    "values",
    [
        "door",
        3,
        None,
        ["door"],
        [[("door", 1)]],
        {"door": np.zeros(2, int), "ore": np.zeros(3, int), "lamp": 0},
        {"door": np.array(["x"]), "ore": 0, "lamp": 0},
        {"door": 0, "ore": 0, 3: 0},
    ],
    ids=kind,
)
def test_values_that_are_not_by_name_are_refused(values):
    with pytest.raises(InvalidAttributes):
        SPACE.encode(values)


@pytest.mark.parametrize(
    "sizes",
    [
        3,
        None,
        b"door",
        object(),
        itertools.count(),
        (name for name in ["a", "b"]),
        np.array("door"),
        np.array([["a", "b"]]),
        [["a"], ["b", "c"]],
        [{"a": 2}],
        {"a": 10**5_000},
        {"a": [f"w{i}" for i in range(32_768)]},
        {"a": [["x"], ["y"]]},
        {"a": b"xy"},
        {"a": {"x": 0, "y": 1}},
        {1: 2},
        {None: 2},
    ],
    ids=kind,
)
def test_every_bad_space_is_invalid_attributes(sizes):
    with pytest.raises(InvalidAttributes):
        AttributeSpace(sizes)


@pytest.mark.parametrize(
    "text",
    ["3", "null", '"a"', "[[]]", "[" * 100_000, '{"a": NaN}', "9" * 5_000, b"\xff", 3, None],
    ids=kind,
)
def test_every_text_that_is_no_space_is_invalid_attributes(text):
    with pytest.raises(InvalidAttributes):
        AttributeSpace.from_json(text)


@pytest.mark.parametrize("name", ["on(a", "a)", "a)(b", "on(a]", "[a", "{", "a)b,(c"])
def test_brackets_come_in_pairs(name):
    with pytest.raises(InvalidAttributes, match="brackets in pairs"):
        AttributeSpace([name])
    with pytest.raises(InvalidAttributes, match="brackets that are not in pairs"):
        AttributeSpace({"lamp": ["red", name]})


@pytest.mark.parametrize(
    "name",
    ["\x1b[31mred", "a\nb", "a\tb", "a\u200bb", "a\u202eb", "a\ud800", "a\x00", "a\u00a0b"],
    ids=kind,
)
def test_names_and_words_hold_nothing_invisible(name):
    with pytest.raises(InvalidAttributes, match="invisible"):
        AttributeSpace([name])
    with pytest.raises(InvalidAttributes, match="two different words"):
        AttributeSpace({"lamp": ["red", name]})


@pytest.mark.parametrize("word", ["", " ", " a", "a, b", "1", "-1"])
def test_words_that_goals_could_not_hold_are_refused(word):
    with pytest.raises(InvalidAttributes, match="two different words"):
        AttributeSpace({"lamp": ["red", word]})


@pytest.mark.parametrize("word", ["c=d", "not red", "on(a)", "far left", "true", "anything"])
def test_any_other_word_is_read_back(word):
    space = AttributeSpace({"lamp": ["red", word], "ore": 41})
    assert space.goal(space.describe([1, 3])).tolist() == [1, 3]


def test_a_long_goal_gets_a_short_message():
    for goal in (
        "x" * 1_000_000,
        "ore=" + "x" * 1_000_000,
        {"x" * 1_000_000: True},
        [7] * 1_000_000,
    ):
        with pytest.raises(InvalidGoal) as caught:
            SPACE.goal(goal)
        assert len(str(caught.value)) < 1_000


def test_a_long_name_gets_a_short_message():
    space = AttributeSpace(["x" * 1_000_000, "ore"])
    for goal in ("y", [2, 0], [0], {"x" * 1_000_000: "z"}):
        with pytest.raises(InvalidGoal) as caught:
            space.goal(goal)
        assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "value",
    ["x" * 10_000, 10**5_000, Unwilling(), nested(100_000), list(range(10_000)), "\x1b[31m"],
    ids=kind,
)
def test_what_is_shown_is_short_and_printable(value):
    assert len(shown(value)) <= MAX_SHOWN
    assert shown(value).isprintable()


def test_what_is_short_is_shown_whole():
    assert shown({"door": [True, None]}) == "{'door': [True, None]}"


def test_many_names_are_checked_in_one_pass(monkeypatch):
    """Each name is looked at a fixed number of times, however many there are."""
    calls = []
    real = naming.squeeze
    monkeypatch.setattr(naming, "squeeze", lambda name: (calls.append(name), real(name))[1])

    class Counted(list):
        def count(self, _):
            raise AssertionError("counting each name among all takes n² steps")

    names = Counted(f"a{i}" for i in range(60_000))
    assert len(naming.checked_table(names)) == len(calls) == 60_000


def test_an_unknown_name_is_not_compared_with_ever_so_many(monkeypatch):
    import difflib

    compared = []
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda name, names, n: compared.extend(names) or []
    )
    did_you_mean("lampe", (f"a{i}" for i in range(60_000)))
    assert len(compared) <= 5_000


@pytest.mark.parametrize(
    "text",
    ["..os:path", ":x", "math:", "math:pi", "a\x00b:c", "x" * 10_000 + ":y"],
    ids=kind,
)
def test_a_text_that_names_no_function_is_refused(text):
    with pytest.raises(InvalidAttributes) as caught:
        load_function(text)
    assert len(str(caught.value)) < 1_000
