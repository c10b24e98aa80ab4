"""What draws the goals of new episodes, and how it is changed for an evaluation."""

from functools import partial

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeSpace, AttributeWrapper
from gym_attrplan.agent.environments import SpacesOnly
from gym_attrplan.agent.evaluation import asking_for, evaluate_tasks
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.wrappers.goals import GivenGoals

BITS = ["four", "two", "one"]
SPACES = ("observation_space", "action_space")


def counters(n=2, **options):
    return DummyVecEnv(
        [lambda: AttributeWrapper(GenericTestEnv(ends_at=7), BITS, three_bits, **options)] * n
    )


def test_given_goals_are_drawn_alike_and_never_one_that_holds():
    goals = np.array([[1, -1, -1], [0, -1, -1], [-1, 1, -1]], np.int8)
    drawn = GivenGoals(goals)(np.zeros((3_000, 3), np.int8), np.random.default_rng(0))
    kinds, times = np.unique(drawn, axis=0, return_counts=True)
    assert kinds.tolist() == [[-1, 1, -1], [1, -1, -1]]
    assert abs(times - 1_500).max() < 150


def test_where_all_goals_hold_one_of_them_is_drawn():
    goals = np.array([[0, -1, -1]], np.int8)
    assert GivenGoals(goals)(np.zeros((1, 3), np.int8), np.random.default_rng(0)).tolist() == [
        [0, -1, -1]
    ]


def test_an_evaluation_asks_for_what_it_is_given_and_leaves_the_sampler_as_it_was():
    def any_count(achieved, rng):
        return ["four"] * len(achieved)

    venv = counters(goal_sampler=any_count)
    with asking_for(venv, np.array([[-1, 1, 1]], np.int8)):
        assert venv.reset()["desired_goal"].tolist() == [[-1, 1, 1]] * 2
    assert venv.get_attr("given_goals") == [None] * 2
    assert venv.reset()["desired_goal"].tolist() == [[1, -1, -1]] * 2


def test_samplers_in_processes_stay_there():
    """They may be functions that cannot be sent, and each environment may have its own."""

    def make(goal):
        sampler = lambda achieved, rng: [goal] * len(achieved)  # noqa: E731
        return AttributeWrapper(GenericTestEnv(ends_at=7), BITS, three_bits, goal_sampler=sampler)

    venv = SubprocVecEnv([partial(make, "one"), partial(make, "two")])
    try:
        result = evaluate_tasks(CountsUp(), venv, n_tasks=2)
        assert set(result.goals) == {"one", "two"}
        assert set(evaluate_tasks(CountsUp(), venv, n_tasks=2, goals=["four"]).goals) == {"four"}
        assert set(evaluate_tasks(CountsUp(), venv, n_tasks=2).goals) == {"one", "two"}
    finally:
        venv.close()


def test_no_goal_at_all_and_environments_that_take_none_are_refused():
    with pytest.raises(InvalidOption, match="at least one goal"):
        evaluate_tasks(CountsUp(), counters(), n_tasks=2, goals=[])
    stand_in = SpacesOnly(*(getattr(counters(), name) for name in SPACES), AttributeSpace(BITS))
    with pytest.raises(InvalidEnvironment, match="in AttributeWrapper"):
        evaluate_tasks(CountsUp(), stand_in, n_tasks=2, goals=["four"])


class CountsUp:
    """Takes the action that counts, and knows two descriptions."""

    class counts:  # noqa: N801  an attribute of the agent
        n_nodes = 2

        class index:  # noqa: N801
            @staticmethod
            def vectors(nodes):
                return np.array([[0, 1, 1], [1, 0, 0]], np.int8)[nodes]

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.ones(len(observation["achieved_goal"]), int), None


def test_without_a_sampler_an_agent_is_asked_for_what_it_knows_not_for_what_the_world_has_seen():
    result = evaluate_tasks(CountsUp(), counters(), n_tasks=41)
    assert set(result.goals) == {"not four, two, one", "four, not two, not one"}
    assert (result.n, result.rate) == (41, 1.0)
    assert result.n_hops is None


def test_goals_may_have_any_form_and_the_table_has_a_line_for_each():
    goals = ["two", {"four": True}, [1, -1, 1]]
    result = evaluate_tasks(CountsUp(), counters(), n_tasks=60, goals=goals, seed=3)
    lines = result.table().splitlines()
    assert {line.split("  ")[-1] for line in lines[1:]} == {"two", "four", "four, one"}
    assert all(line.startswith("100.0%") for line in lines[1:])
