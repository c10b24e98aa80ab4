"""Agents to report on: one whose attributes say all, and one whose attributes hide a mood."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper

SMALL = {"n_steps": 32, "batch_size": 128}
QUICK = {"max_hop_steps": 4, "low_level_kwargs": SMALL}
FIRST = {"hops": "neighbours", "exploration_kwargs": SMALL}


class Moody(gym.Env):
    """A lamp whose switch works in a good mood only; the mood is seen, but is no attribute."""

    observation_space = spaces.Box(0.0, 1.0, (1,))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.lit, self.mood = 0, int(self.np_random.integers(2))
        return np.array([self.mood], np.float32), {}

    def step(self, action):
        self.lit ^= int(action) & self.mood
        return np.array([self.mood], np.float32), 0.0, False, False, {}


def any_bits(achieved, rng):
    return rng.integers(2, size=achieved.shape, dtype=np.int8)


def wrapped(env, names, attributes):
    env = gym.wrappers.TimeLimit(env, 20)
    return AttributeWrapper(env, names, attributes, goal_sampler=any_bits)


def trained(make, total_timesteps, seed, log=None, **options):
    torch.set_num_threads(1)
    worlds = DummyVecEnv([make] * 8)
    agent = AttributePlannerAgent("MultiInputPolicy", worlds, seed=seed, **QUICK, **options)
    if log is not None:
        agent.set_logger(configure(str(log), ["csv"]))
    return agent.learn(total_timesteps)


def counter():
    return wrapped(GenericTestEnv(), ["four", "two", "one"], three_bits)


def moody():
    return wrapped(Moody(), ["lit"], lambda env, observation: [env.unwrapped.lit])
