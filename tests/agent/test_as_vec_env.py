"""Environments of every kind as one VecEnv, and those that no agent can use."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TransformAction
from odd_envs import make_agent, make_walk
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env, origin
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment, InvalidOption

SWITCHES = "AttrSwitches-v0"


@pytest.mark.parametrize(
    ("env_id", "given", "made"),
    [("FrozenLake-v1", 3, 3), ("FrozenLake-v1", None, 32), (SWITCHES, 3, 3), (SWITCHES, None, 64)],
)
def test_as_many_environments_are_made_of_an_id_as_were_asked_for(env_id, given, made):
    assert as_vec_env(env_id, n_envs=given).num_envs == made


def test_the_copies_of_an_id_are_monitored_and_each_its_own():
    venv = as_vec_env("FrozenLake-v1", n_envs=2, env_kwargs={"is_slippery": False})
    venv.reset()
    observations, _, _, _ = venv.step(np.array([2, 1]))  # right, down
    assert observations["observation"].tolist() == [1, 4]
    assert venv.get_attr("total_steps") == [1, 1]


def test_no_environments_cannot_be_asked_for():
    with pytest.raises(InvalidOption, match="at least 1; received 0"):
        as_vec_env("FrozenLake-v1", n_envs=0)
    with pytest.raises(InvalidOption, match="n_envs is from 1"):
        AttributePlannerAgent("MultiInputPolicy", "FrozenLake-v1", n_envs=0)


def test_an_id_whose_batched_twin_has_no_attributes_is_told_so():
    with pytest.raises(InvalidAttributes, match=r"no attributes are ready for .*CartPole"):
        as_vec_env("CartPole-v1")
    batch = gym.make_vec("CartPole-v1", 2, vectorization_mode="vector_entry_point")
    with pytest.raises(InvalidEnvironment, match="this environment has none"):
        as_vec_env(batch)


@pytest.mark.parametrize("low_level", ["ppo", "dqn", "inverse"])
@pytest.mark.parametrize(
    "space", [spaces.Discrete(2, start=5), spaces.MultiDiscrete([2, 3], start=[1, 0])], ids=str
)
def test_actions_that_do_not_start_at_0_are_refused_with_the_remedy(space, low_level):
    with pytest.raises(InvalidEnvironment, match=r"number actions from 0.*TransformAction"):
        make_agent(make_walk(action_space=space), low_level)


@pytest.mark.parametrize("low_level", ["ppo", "dqn", "inverse"])
def test_shifted_as_the_message_says_actions_are_inside_their_space(low_level):
    taken = set()

    class Shifted(TransformAction):
        def step(self, action):
            taken.add(int(self.func(action)))
            return super().step(self.func(action) - 5)

    env = Shifted(make_walk(), lambda a: a + 5, spaces.Discrete(2))
    agent = make_agent(env, low_level).learn(200)
    assert taken == {5, 6}
    assert int(agent.predict(env.reset(seed=0)[0])[0]) in (0, 1)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]),
        spaces.Dict({"move": spaces.Discrete(2)}),
        spaces.Box(-np.inf, np.inf, (2,)),
        spaces.MultiBinary([2, 2]),
        spaces.MultiDiscrete([[2, 2], [2, 2]]),
        spaces.Text(3),
    ],
    ids=lambda space: type(space).__name__,
)
def test_actions_that_no_algorithm_takes_are_refused_without_naming_one(space):
    with pytest.raises(InvalidEnvironment, match="no algorithm can take") as raised:
        as_vec_env(make_walk(action_space=space))
    assert "ppo" not in str(raised.value)


def test_normalised_attributes_are_refused_with_the_keys_that_may_be():
    venv = VecNormalize(DummyVecEnv([make_walk]))
    with pytest.raises(InvalidEnvironment, match=r"norm_obs_keys=\['observation'\]") as raised:
        as_vec_env(venv)
    assert "array" not in str(raised.value)


@pytest.mark.parametrize("low_level", ["ppo", "dqn", "inverse"])
def test_other_keys_may_be_normalised(low_level):
    venv = VecNormalize(DummyVecEnv([make_walk] * 2), norm_obs_keys=["observation"])
    agent = make_agent(venv, low_level).learn(300)
    venv.training = False
    observations = venv.reset()
    assert set(agent.predict(observations)[0].tolist()) <= {0, 1}
    assert venv.obs_rms["observation"].count > 100
    assert agent.get_vec_normalize_env() is venv


def test_stacked_attributes_are_refused():
    with pytest.raises(InvalidEnvironment, match="the space of 'achieved_goal' must be"):
        as_vec_env(VecFrameStack(DummyVecEnv([make_walk]), 2))


def test_the_origin_of_a_batch_is_that_of_its_single_environment():
    kwargs = {"size": 5, "n_walls": 0}
    single = as_vec_env(gym.make(SWITCHES, **kwargs, max_episode_steps=9, render_mode="rgb_array"))
    batch = as_vec_env(SWITCHES, n_envs=2, env_kwargs={**kwargs, "max_episode_steps": 9})
    expected = {"id": SWITCHES, "kwargs": {**kwargs, "max_episode_steps": 9}}
    assert origin(single) == origin(batch) == expected
    assert origin(as_vec_env(make_walk())) is None
