"""TaskEvalCallback: evaluation while training asks for what evaluate_tasks would."""

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.task_callback import TaskEvalCallback
from gym_attrplan.error import InvalidGoal, InvalidOption

BITS = ["four", "two", "one"]


class Diary(AttributeWrapper):
    """Notes what new episodes ask for."""

    asked: set[tuple[int, ...]]

    def reset(self, **kwargs):
        observation, info = super().reset(**kwargs)
        self.asked.add(tuple(observation["desired_goal"].tolist()))
        return observation, info


def counters(n=4, kind=AttributeWrapper):
    return DummyVecEnv([lambda: kind(GenericTestEnv(), BITS, three_bits)] * n)


def evaluated(**options):
    """What was asked for in a short training, and the callback."""
    Diary.asked = set()
    callback = TaskEvalCallback(
        counters(2, Diary), eval_freq=64, n_eval_episodes=20, verbose=0, **options
    )
    agent = AttributePlannerAgent("MultiInputPolicy", counters(), seed=0, device="cpu")
    agent.learn(1_024, callback=callback)
    return Diary.asked, callback, agent


def test_it_asks_for_the_goals_it_is_given():
    asked, callback, _ = evaluated(goals=["four", {"two": 1, "one": 1}])
    assert asked >= {(1, -1, -1), (-1, 1, 1)}
    # Environments that have reset themselves after the last task are as they were.
    assert callback.eval_env.get_attr("given_goals") == [None, None]
    assert np.isfinite(callback.last_mean_reward)


def test_without_goals_it_asks_for_what_the_agent_knows():
    asked, _, agent = evaluated()
    vectors = agent.counts.index.vectors(np.arange(agent.counts.n_nodes))
    known = {tuple(row) for row in vectors.tolist()}
    assert len(asked & known) > 4  # what a new environment has been in itself is one or two


def test_other_steps_evaluate_nothing():
    callback = TaskEvalCallback(counters(1), eval_freq=10_000, verbose=0)
    agent = AttributePlannerAgent("MultiInputPolicy", counters(), seed=0, device="cpu")
    agent.learn(512, callback=callback)
    assert callback.last_mean_reward == -np.inf


def test_goals_that_are_none_are_refused_at_once():
    with pytest.raises(InvalidOption, match="at least one goal"):
        TaskEvalCallback(counters(1), goals=[])
    with pytest.raises(InvalidGoal, match="five"):
        TaskEvalCallback(counters(1), goals=["five"])
