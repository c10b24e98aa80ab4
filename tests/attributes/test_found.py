"""Attributes that nobody named: numbers that switch between a few values."""

import gymnasium as gym
import numpy as np
import pytest

from gym_attrplan import AttributeWrapper
from gym_attrplan.attributes import FoundAttributes
from gym_attrplan.error import InvalidData, InvalidOption


def rows(n=5_000):
    """A free number, a lamp as a one-hot pair, a constant, a gear of three, another lamp."""
    rng = np.random.default_rng(0)
    (lamp, other), gear = rng.integers(2, size=(2, n)), rng.integers(3, size=n)
    columns = [rng.normal(size=n), 1 - lamp, lamp, np.ones(n), 0.25 * gear, other]
    return np.stack(columns, axis=1), np.stack([1 - lamp, gear, other], axis=1)


def test_what_switches_is_found_once_and_in_order():
    seen, told = rows()
    found = FoundAttributes.find(seen)
    assert found.columns == (1, 4, 5)
    assert found.space.names == ("number 1", "number 4", "number 5")
    np.testing.assert_array_equal(found.describe(seen), told)


def test_a_value_that_was_not_seen_counts_as_the_nearest():
    found = FoundAttributes.find(rows()[0])
    observation = np.array([0.0, 0.1, 0.9, 1.0, 0.4, 7.0])
    assert found(None, observation).tolist() == [0, 2, 1]
    assert found.describe(np.stack([observation] * 2)).shape == (2, 3)


def test_a_number_that_switches_late_is_looked_at_to_the_end():
    late = np.zeros((5_000, 2))
    late[4_000:, 0] = 1.0
    late[3_000:, 1] = np.arange(2_000)  # few values at first, and then too many
    assert FoundAttributes.find(late).columns == (0,)


def test_a_gear_needs_room_for_its_values():
    assert FoundAttributes.find(rows()[0], max_values=2).columns == (1, 5)


def test_what_was_found_describes_an_environment():
    class Switch(gym.Env):
        observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float64)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return rows()[0][0], {}

        def step(self, action):
            return rows()[0][action], 0.0, False, False, {}

    seen, told = rows()
    found = FoundAttributes.find(seen)
    env = AttributeWrapper(Switch(), found.space, found)
    observation, _ = env.reset(seed=0, options={"goal": "number 4=0.25"})
    assert observation["achieved_goal"].tolist() == told[0].tolist()


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (np.arange(3.0), "rows of finite numbers"),
        (np.array([[np.nan, 1.0]]), "rows of finite numbers"),
        (np.array([["on"], ["off"]]), "rows of finite numbers"),
        (np.random.default_rng(0).normal(size=(50, 3)), "none of 3 numbers switches"),
        (np.ones((50, 3)), "none of 3 numbers switches"),
    ],
)
def test_where_there_is_nothing_to_find_it_is_said(seen, said):
    with pytest.raises(InvalidData, match=said):
        FoundAttributes.find(seen)


def test_one_value_is_no_switch():
    with pytest.raises(InvalidOption, match="max_values is at least 2; received 1"):
        FoundAttributes.find(rows()[0], max_values=1)
