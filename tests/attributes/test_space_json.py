"""Spaces survive JSON exactly, and what is no space is refused."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.attributes.space_json import (
    MAX_DEPTH,
    MAX_NUMBERS,
    space_from_json,
    space_to_json,
)
from gym_attrplan.error import InvalidArchive, InvalidEnvironment

VARIED = np.array([[0.1, -np.inf], [1e-40, 3.4e38]], np.float32)

SPACES = [
    spaces.Box(0, 255, (64, 48, 3), np.uint8),
    spaces.Box(-np.inf, np.inf, (3,), np.float64),
    spaces.Box(VARIED, np.full((2, 2), np.inf, np.float32)),
    spaces.Box(-1.0, 1.0, ()),
    spaces.Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (2,), np.int64),
    spaces.Box(0, np.iinfo(np.uint64).max, (2,), np.uint64),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[0, 1], [-1, 0]]),
    spaces.MultiDiscrete([2, 2], dtype=np.int8),
    spaces.MultiBinary(4),
    spaces.MultiBinary([2, 3]),
    spaces.Text(12, min_length=0, charset="abcé "),
    spaces.Tuple([spaces.Discrete(2), spaces.Dict({"b": spaces.Discrete(3)})]),
    spaces.Dict([("z", spaces.Discrete(2)), ("a", spaces.MultiBinary(1))]),
]


def nested(depth):
    data = {"type": "Discrete", "n": 2, "start": 0, "dtype": "int64"}
    for _ in range(depth):
        data = {"type": "Tuple", "spaces": [data]}
    return data


def round_trip(space):
    text = json.dumps(space_to_json(space), allow_nan=False)
    return space_from_json(json.loads(text))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: repr(space)[:40])
def test_a_space_survives_json(space):
    found = round_trip(space)
    assert found == space
    assert type(found) is type(space)
    assert space_to_json(found) == space_to_json(space)


def test_bounds_survive_to_the_last_bit():
    found = round_trip(spaces.Box(VARIED, np.full((2, 2), np.inf, np.float32)))
    assert found.low.dtype == np.float32
    assert found.low.tobytes() == VARIED.tobytes()


def test_the_order_of_keys_survives():
    assert list(round_trip(SPACES[-1]).spaces) == ["z", "a"]


def test_equal_bounds_are_written_once():
    assert len(json.dumps(space_to_json(spaces.Box(0, 255, (210, 160, 3), np.uint8)))) < 100


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5))
def test_any_float_bound_survives(bounds):
    low = np.array(bounds, np.float32)
    found = round_trip(spaces.Box(low, np.full(len(low), np.inf, np.float32)))
    assert found.low.tobytes() == spaces.Box(low, np.inf, low.shape).low.tobytes()


def test_a_space_without_fixed_shape_is_refused_with_the_remedy():
    space = spaces.Dict({"list": spaces.Sequence(spaces.Discrete(2))})
    with pytest.raises(InvalidEnvironment, match="TransformObservation"):
        space_to_json(space)


def test_a_subclass_is_refused_because_it_may_hold_more():
    class Odd(spaces.Discrete):
        pass

    with pytest.raises(InvalidEnvironment, match="one of"):
        space_to_json(Odd(3))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "Graph"},
        {"type": "Discrete", "n": 0, "start": 0, "dtype": "int64"},
        {"type": "Box", "shape": [2], "dtype": "float32", "low": [0.0], "high": 1.0},
        {"type": "Box", "shape": [2], "dtype": "float99", "low": 0.0, "high": 1.0},
        {"type": "Discrete", "n": 10**9, "start": 0, "dtype": "int64"},
        {"type": "Discrete", "n": "5", "start": 0, "dtype": "int64"},
        {"type": "Discrete", "n": 5, "start": 0, "dtype": "S1000000000"},
        {"type": "Box", "shape": [10**9], "dtype": "float32", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [10**5] * 99, "dtype": "float32", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [-2, -2], "dtype": "float32", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": "22", "dtype": "float32", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [2], "dtype": "V1000000000", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [2], "dtype": "(9,)f4", "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [2], "dtype": None, "low": 0.0, "high": 1.0},
        {"type": "Box", "shape": [2], "dtype": "int8", "low": 0, "high": 10**9},
        {"type": "Box", "shape": [2], "dtype": "float32", "low": None, "high": 1.0},
        {"type": "MultiBinary", "n": 10**9},
        {"type": "MultiBinary", "n": [10**5, 10**5]},
        {"type": "MultiDiscrete", "shape": [10**9], "dtype": "int64", "nvec": 0, "start": 0},
        {"type": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": 10**9, "start": 0},
        {"type": "MultiDiscrete", "shape": [1], "dtype": "int64", "nvec": [10**9], "start": 0},
        {"type": "Text", "max": 10**9, "min": 0, "charset": "ab"},
        {"type": "Text", "max": 3, "min": 0, "charset": ["ab", 3]},
        {"type": "Tuple", "spaces": [{"type": "MultiBinary", "n": MAX_NUMBERS // 2}] * 3},
        {"type": "Tuple", "spaces": "ab"},
        {"type": "Dict", "spaces": [[3, {"type": "MultiBinary", "n": 1}]] * 2},
        {"type": 10**5_000},
        nested(MAX_DEPTH),
        nested(50_000),
        [1],
        None,
    ],
    ids=lambda data: type(data).__name__,  # a value too long to show is shown by its address
)
def test_what_is_no_space_is_refused(data):
    with pytest.raises(InvalidArchive, match="does not describe a space"):
        space_from_json(data)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(MAX_NUMBERS + 1),
        spaces.MultiDiscrete([MAX_NUMBERS, 2]),
        spaces.Tuple([spaces.Discrete(MAX_NUMBERS), spaces.Discrete(2)]),
    ],
    ids=str,
)
def test_a_space_too_large_to_be_read_is_not_written(space):
    with pytest.raises(InvalidEnvironment, match="at most 16,777,216 numbers"):
        space_to_json(space)


def test_the_largest_space_is_written_and_read():
    assert round_trip(spaces.Discrete(MAX_NUMBERS)) == spaces.Discrete(MAX_NUMBERS)
    assert space_from_json(nested(MAX_DEPTH - 1)) is not None


def test_a_short_text_cannot_ask_for_much_memory():
    data = {"type": "Box", "shape": [10**9], "dtype": "float32", "low": 0.0, "high": 1.0}
    tracemalloc.start()
    with pytest.raises(InvalidArchive):
        space_from_json(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000
