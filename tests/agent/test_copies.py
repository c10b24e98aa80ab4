"""Copies of an environment: threads change only the time, and stay only where they save it."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import same

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent import copies
from gym_attrplan.agent.copies import N_TRIALS, SLOW, CopiesVecEnv
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.wrappers import with_attributes

N_ENVS = 5


def make_taxi():
    return with_attributes(gym.make("Taxi-v4", max_episode_steps=12))


def make_cartpole():
    return gym.make("CartPole-v1", max_episode_steps=12)


@pytest.fixture
def clock(monkeypatch):
    """A clock on which each step takes the next of the given seconds."""
    seconds, now = [], [0.0]

    def read():
        now.append(now[-1] + (seconds.pop(0) if len(now) % 2 == 0 else 0.0))
        return now[-1]

    monkeypatch.setattr(copies.time, "perf_counter", read)
    return seconds


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def timed(clock, alone, in_threads):
    """Environments that took so long, one after the other and in threads."""
    venv = CopiesVecEnv([make_cartpole] * N_ENVS)
    clock += [9.0, *[alone] * (N_TRIALS - 1), 9.0, *[in_threads] * (N_TRIALS - 1), 0.0]
    venv.reset()
    threads = []
    for _ in range(2 * N_TRIALS + 1):
        venv.step(np.zeros(N_ENVS, int))
        threads.append(venv.n_threads)
    venv.close()
    return threads


@pytest.mark.parametrize("make", [make_taxi, make_cartpole])
def test_threads_see_what_one_thread_sees(make):
    plain, threaded = (kind([make] * N_ENVS) for kind in (DummyVecEnv, CopiesVecEnv))
    threaded.start_threads(2)
    rng = np.random.default_rng(0)
    for venv in (plain, threaded):
        venv.seed(3)
    assert same(plain.reset(), threaded.reset())
    for _ in range(40):  # three episodes and more
        actions = rng.integers(plain.action_space.n, size=N_ENVS)
        assert same(plain.step(actions), threaded.step(actions))
        assert same(plain.reset_infos, threaded.reset_infos)
    assert threaded.n_threads == 2
    threaded.close()
    assert threaded.n_threads == 1


def test_threads_that_save_time_stay(clock, two_threads):
    threads = timed(clock, alone=2.0, in_threads=1.0)
    assert threads == [1] * (N_TRIALS - 1) + [2] * (N_TRIALS + 2)


def test_threads_that_save_little_go(clock, two_threads):
    threads = timed(clock, alone=2.0, in_threads=1.8)
    assert threads == [1] * (N_TRIALS - 1) + [2] * N_TRIALS + [1] * 2


def test_fast_environments_try_no_threads(clock, two_threads):
    assert set(timed(clock, alone=0.9 * SLOW * N_ENVS, in_threads=0.0)) == {1}


def test_one_thread_of_torch_forbids_threads(clock):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert set(timed(clock, alone=2.0, in_threads=1.0)) == {1}
    torch.set_num_threads(before)


def test_an_error_in_a_thread_is_raised_after_the_others_are_done():
    class Failing(gym.Wrapper):
        def step(self, action):
            raise RuntimeError("the motor is stuck")

    stepped = []

    class Counting(gym.Wrapper):
        def step(self, action):
            stepped.append(action)
            return super().step(action)

    venv = CopiesVecEnv([lambda: Failing(make_cartpole()), lambda: Counting(make_cartpole())])
    venv.start_threads(2)
    venv.reset()
    with pytest.raises(RuntimeError, match="motor"):
        venv.step(np.zeros(2, int))
    assert len(stepped) == 1
    venv.close()


def test_an_id_gets_such_copies_and_the_log_says_how_many_threads():
    venv = as_vec_env("Taxi-v4", n_envs=2)
    assert isinstance(venv.unwrapped, CopiesVecEnv)
    venv.unwrapped.start_threads(2)
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=0)
    said = []
    agent.logger.record = lambda key, value, *_, **__: said.append((key, value))
    agent.set_logger(agent.logger)
    agent.learn(64, log_interval=None)
    assert ("time/env_threads", 2) in said
    venv.close()
