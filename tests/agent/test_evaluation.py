"""Tasks solved: which are counted, how they are shared out, and intervals worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper
from gym_attrplan.agent.evaluation import (
    RandomModel,
    TaskResult,
    evaluate_tasks,
    wilson_interval,
)
from gym_attrplan.error import InvalidEnvironment, InvalidOption


class Always:
    """Takes one action whatever it sees."""

    def __init__(self, action):
        self.action = action

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.full(len(observation["achieved_goal"]), self.action), None


def worlds(n=2, goals=("one", "anything", "two")):
    def make():
        drawn = iter(range(10**6))

        def in_turn(achieved, rng):
            return [goals[next(drawn) % len(goals)]]

        env = GenericTestEnv(ends_at=5)
        return Monitor(
            AttributeWrapper(env, ["four", "two", "one"], three_bits, goal_sampler=in_turn)
        )

    return DummyVecEnv([make] * n)


def test_tasks_that_hold_at_the_start_are_left_out():
    result = evaluate_tasks(Always(1), worlds(), n_tasks=8)
    assert result.n == 8
    assert result.rate == 1.0
    assert sorted(result.n_steps.tolist()) == [1, 1, 1, 1, 2, 2, 2, 2]  # none of "anything"


def test_worlds_that_draw_no_task_are_refused():
    with pytest.raises(InvalidEnvironment, match=r"'not one'.*goal_sampler"):
        evaluate_tasks(Always(1), worlds(goals=("not one",)), n_tasks=2)


def test_what_is_not_solved_counts_as_such():
    result = evaluate_tasks(
        Always(1), worlds(goals=("not four, not two, not one", "four, two")), n_tasks=4
    )
    assert result.successes == 0
    assert result.n_steps.tolist() == [5, 5, 5, 5]  # the world ends at 5


@pytest.mark.parametrize(("n_tasks", "lengths"), [(5, [1, 1, 1, 2, 2]), (1, [1])])
def test_every_world_gets_as_many_tasks_give_or_take_one(n_tasks, lengths):
    """Whatever ends first, the worlds take 'one' and 'two' in turn, from 'one' on."""
    result = evaluate_tasks(Always(1), worlds(), n_tasks=n_tasks)
    assert sorted(result.n_steps.tolist()) == lengths


def test_no_task_at_all_is_refused():
    with pytest.raises(InvalidOption, match="n_tasks is at least 1; received 0"):
        evaluate_tasks(Always(1), worlds(), n_tasks=0)


def test_random_actions_are_reproducible():
    def lengths():
        venv = worlds()
        return evaluate_tasks(RandomModel(venv, seed=3), venv, n_tasks=20).n_steps.tolist()

    assert lengths() == lengths()


def test_wilsons_interval_by_hand():
    # z² = 3.8415, n = 10: (0.5 + 0.19207) / 1.38415 ± 1.95996 * sqrt(0.025 + 0.0096) / 1.38415
    low, high = wilson_interval(5, 10)
    assert (low, high) == (pytest.approx(0.2366, abs=1e-4), pytest.approx(0.7634, abs=1e-4))
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(10, 10)[1] == pytest.approx(1.0)


def test_a_result_says_what_it_is():
    result = TaskResult(np.array([True, True, False, True]), np.array([1, 2, 3, 4]))
    assert str(result) == "75.0% of 4 tasks (30.1% to 95.4%)"
