"""SpreadEpisodes: parallel worlds come out of step."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.algorithms import SpreadEpisodes
from gym_attrplan.algorithms.spread import episode_limit

LIMIT = 40


class Ends(BaseCallback):
    """Notes how many episodes end with each step."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def _on_step(self):
        self.counts.append(int(self.locals["dones"].sum()))
        return True


def make_single():
    return gym.make("AttrSwitches-v0", n_switches=3, max_episode_steps=LIMIT)


def make_batch():
    options = {"n_switches": 3, "max_episode_steps": LIMIT}
    return as_vec_env("AttrSwitches-v0", n_envs=4, env_kwargs=options)


def ends(venv, *callbacks):
    """Ends of episodes at each step of the second and third episode."""
    noted = Ends()
    model = PPO("MultiInputPolicy", venv, n_steps=LIMIT, batch_size=4 * LIMIT, device="cpu", seed=0)
    model.learn(4 * 3 * LIMIT, [*callbacks, noted])
    venv.close()
    return np.array(noted.counts[LIMIT:])


@pytest.mark.parametrize("make", [make_batch, lambda: DummyVecEnv([make_single] * 4)])
def test_episodes_end_one_after_the_other(make):
    assert ends(make()).max() == 4
    spread = ends(make(), SpreadEpisodes())
    assert spread.max() <= 2  # two at once if one of them met its goal just then
    assert spread.sum() >= 8


def test_worlds_in_other_processes_are_spread_too():
    spread = ends(SubprocVecEnv([make_single] * 4, start_method="fork"), SpreadEpisodes())
    assert spread.max() <= 2


def test_the_limit_is_the_batchs_own_or_the_specs_or_unknown():
    assert episode_limit(make_batch()) == LIMIT
    assert episode_limit(DummyVecEnv([make_single])) == LIMIT
    assert episode_limit(DummyVecEnv([lambda: make_single().unwrapped])) is None
