"""Bonuses: what they pay, worked out by hand, alone, shared and in vectors."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import (
    AttributeSpace,
    AttributeVectorWrapper,
    AttributeWrapper,
    CountBonus,
    CountBonusVector,
    NormalizedCountBonus,
    NormalizedCountBonusVector,
    TransitionCounts,
)
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment

BITS = ["four", "two", "one"]


def count_to_seven(achieved, rng):
    return np.ones(achieved.shape, np.int8)


def attributed(**options):
    return AttributeWrapper(
        GenericTestEnv(**options), BITS, three_bits, goal_sampler=count_to_seven
    )


def test_count_bonus_pays_at_transitions_only_and_less_each_time():
    env = CountBonus(attributed(), scale=2.0)
    for expected in (2.0, 2.0 / np.sqrt(2), 2.0 / np.sqrt(3)):
        env.reset()
        assert env.step(0)[1] == 0.0
        _, reward, _, _, info = env.step(1)
        assert reward == pytest.approx(expected)
        assert info["reward_without_bonus"] == 0.0


def test_normalized_count_bonus_pays_by_share_of_all_transitions():
    env = NormalizedCountBonus(attributed())
    env.reset()
    assert env.step(1)[1] == pytest.approx((1 / 1 + 0.001) ** -0.5)
    assert env.step(1)[1] == pytest.approx((1 / 2 + 0.001) ** -0.5)
    env.reset()
    assert env.step(1)[1] == pytest.approx((2 / 3 + 0.001) ** -0.5)


def test_a_reset_is_no_transition():
    env = CountBonus(attributed())
    env.reset()
    env.step(1)
    env.reset()  # from 1 back to 0
    assert env.counts.total == 1


def test_environments_share_the_counter_they_are_given():
    counts = TransitionCounts(AttributeSpace(BITS))
    one, other = (CountBonus(attributed(), counts=counts) for _ in range(2))
    one.reset()
    other.reset()
    assert one.step(1)[1] == 1.0
    assert other.step(1)[1] == pytest.approx(2**-0.5)
    assert counts is one.counts is other.counts


def test_the_spec_says_nondeterministic_and_rebuilds_with_an_empty_counter():
    base = gym.make("FrozenLake-v1", is_slippery=False)
    base = AttributeWrapper(base, {"cell": 16}, "wrappers.test_bonus:cell")
    env = CountBonus(base, scale=3.0)
    env.reset(seed=0, options={"goal": {"cell": 15}})
    env.step(1)
    assert env.spec.nondeterministic
    assert not base.spec.nondeterministic
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    again.reset(seed=0, options={"goal": {"cell": 15}})
    assert again.step(1)[1] == 3.0


def cell(env, observation):
    return [observation]


def test_gymnasium_accepts_an_environment_with_a_bonus():
    env = AttributeWrapper(gym.make("FrozenLake-v1"), {"cell": 16}, cell)
    check_env(CountBonus(env), skip_render_check=True)


MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", MODES)
def test_over_wrapped_environments_the_parent_counts_ends_and_not_resets(vector, mode):
    # Each world counts 0 → 1 → 2 → 3, where it ends, and starts again at 0.
    def make_one():
        return attributed(ends_at=3)

    envs = CountBonusVector(vector([make_one] * 2, autoreset_mode=mode))
    envs.reset(seed=0)
    n_steps = 6 if mode == AutoresetMode.SAME_STEP else 8
    rewards = [envs.step(np.ones(2, np.int64))[1] for _ in range(n_steps)]
    envs.close()
    steps = [three_bits_of(i) for i in range(4)]
    assert envs.counts.total == 12
    assert envs.counts.n_edges == 3
    assert envs.counts.visits(steps[:3], steps[1:]).tolist() == [4.0, 4.0, 4.0]
    assert rewards[0].tolist() == [2**-0.5, 2**-0.5]  # both worlds at once: seen twice
    if mode == AutoresetMode.NEXT_STEP:
        assert rewards[3].tolist() == [0.0, 0.0]  # the step that resets


def three_bits_of(count):
    return [count >> 2 & 1, count >> 1 & 1, count & 1]


def test_over_the_vector_wrapper_the_last_transition_of_an_episode_is_paid():
    envs = SyncVectorEnv([GenericTestEnv] * 2, autoreset_mode=AutoresetMode.DISABLED)
    envs = AttributeVectorWrapper(
        envs,
        BITS,
        lambda envs, n: np.stack([n >> 2 & 1, n >> 1 & 1, n & 1], axis=1),
        goal_sampler=lambda achieved, rng: ["one"] * len(achieved),
    )
    envs = NormalizedCountBonusVector(envs)
    envs.reset(seed=0)
    _, rewards, terminated, _, _ = envs.step(np.array([1, 0]))
    assert rewards.tolist() == [pytest.approx(1.001**-0.5), 0.0]
    assert terminated.tolist() == [True, False]
    envs.step(np.array([0, 0]))
    assert envs.counts.total == 1


def test_an_environment_without_attributes_is_refused():
    with pytest.raises(InvalidEnvironment, match="AttributeWrapper"):
        CountBonus(GenericTestEnv())
    with pytest.raises(InvalidEnvironment, match="AttributeVectorWrapper"):
        CountBonusVector(SyncVectorEnv([GenericTestEnv]))


def test_counts_of_another_space_and_a_scale_of_nothing_are_refused():
    with pytest.raises(InvalidAttributes, match="cannot be shared"):
        CountBonus(attributed(), counts=TransitionCounts(AttributeSpace(["other"])))
    for scale in (0.0, -1.0, float("nan")):
        with pytest.raises(InvalidAttributes, match="positive"):
            CountBonus(attributed(), scale=scale)
