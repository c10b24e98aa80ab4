"""ChangeReplayBuffer: a segment is relabelled to what changed until its end."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan.agent.hindsight import ChangeReplayBuffer
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers import AttributeWrapper

SPACE = AttributeSpace(["four", "two", "one"])
FOUR, TWO, NOT_ONE = [1, -1, -1], [-1, 1, -1], [-1, -1, 0]


def bits(count):
    return np.array([[count >> 2 & 1, count >> 1 & 1, count & 1]], np.int8)


def filled(*segments, asked=FOUR, terminated=False):
    """A buffer of segments, each the counts that were passed through."""
    venv = DummyVecEnv([lambda: AttributeWrapper(GenericTestEnv(), SPACE, three_bits)])
    env = PracticeVecEnv(
        venv, TransitionCounts(SPACE), HopOutcomes(SPACE), rng=np.random.default_rng(0)
    )
    buffer = ChangeReplayBuffer(
        32, env.observation_space, env.action_space, env, device="cpu", n_envs=1
    )

    def seen(count):
        goal = np.array([asked], np.int8)
        place = np.array([count], np.int64)
        return {"observation": place, "achieved_goal": bits(count), "desired_goal": goal}

    for counts in segments:
        for k in range(len(counts) - 1):
            done = k == len(counts) - 2
            buffer.add(
                seen(counts[k]),
                seen(counts[k + 1]),
                np.array([1]),
                np.zeros(1, np.float32),
                np.array([done]),
                [{"env_terminated": done and terminated}],
            )
    return buffer


def relabelled(buffer, row, n=200):
    """The goals, rewards and ends that a row may get, with the goal also in what follows."""
    samples = buffer._get_virtual_samples(np.full(n, row), np.zeros(n, np.int64))
    goals = samples.observations["desired_goal"].numpy().astype(int)
    np.testing.assert_array_equal(goals, samples.next_observations["desired_goal"].numpy())
    parts = goals.tolist(), samples.rewards[:, 0].tolist(), samples.dones[:, 0].tolist()
    return {(tuple(goal), reward, done) for goal, reward, done in zip(*parts, strict=True)}


def test_what_changed_from_a_step_to_the_end_of_its_segment_becomes_its_goal():
    buffer = filled([0, 1, 2])  # 000, 001, 010
    assert relabelled(buffer, 0) == {(tuple(TWO), 0.0, 0.0)}
    assert relabelled(buffer, 1) == {(tuple(TWO), 1.0, 1.0), (tuple(NOT_ONE), 1.0, 1.0)}


def test_what_comes_after_the_end_of_a_segment_does_not_count():
    buffer = filled([0, 1], [1, 2, 3, 4])
    assert relabelled(buffer, 0) == {((-1, -1, 1), 1.0, 1.0)}


def test_where_nothing_changed_the_goal_stays_what_it_was():
    assert relabelled(filled([0, 1, 0]), 0) == {(tuple(FOUR), 0.0, 0.0)}


@pytest.mark.parametrize("asked", [FOUR, [-1, -1, -1]], ids=["hop", "exploring"])
def test_a_segment_that_explored_is_learned_from_as_a_hop(asked):
    assert relabelled(filled([0, 1, 2], asked=asked), 0) == {(tuple(TWO), 0.0, 0.0)}


def test_where_the_environment_ended_the_relabelled_hop_ends_too():
    assert relabelled(filled([0, 0], terminated=True), 0) == {(tuple(FOUR), 0.0, 1.0)}
