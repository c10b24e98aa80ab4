"""Observations that are not what the environment declares."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from odd_envs import make_walk

from gym_attrplan.error import InvalidEnvironment

ONE = spaces.Box(0, 4, (1,), np.float32)


@pytest.mark.parametrize(
    ("space", "value", "message"),
    [
        (ONE, np.zeros(2, np.float32), r"declares 'observation' as Box.* and observed array"),
        (spaces.Box(0, 1, (2, 3)), np.zeros((3, 2), np.float32), r"the shape is \(3, 2\)"),
        (ONE, [[1], [2, 3]], "inhomogeneous"),
        (ONE, "here", "could not convert"),
        (spaces.Box(0, 4, (1,), np.int8), np.array([0.5]), "these are no int8"),
        (spaces.Dict({"a": ONE, "b": ONE}), {"a": np.zeros(1)}, "declares 'b' and did not observe"),
        (spaces.Tuple([ONE, ONE]), (np.zeros(1),), "declares 'observation_1' and did not observe"),
    ],
)
def test_an_observation_is_held_to_its_space(space, value, message):
    env = make_walk(observation_space=space, observe=lambda place, n: value)
    with pytest.raises(InvalidEnvironment, match=message):
        env.reset(seed=0)


def test_whole_numbers_may_come_as_floats():
    whole = spaces.Box(0, 4, (1,), np.int8)
    env = make_walk(observation_space=whole, observe=lambda place, n: np.array([float(place)]))
    observed = env.reset(seed=0)[0]["observation"]
    assert (observed.tolist(), observed.dtype) == ([2], np.int8)
