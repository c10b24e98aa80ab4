import gymnasium as gym
import numpy as np
import pytest

from gym_attrplan.envs.grids import CraftingRules, HaveItem, SwitchesRules, SwitchTargets
from gym_attrplan.error import InvalidGoal


def toggles(start, goals, n_colors=4):
    return ((goals - start) % n_colors).sum(axis=1)


@pytest.fixture
def starts():
    return np.random.default_rng(0).integers(4, size=(4000, 4)).astype(np.int8)


def test_targets_take_1_to_12_toggles_and_all_of_them_come_up(starts):
    goals = SwitchTargets(4)(starts, np.random.default_rng(1))
    assert goals.dtype == np.int8
    assert set(toggles(starts, goals).tolist()) == set(range(1, 13))


def test_targets_are_drawn_evenly():
    # From one start there are 4 targets one toggle away and 10 two toggles away.
    start = np.full((14_000, 4), 2, np.int8)
    goals = SwitchTargets(4, max_toggles=2)(start, np.random.default_rng(2))
    targets, counts = np.unique(goals, axis=0, return_counts=True)
    assert len(targets) == 14
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.mark.parametrize(("task", "expected"), [("targets<=3", {1, 2, 3}), ("targets==7", {7})])
def test_difficulty_is_the_number_of_toggles(starts, task, expected):
    goals = SwitchesRules().sampler(task)(starts, np.random.default_rng(3))
    assert set(toggles(starts, goals).tolist()) == expected


def test_toggles_that_no_target_takes_are_refused(starts):
    with pytest.raises(InvalidGoal, match="take 0 to 12 toggles; asked for 13 to 14"):
        SwitchTargets(4, min_toggles=13, max_toggles=14)(starts, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("task", "columns"), [("items", {3, 4, 5}), ("items==1", {3, 4}), ("items==2", {5})]
)
def test_item_tasks_ask_for_one_product_and_leave_the_rest_free(task, columns):
    goals = CraftingRules().sampler(task)(np.zeros((500, 6), np.int8), np.random.default_rng(0))
    assert (goals == -1).sum(axis=1).tolist() == [5] * 500
    assert set(goals.argmax(axis=1).tolist()) == columns


def test_items_in_the_inventory_are_not_asked_for():
    inventory = np.tile(np.array([[1, 1, 0, 1, 0, 0]], np.int8), (200, 1))
    goals = HaveItem((3, 4, 5))(inventory, np.random.default_rng(0))
    assert set(goals.argmax(axis=1).tolist()) == {4, 5}


@pytest.mark.parametrize("id_", ["AttrSwitches-v0", "AttrCrafting-v0"])
def test_no_episode_begins_at_its_goal(id_):
    env = gym.make(id_)
    assert not any(env.reset(seed=seed)[1]["is_success"] for seed in range(300))


def test_samplers_are_values():
    assert SwitchTargets(4, max_toggles=3) == SwitchesRules().sampler("targets<=3")
    assert CraftingRules().sampler("items") == HaveItem((3, 4, 5))


def test_a_sampler_of_ones_own_takes_the_place_of_the_task():
    env = gym.make("AttrSwitches-v0", goal_sampler=SwitchTargets(4, 12, 12))
    observation, _ = env.reset(seed=0)
    start, goal = observation["achieved_goal"], observation["desired_goal"]
    assert toggles(start[None], goal[None]).tolist() == [12]
