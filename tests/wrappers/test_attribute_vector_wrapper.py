"""AttributeVectorWrapper, held to the single wrapper."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeVectorWrapper, AttributeWrapper
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment, InvalidGoal

BITS = ["four", "two", "one"]


def batch_bits(envs, counts):
    return np.stack([counts >> 2 & 1, counts >> 1 & 1, counts & 1], axis=1)


def count_to(achieved, rng):
    return np.tile(np.array([[0, 1, 0]], np.int8), (len(achieved), 1))


def make(n=3, *, vector=SyncVectorEnv, **options):
    envs = vector([GenericTestEnv] * n, autoreset_mode=AutoresetMode.DISABLED)
    return AttributeVectorWrapper(envs, BITS, batch_bits, **options)


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_the_vector_form_equals_single_environments_step_by_step(vector):
    envs = make(4, vector=vector, goal_sampler=count_to, step_penalty=0.1)
    singles = [
        AttributeWrapper(
            GenericTestEnv(), BITS, three_bits, goal_sampler=count_to, step_penalty=0.1
        )
        for _ in range(4)
    ]
    rng = np.random.default_rng(0)
    observations, _ = envs.reset(seed=1)
    expected = [env.reset(seed=1)[0] for env in singles]
    for _ in range(60):
        for key, rows in observations.items():
            np.testing.assert_array_equal(rows, np.stack([one[key] for one in expected]))
        actions = rng.integers(2, size=4)
        observations, rewards, terminated, truncated, info = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, ended, cut, single_info = env.step(actions[i])
            assert (rewards[i], terminated[i], truncated[i]) == (reward, ended, cut)
            if ended:
                for key, row in info["final_obs"][i].items():
                    np.testing.assert_array_equal(row, observation[key])
                assert info["final_info"]["is_success"][i] == single_info["is_success"]
                observation, single_info = env.reset()
            assert info["is_success"][i] == single_info["is_success"]
            np.testing.assert_array_equal(info["attributes"][i], single_info["attributes"])
            expected[i] = observation
    envs.close()


def test_goals_are_one_for_all_or_one_for_each():
    envs = make(2)
    one, _ = envs.reset(options={"goal": "one"})
    assert one["desired_goal"].tolist() == [[-1, -1, 1], [-1, -1, 1]]
    each, _ = envs.reset(options={"goal": ["one", {"four": 0}]})
    assert each["desired_goal"].tolist() == [[-1, -1, 1], [0, -1, -1]]
    rows, _ = envs.reset(options={"goal": np.array([[1, 1, 1], [0, 0, 0]], np.int8)})
    assert rows["desired_goal"].tolist() == [[1, 1, 1], [0, 0, 0]]
    with pytest.raises(InvalidGoal, match="2 goals"):
        envs.reset(options={"goal": ["one"]})
    with pytest.raises(InvalidGoal, match="the value 2"):
        envs.reset(options={"goal": np.array([[1, 1, 1], [0, 0, 2]], np.int8)})


def test_returned_arrays_are_fresh():
    envs = make(2, goal_sampler=count_to)
    first, _ = envs.reset(seed=0)
    kept = {key: rows.copy() for key, rows in first.items()}
    for _ in range(5):
        envs.step(np.ones(2, np.int64))
    for key, rows in first.items():
        np.testing.assert_array_equal(rows, kept[key])


def test_it_says_that_it_resets_in_the_same_step_and_its_spaces_hold_what_it_returns():
    envs = make(3)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.observation_space.contains(envs.reset(seed=0)[0])
    assert envs.observation_space.contains(envs.step(np.ones(3, np.int64))[0])


def test_an_environment_that_resets_itself_is_refused_with_the_remedy():
    with pytest.raises(InvalidEnvironment, match=r"AutoresetMode\.DISABLED"):
        AttributeVectorWrapper(SyncVectorEnv([GenericTestEnv]), BITS, batch_bits)


def test_a_function_must_return_a_row_for_each_environment():
    envs = SyncVectorEnv([GenericTestEnv] * 2, autoreset_mode=AutoresetMode.DISABLED)
    envs = AttributeVectorWrapper(envs, BITS, lambda envs, counts: [[0, 0, 0]])
    with pytest.raises(InvalidAttributes, match=r"in each of 2 rows; received shape \(1, 3\)"):
        envs.reset()


def test_a_seed_makes_the_default_goals_reproducible():
    def goals():
        envs = SyncVectorEnv(
            [lambda: gym.make("CartPole-v1")] * 4, autoreset_mode=AutoresetMode.DISABLED
        )
        envs = AttributeVectorWrapper(envs, ["a", "b"], lambda envs, obs: obs[:, :2] > 0)
        seen = [envs.reset(seed=5)[0]["desired_goal"]]
        envs.action_space.seed(5)
        for _ in range(80):
            seen.append(envs.step(envs.action_space.sample())[0]["desired_goal"])
        return np.stack(seen)

    np.testing.assert_array_equal(goals(), goals())


def test_episodes_can_be_told_to_end_with_their_next_step():
    envs = make(2, goal_sampler=lambda achieved, rng: ["four"] * len(achieved))
    envs.reset(seed=0)
    envs.truncate_episodes(np.array([True, False]))
    assert envs.step(np.ones(2, np.int64))[3].tolist() == [True, False]
    observations, _, _, truncated, _ = envs.step(np.ones(2, np.int64))
    assert truncated.tolist() == [False, False]
    assert observations["observation"].tolist() == [1, 2]
