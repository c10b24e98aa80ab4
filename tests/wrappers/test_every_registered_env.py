"""The wrapper over every environment that Gymnasium and MiniGrid register and that starts here."""

from __future__ import annotations

import re
import warnings
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check
from testing_env import spread

from gym_attrplan import AttributeWrapper, GoalFusionExtractor, check_attribute_env

# What does not start, why, and its error; test_the_skip_list_is_exact holds it to the truth.
SKIPPED = {
    r"phys2d/.*|tabular/.*": ("needs jax", ModuleNotFoundError),
    r"(LunarLander|BipedalWalker|CarRacing).*": ("needs Box2D", gym.error.DependencyNotInstalled),
    r"[A-Z]\w+-v2|(HalfCheetah|Hopper|Walker2d|Ant|Humanoid|Swimmer)-v3": (
        "needs the retired mujoco-py",
        # Gymnasium's own error, or Gymnasium-Robotics' where another test has registered that.
        (ImportError, gym.error.DependencyNotInstalled),
    ),
    r"Pusher-v4": ("needs mujoco below 3", ImportError),
    r"GymV(21|26)Environment-v0": ("needs shimmy", ImportError),
    r"MiniGrid-WFC-.*": ("its patterns are missing from the package", FileNotFoundError),
}


def skip_reason(env_id: str) -> tuple[str, Any] | None:
    return next((why for rule, why in SKIPPED.items() if re.fullmatch(rule, env_id)), None)


EVERY_ID = sorted(env_id for env_id in gym.registry if not env_id.startswith("Attr"))
RUNNING = [env_id for env_id in EVERY_ID if skip_reason(env_id) is None]
ONE_OF_EVERY_KIND = {
    "CartPole-v1": "Box, Discrete actions",
    "Pendulum-v1": "Box, Box actions",
    "Taxi-v4": "Discrete",
    "Blackjack-v1": "Tuple",
    "MiniGrid-DoorKey-5x5-v0": "Dict with a small image and text",
    "Ant-v5": "float64 Box",
}


def wrap(env_id: str) -> AttributeWrapper:
    return AttributeWrapper(gym.make(env_id), ["a", "b", "c"], spread)


@pytest.mark.parametrize("env_id", RUNNING)
def test_all_three_checkers_accept_the_wrapped_environment(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = wrap(env_id)
        gymnasium_check(env, skip_render_check=True)
        sb3_check(env, warn=False)
        check_attribute_env(env, n_steps=20)
        env.close()


def start(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gym.make(env_id).reset()


@pytest.mark.parametrize("env_id", [i for i in EVERY_ID if skip_reason(i) is not None])
def test_the_skip_list_is_exact(env_id):
    _, error = skip_reason(env_id)
    with pytest.raises(error):
        start(env_id)


@pytest.mark.parametrize("extractor", ["SB3's", "ours"])
@pytest.mark.parametrize("env_id", ONE_OF_EVERY_KIND)
def test_ppo_trains_on_every_observation_kind(env_id, extractor):
    kwargs = {"features_extractor_class": GoalFusionExtractor} if extractor == "ours" else {}
    model = PPO("MultiInputPolicy", wrap(env_id), n_steps=64, policy_kwargs=kwargs)
    model.learn(64)
    assert model.num_timesteps == 64
