"""The documentation's table of algorithms and action spaces is what the agent accepts."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.learners import ALGORITHMS, CONTRIB
from gym_attrplan.algorithms import OptionCritic
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.masks import mask_sizes

SPACES = {
    "Discrete": spaces.Discrete(3),
    "MultiDiscrete": spaces.MultiDiscrete([2, 3]),
    "MultiBinary": spaces.MultiBinary(2),
    "Box": spaces.Box(-1, 1, (2,)),
}


def read_table():
    text = (Path(__file__).parents[2] / "docs" / "agent.rst").read_text()
    rows = re.findall(r'^``"?(\w+)"?`` +(yes|no) +(yes|no) +(yes|no) +(yes|no) ', text, re.M)
    return {name: dict(zip(SPACES, cells, strict=True)) for name, *cells in rows}


TABLE = read_table()


class Blinker(gym.Env):
    """On and off in turns, whatever is done."""

    observation_space = spaces.Box(0, 1, (1,))

    def __init__(self, action_space):
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.on = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.on = 1 - self.on
        return np.full(1, self.on, np.float32), 0.0, False, False, {}

    def action_masks(self):
        return np.ones(sum(mask_sizes(self.action_space)))


def test_every_algorithm_is_in_the_table():
    assert set(TABLE) == {*ALGORITHMS, *CONTRIB, "OptionCritic"}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("space", SPACES)
def test_the_agent_takes_what_the_table_says(name, space):
    env = gym.wrappers.TimeLimit(Blinker(SPACES[space]), 20)
    env = AttributeWrapper(env, ["on"], lambda env, seen: [int(seen[0])])
    low_level = OptionCritic if name == "OptionCritic" else name
    try:
        AttributePlannerAgent("MultiInputPolicy", env, low_level=low_level, device="cpu")
        accepted = "yes"
    except InvalidEnvironment:
        accepted = "no"
    assert accepted == TABLE[name][space]
