"""Batches whose observations are made flat for SB3."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO

from gym_attrplan import VectorEnvAdapter
from gym_attrplan.envs.minigrid import MiniGridVectorEnv
from gym_attrplan.wrappers import FlatVectorWrapper

ENV_ID = "MiniGrid-Empty-5x5-v0"


def test_text_is_dropped_and_small_images_are_no_images_to_sb3():
    envs = FlatVectorWrapper(MiniGridVectorEnv(ENV_ID, 3))
    observations, _ = envs.reset(seed=0)
    assert set(observations) == {"image", "direction"}
    assert observations["image"].dtype == np.int16
    assert envs.observation_space.contains(observations)


def test_text_is_kept_as_bytes_if_asked_for():
    envs = FlatVectorWrapper(MiniGridVectorEnv(ENV_ID, 2), text=3)
    observations, _ = envs.reset(seed=0)
    assert observations["mission"].tolist() == [list(b"get")] * 2


def test_the_last_observation_of_an_episode_is_made_flat_too():
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    for inner in (
        MiniGridVectorEnv(ENV_ID, 2, max_steps=1),
        gym.make_vec(ENV_ID, 2, vectorization_mode="sync", vector_kwargs=mode, max_steps=1),
    ):
        envs = FlatVectorWrapper(inner)
        envs.reset(seed=0)
        *_, info = envs.step(np.array([0, 0]))
        assert all(map(envs.single_observation_space.contains, info["final_obs"]))


def test_ppo_learns_on_the_batched_minigrid():
    envs = FlatVectorWrapper(MiniGridVectorEnv(ENV_ID, 16, pool_size=32, max_steps=20))
    model = PPO("MultiInputPolicy", VectorEnvAdapter(envs), n_steps=32, batch_size=64, n_epochs=1)
    model.learn(1024)
    assert len(model.ep_info_buffer) >= 1024 // 20 - 16
