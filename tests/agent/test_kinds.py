"""An agent in another environment than that of its training."""

from __future__ import annotations

import json
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from odd_envs import make_agent, make_walk

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.advice import AdviceWarning
from gym_attrplan.error import InvalidArchive, InvalidEnvironment, InvalidGoal, InvalidOption
from gym_attrplan.wrappers.origin import origin_from_json, origin_of


@pytest.fixture(scope="module")
def agent():
    return make_agent(make_walk())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"names": ["left", "high"]}, "attributes: 'right' is missing, 'high' is new"),
        ({"names": ["right", "left"]}, "their order is 'right', 'left' instead of"),
        ({"observation_space": spaces.Dict({"x": spaces.Discrete(5)})}, "'observation' is missing"),
        ({"observation_space": spaces.Box(0, 4, (2,))}, r"'observation' is Box\(0.0, 4.0, \(2,\)"),
        ({"action_space": spaces.Discrete(3)}, r"'action' is Discrete\(3\) instead of Discrete"),
    ],
)
def test_what_differs_in_another_environment_is_named(agent, other, message):
    with pytest.raises(InvalidEnvironment, match=message):
        agent.set_env(make_walk(**other))


def test_an_attribute_of_another_size_is_named(agent):
    env = AttributeWrapper(make_walk().env, {"left": 3, "right": 2}, lambda env, seen: [0, 0])
    with pytest.raises(InvalidEnvironment, match="'left' is 3 instead of 2"):
        agent.set_env(env)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"observation": np.zeros(2, np.float32)}, InvalidEnvironment, r"'observation' is \(2,\)"),
        ({"lidar": np.zeros(2, np.float32)}, InvalidEnvironment, "'lidar' is new"),
        ({"achieved_goal": np.zeros(5, np.int8)}, InvalidGoal, "each attribute: left, right;"),
    ],
)
def test_predict_names_what_is_of_another_environment(agent, change, error, message):
    observation, _ = make_walk().reset(seed=0)
    with pytest.raises(error, match=message):
        agent.predict({**observation, **change})


def lake(**kwargs):
    return AttributeWrapper(gym.make("FrozenLake-v1", **kwargs))


def test_the_arguments_of_training_are_saved_compared_and_said(tmp_path, recwarn):
    agent = make_agent(lake(is_slippery=False))
    assert agent.trained_in is None
    agent.learn(100)
    agent.save(tmp_path / "agent.zip")
    trained = {"id": "FrozenLake-v1", "kwargs": {"is_slippery": False}}
    with zipfile.ZipFile(tmp_path / "agent.zip") as archive:
        assert json.loads(archive.read("agent.json"))["trained_in"] == trained
    recwarn.clear()
    loaded = AttributePlannerAgent.load(tmp_path / "agent.zip", env=lake(is_slippery=False))
    assert loaded.trained_in == trained
    assert not [one for one in recwarn if one.category is AdviceWarning]
    with pytest.warns(AdviceWarning, match=r"whose 'is_slippery' is missing: .*may not hold"):
        AttributePlannerAgent.load(tmp_path / "agent.zip", env=lake())
    with pytest.warns(AdviceWarning, match="'is_slippery' is True instead of False"):
        loaded.set_env(lake(is_slippery=True))


@pytest.mark.parametrize(
    "said",
    [
        "FrozenLake-v1",
        {"id": 3, "kwargs": {}},
        {"id": "FrozenLake-v1", "kwargs": []},
        {"id": "FrozenLake-v1", "kwargs": {"function": ["evil:run"]}},
        {"id": "FrozenLake-v1"},
    ],
)
def test_a_file_may_name_no_code_as_an_argument_of_training(said):
    with pytest.raises(InvalidArchive, match="by an id and plain arguments"):
        origin_from_json(said)


def test_arguments_that_are_code_or_name_it_are_left_out():
    spec = gym.make("FrozenLake-v1", is_slippery=False).unwrapped.spec
    spec.kwargs |= {"goal_sampler": "module:function", "function": len}
    assert origin_of(spec)["kwargs"] == {"is_slippery": False}


@pytest.mark.parametrize("steps", [0, -5, float("nan")])
def test_learning_for_no_steps_is_refused(agent, steps):
    with pytest.raises(InvalidOption, match="total_timesteps is at least 1; received"):
        agent.learn(steps)
