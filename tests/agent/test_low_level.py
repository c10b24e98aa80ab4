"""The defaults that hops are learned with."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.her import GoalSelectionStrategy
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.low_level import defaults, hop_defaults
from gym_attrplan.algorithms import Reinforce


def make_env(action_space=None):
    env = GenericTestEnv()
    if action_space is not None:
        env.action_space = action_space
    return AttributeWrapper(env, ["four", "two", "one"], three_bits)


def make_agent(n=2, *, action_space=None, **options):
    venv = DummyVecEnv([lambda: make_env(action_space)] * n)
    return AttributePlannerAgent("MultiInputPolicy", venv, seed=0, device="cpu", **options)


def test_hindsight_relabels_a_hop_to_where_it_ended():
    buffer = make_agent(low_level="dqn").low_level.replay_buffer
    assert buffer.goal_selection_strategy is GoalSelectionStrategy.FINAL


def test_hindsight_as_the_user_wants_it_comes_first():
    kwargs = {"replay_buffer_kwargs": {"goal_selection_strategy": "future"}, "gradient_steps": 1}
    model = make_agent(low_level="dqn", low_level_kwargs=kwargs).low_level
    assert model.replay_buffer.goal_selection_strategy is GoalSelectionStrategy.FUTURE
    assert model.gradient_steps == 1


def test_the_noise_of_continuous_hops_and_of_exploring_lasts():
    agent = make_agent(action_space=spaces.Box(-1, 1, (2,), np.float32))
    for model in (agent.low_level, agent.explorer):
        assert (model.use_sde, model.sde_sample_freq) == (True, 16)


def test_discrete_hops_have_no_such_noise():
    assert not make_agent().low_level.use_sde


@pytest.mark.parametrize("algorithm", [PPO, A2C, Reinforce])
def test_only_the_entropy_of_discrete_actions_is_rewarded(algorithm):
    few, box = spaces.Discrete(2), spaces.Box(-1, 1, (2,), np.float32)
    worlds = [SimpleNamespace(num_envs=32, action_space=space) for space in (few, box)]
    assert [defaults(algorithm, one)["ent_coef"] for one in worlds] == [0.01, 0.0]


def test_the_entropy_of_sac_stays_below_the_reward_of_a_hop():
    assert hop_defaults(SAC, spaces.Box(-1, 1, (2,), np.float32))["ent_coef"] == 0.01
    assert "ent_coef" not in hop_defaults(DQN, spaces.Discrete(2))
