"""check_attribute_env finds each fault it promises to, and is silent on a sound environment."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper, CountBonus, check_attribute_env
from gym_attrplan.error import CheckFailed, InvalidEnvironment

BITS = ["four", "two", "one"]


def fails(env, message):
    with pytest.raises(CheckFailed, match=message):
        check_attribute_env(env)


def wrapped(kind=AttributeWrapper, function=three_bits, **options):
    return kind(GenericTestEnv(**options), BITS, function)


def test_a_sound_environment_passes_in_silence():
    check_attribute_env(wrapped())
    check_attribute_env(wrapped(ends_at=5))


def test_an_environment_without_attributes_is_told_how_to_get_them():
    with pytest.raises(InvalidEnvironment, match="AttributeWrapper"):
        check_attribute_env(GenericTestEnv())


def test_a_reward_that_compute_reward_does_not_know_is_found():
    fails(CountBonus(wrapped()), "compute_reward says 0")


def test_compute_reward_that_returns_a_list_is_found():
    class Listing(AttributeWrapper):
        def compute_reward(self, achieved_goal, desired_goal, info=None):
            return super().compute_reward(achieved_goal, desired_goal, info).tolist()

    fails(wrapped(Listing), "float32 ndarray for a batch of goals; it returned list")


def test_compute_reward_that_is_not_batched_is_found():
    class OneByOne(AttributeWrapper):
        def compute_reward(self, achieved_goal, desired_goal, info=None):
            return np.float32(bool((achieved_goal == desired_goal).all()))

    fails(wrapped(OneByOne), "float32 ndarray")


def test_compute_reward_that_fails_on_batches_is_found():
    class NeedsOne(AttributeWrapper):
        def compute_reward(self, achieved_goal, desired_goal, info=None):
            same = [a == d for a, d in zip(achieved_goal, desired_goal, strict=True)]
            return np.float32(all(same))

    fails(wrapped(NeedsOne), "fails on a batch")


def test_compute_terminated_that_disagrees_is_found():
    class Endless(AttributeWrapper):
        def compute_terminated(self, achieved_goal, desired_goal, info=None):
            return np.False_

    fails(wrapped(Endless), "compute_terminated says False")


@pytest.mark.parametrize("value", [-1, 2])
def test_attributes_outside_their_sizes_are_found(value):
    class Unchecked(AttributeWrapper):
        def _observe(self, observation, achieved):
            parts = super()._observe(observation, achieved)
            parts["achieved_goal"][0] = value
            return parts

    fails(wrapped(Unchecked), f"the value {value}")


def test_attributes_that_change_without_a_step_are_found():
    calls = iter(range(10**6))
    fails(wrapped(function=lambda env, obs: [next(calls) % 2, 0, 0]), "changed without a step")


def test_randomness_that_the_seed_does_not_reach_is_found():
    rng = np.random.default_rng()
    space = spaces.Box(0, 1, (1,), np.float64)
    env = wrapped(observation_space=space, observe=lambda n: rng.random(1))
    fails(
        env,
        r"two runs with seed 0 and equal actions differ at step 0 in observation\['observation'\] "
        r"\(1 of 1 values\)\.",
    )


def test_a_goal_that_reset_ignores_is_found():
    class Stubborn(AttributeWrapper):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed, options={"goal": [1, 1, 1]})

    fails(wrapped(Stubborn), "reset was asked for the goal")


def test_a_goal_that_changes_within_an_episode_is_found():
    class Drifting(AttributeWrapper):
        def step(self, action):
            self._set_goal(1 - np.abs(self._goal))
            return super().step(action)

    fails(wrapped(Drifting), "changed within an episode")


def test_a_goal_inside_the_observation_is_found():
    class Leaking(AttributeWrapper):
        def _observe(self, observation, achieved):
            parts = super()._observe(observation, achieved)
            parts["observation"] = np.int64(self._goal[0] + 1)
            return parts

    fails(wrapped(Leaking), "depends on the goal")


def test_another_space_for_the_goals_is_found():
    env = wrapped()
    parts = {**env.observation_space.spaces, "desired_goal": spaces.MultiBinary(3)}
    env.observation_space = spaces.Dict(parts)
    fails(env, "the space of 'desired_goal' must be")


def test_info_that_disagrees_with_the_observation_is_found():
    class Forgetful(AttributeWrapper):
        def step(self, action):
            *rest, info = super().step(action)
            del info["attributes"]
            return (*rest, info)

    fails(wrapped(Forgetful), r"info\['attributes'\]")


def test_a_registered_environment_in_its_usual_wrappers_passes():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    env = AttributeWrapper(env, {"cell": 16}, lambda env, cell: [cell])
    check_attribute_env(gym.wrappers.RecordEpisodeStatistics(env))
