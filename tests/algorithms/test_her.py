"""Hindsight that relabels terminals: what is stored, what is sampled, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3 import DQN, HerReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from examples.bit_flip import make_env, success_rate, train
from gym_attrplan import AttributeWrapper, TerminalHerReplayBuffer
from gym_attrplan.error import InvalidEnvironment

BITS = ["four", "two", "one"]


def filled_buffer(kind, *, ends_at=None, n_steps=40):
    """A buffer of episodes of four steps of the counter, aimed at a goal never met."""

    def make():
        return AttributeWrapper(
            GenericTestEnv(ends_at=ends_at), BITS, three_bits, goal_sampler=never
        )

    env = DummyVecEnv([make])
    buffer = kind(
        200, env.observation_space, env.action_space, env=env, handle_timeout_termination=False
    )
    observation = env.reset()
    for i in range(n_steps):
        following, rewards, dones, infos = env.step([1])
        cut = dones | (i % 4 == 3)  # an episode ends after four steps
        last = following
        if dones[0]:  # what a VecEnv returns is then the next episode's start
            last = {key: part[None] for key, part in infos[0]["terminal_observation"].items()}
        buffer.add(observation, last, np.array([[1]]), rewards, cut, infos)
        observation = env.reset() if cut[0] else following
    return buffer


def never(achieved, rng):
    return [[1, 1, 1]] * len(achieved)


def relabelled(buffer, n=512):
    samples = buffer.sample(n)
    virtual = slice(n - int(buffer.her_ratio * n), None)  # real samples stand first
    achieved = samples.next_observations["achieved_goal"][virtual].numpy()
    desired = samples.next_observations["desired_goal"][virtual].numpy()
    met = (achieved == desired).all(axis=1)
    return met, samples.dones[virtual].numpy().ravel() > 0, samples.rewards[virtual].numpy().ravel()


def test_a_relabelled_transition_ends_exactly_where_its_new_goal_is_met():
    met, done, rewards = relabelled(filled_buffer(TerminalHerReplayBuffer))
    assert met.any()
    assert not met.all()
    np.testing.assert_array_equal(done, met)
    np.testing.assert_array_equal(rewards, met.astype(np.float32))


def test_the_stock_buffer_leaves_met_goals_open():
    met, done, _ = relabelled(filled_buffer(HerReplayBuffer))
    assert (met & ~done).any()


def test_the_worlds_own_end_stays_an_end_under_every_goal():
    buffer = filled_buffer(TerminalHerReplayBuffer, ends_at=2)
    samples = buffer.sample(256)
    ended = (samples.next_observations["achieved_goal"].numpy() == [0, 1, 0]).all(axis=1)
    assert ended.any()
    assert (samples.dones.numpy().ravel()[ended] == 1).all()


def test_an_environment_that_cannot_say_when_it_ends_is_refused():
    class Plain(GenericTestEnv):
        def compute_reward(self, achieved, desired, info):
            return np.zeros(len(achieved), np.float32)

    space = AttributeWrapper(GenericTestEnv(), BITS, three_bits).observation_space
    env = DummyVecEnv([Plain])
    with pytest.raises(InvalidEnvironment, match="compute_terminated"):
        TerminalHerReplayBuffer(10, space, env.action_space, env=env)


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_six_bit_flips_where_the_stock_buffer_does_worse(seed):
    ours = train(TerminalHerReplayBuffer, 4_000, seed)
    stock = train(HerReplayBuffer, 4_000, seed)
    assert success_rate(ours) > 0.95
    assert success_rate(ours) > success_rate(stock)
    # No policy can earn more than the one reward of 1.
    assert highest_value(ours) < 1.2 < highest_value(stock)


def highest_value(model: DQN) -> float:
    env = make_env()
    observations = [env.reset(seed=seed)[0] for seed in range(100)]
    values = [model.q_net(model.q_net.obs_to_tensor(one)[0]).max().item() for one in observations]
    return max(values)


def test_a_saved_model_loads_with_an_environment_and_trains_on(tmp_path):
    model = train(TerminalHerReplayBuffer, 600)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    again = DQN.load(tmp_path / "model", env=make_env())
    again.load_replay_buffer(tmp_path / "buffer", truncate_last_traj=True)
    again.learn(50, reset_num_timesteps=False)
    assert again.num_timesteps >= 650
