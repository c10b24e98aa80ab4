"""The defaults that hops are learned with."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from odd_envs import Walk, make_walk, sides
from odd_envs import make_agent as make_quick_agent
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.torch_layers import CombinedExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from stable_baselines3.her import GoalSelectionStrategy
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.hindsight import ChangeReplayBuffer
from gym_attrplan.agent.low_level import defaults, hop_defaults
from gym_attrplan.algorithms import Reinforce, TerminalHerReplayBuffer
from gym_attrplan.error import InvalidData, InvalidEnvironment, InvalidOption


def make_env(action_space=None):
    env = GenericTestEnv()
    if action_space is not None:
        env.action_space = action_space
    return AttributeWrapper(env, ["four", "two", "one"], three_bits)


def make_agent(n=2, *, action_space=None, **options):
    venv = DummyVecEnv([lambda: make_env(action_space)] * n)
    return AttributePlannerAgent("MultiInputPolicy", venv, seed=0, device="cpu", **options)


def test_hindsight_relabels_a_hop_to_what_changed_or_to_the_neighbour_where_it_ended():
    assert type(make_agent(low_level="dqn").low_level.replay_buffer) is ChangeReplayBuffer
    buffer = make_agent(low_level="dqn", hops="neighbours").low_level.replay_buffer
    assert type(buffer) is TerminalHerReplayBuffer
    assert buffer.goal_selection_strategy is GoalSelectionStrategy.FINAL


def test_hindsight_as_the_user_wants_it_comes_first():
    kwargs = {"replay_buffer_kwargs": {"goal_selection_strategy": "future"}, "gradient_steps": 1}
    model = make_agent(low_level="dqn", hops="neighbours", low_level_kwargs=kwargs).low_level
    assert model.replay_buffer.goal_selection_strategy is GoalSelectionStrategy.FUTURE
    assert model.gradient_steps == 1
    plain = {"replay_buffer_class": TerminalHerReplayBuffer, "gradient_steps": 1}
    model = make_agent(low_level="dqn", low_level_kwargs=plain).low_level
    assert type(model.replay_buffer) is TerminalHerReplayBuffer
    assert model.gradient_steps == 1


def test_the_noise_of_continuous_hops_and_of_exploring_lasts():
    for hops in ("changes", "neighbours"):
        agent = make_agent(action_space=spaces.Box(-1, 1, (2,), np.float32), hops=hops)
        for model in (agent.low_level, agent.explorer):
            assert (model.use_sde, model.sde_sample_freq) == (True, 16)


def test_discrete_hops_have_no_such_noise():
    assert not make_agent().low_level.use_sde


@pytest.mark.parametrize("algorithm", [PPO, A2C, Reinforce])
def test_only_the_entropy_of_discrete_actions_is_rewarded(algorithm):
    few, box = spaces.Discrete(2), spaces.Box(-1, 1, (2,), np.float32)
    worlds = [SimpleNamespace(num_envs=32, action_space=space) for space in (few, box)]
    assert [defaults(algorithm, one)["ent_coef"] for one in worlds] == [0.01, 0.0]


def test_an_algorithm_is_given_only_what_it_takes():
    class Plain(PPO):
        def __init__(self, policy, env, learning_rate=1e-3, policy_kwargs=None, seed=None):
            super().__init__(policy, env, learning_rate, policy_kwargs=policy_kwargs, seed=seed)

    model = make_agent(low_level=Plain, low_level_kwargs={"seed": 7}).low_level
    assert (model.ent_coef, model.gamma, model.seed) == (0.0, 0.99, 0)


@pytest.mark.parametrize(
    ("low_level", "kwargs", "message"),
    [
        ("ppo", {"n_step": 8}, "PPO takes no 'n_step'. Did you mean 'n_steps'"),
        ("reinforce", {"n_step": 8}, "Reinforce takes no 'n_step'. Did you mean 'n_steps'"),
        ("inverse", {"max_epoch": 8}, "takes no 'max_epoch'. Did you mean 'max_epochs'"),
        ("ppo", {"learning_rate": "lin_1e-3"}, "a number above 0; received 'lin_1e-3'"),
        ("dqn", {"learning_rate": -1}, "a number above 0; received -1"),
    ],
)
def test_arguments_that_an_algorithm_cannot_use_are_refused_early(low_level, kwargs, message):
    with pytest.raises(InvalidOption, match=message):
        make_agent(low_level=low_level, low_level_kwargs=kwargs)


def test_the_learning_rate_of_models_and_of_exploring_is_a_number_too():
    rate = {"learning_rate": "lin_1e-3"}
    with pytest.raises(InvalidData, match="a number above 0; received 'lin_1e-3'"):
        make_agent(low_level="inverse", low_level_kwargs=rate)
    with pytest.raises(InvalidOption, match="a number above 0; received 'lin_1e-3'"):
        make_agent(hops="neighbours", exploration_kwargs=rate)


def test_a_policy_that_reads_one_array_is_refused_with_the_remedy():
    with pytest.raises(InvalidOption, match=r"cannot use the policy 'MlpPolicy'.*MultiInputPolicy"):
        AttributePlannerAgent("MlpPolicy", make_env())


def test_only_algorithms_that_can_take_the_actions_are_named():
    buttons = spaces.MultiBinary(2)
    with pytest.raises(InvalidEnvironment, match=r"these can: a2c, ppo, reinforce\.$"):
        make_agent(low_level="dqn", action_space=buttons)
    make_agent(low_level="reinforce", action_space=buttons)


@pytest.mark.parametrize("n_envs", [4, 16])
def test_hindsight_waits_for_no_first_episode(n_envs):
    nothing_changes = partial(make_walk, function=lambda env, seen: [0, 0], length=None)
    agent = make_quick_agent(
        DummyVecEnv([nothing_changes] * n_envs), "dqn", exploration_fraction=0.0, max_hop_steps=999
    )
    agent.learn(100)
    assert agent.low_level.replay_buffer.ep_length.max() == 0
    assert agent.low_level._n_updates > 0


def test_a_buffer_keeps_the_goals_of_hops_beside_vec_normalize():
    def make():
        both = lambda achieved, rng: [[1, 1]] * len(achieved)  # noqa: E731
        return AttributeWrapper(Walk(), ["left", "right"], sides, goal_sampler=both)

    venv = VecNormalize(DummyVecEnv([make] * 2), norm_obs_keys=["observation"])
    agent = make_quick_agent(venv, "dqn").learn(300)
    buffer = agent.low_level.replay_buffer
    goals = buffer.observations["desired_goal"][: buffer.pos]
    assert len(goals) > 50
    assert ((goals != -1).sum(axis=-1) <= 1).all()  # no hop asks for both sides at once


def test_the_entropy_of_sac_stays_below_the_reward_of_a_hop():
    assert hop_defaults(SAC, spaces.Box(-1, 1, (2,), np.float32))["ent_coef"] == 0.01
    assert "ent_coef" not in hop_defaults(DQN, spaces.Discrete(2))


def test_our_features_extractor_knows_the_names_of_values_and_another_takes_none():
    names = ["not four", "four", "not two", "two", "not one", "one"]
    for given in ({}, {"features_extractor_kwargs": {"image_features": 8}}):
        kwargs = make_agent(policy_kwargs=given).low_level.policy.features_extractor_kwargs
        assert kwargs == {"names": names, **given.get("features_extractor_kwargs", {})}
    other = {"features_extractor_class": CombinedExtractor}
    policy = make_agent(policy_kwargs=other).low_level.policy
    assert type(policy.features_extractor) is CombinedExtractor
    assert not policy.features_extractor_kwargs
