"""Nearby goals, ladders of tasks, and environments whose task can be changed."""

from __future__ import annotations

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from testing_env import GenericTestEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.envs.blocks import BlocksRules, BlocksVectorEnv
from gym_attrplan.envs.build_order.rules import EconomyRules
from gym_attrplan.envs.nearby import DropsAway, OneMoreUnit
from gym_attrplan.envs.regimes import ladder, make_task_env, make_task_vec, sampler_of
from gym_attrplan.error import InvalidEnvironment

TEST_TASKS = {
    "AttrSwitches-v0": "targets",
    "AttrCrafting-v0": "items",
    "AttrBlocks-v0": "multi_step",
    "AttrBlocksContinuous-v0": "multi_step",
    "AttrBuildOrder-v0": "counts",
    "AttrBuildOrderLarge-v0": "counts",
}


def options_of(env_id):
    return {"obs_type": "state"} if "Blocks" in env_id else {}


def toggles(venv):
    observation = venv.reset()
    away = (observation["desired_goal"].astype(int) - observation["achieved_goal"]) % 4
    return away.sum(axis=1).tolist()


# --- nearby goals ---------------------------------------------------------------------------


def test_an_item_is_one_step_away_when_its_ingredients_are_there():
    sampler = sampler_of(gym.make("AttrCrafting-v0").unwrapped, "one_step")
    rules = gym.make("AttrCrafting-v0").unwrapped.rules
    resources = np.tile([1, 1, 1, 0, 0, 0], (200, 1)).astype(np.int8)
    asked = np.unique(sampler(resources, np.random.default_rng(0)).argmax(axis=1))
    depth_one = [i for i, item in enumerate(rules.items) if rules.depth(item) == 1]
    assert asked.tolist() == depth_one


def test_one_more_marine_is_asked_for_only_beside_a_barracks():
    more = OneMoreUnit.of(EconomyRules("small"))  # ore, scv, depot, barracks, marine
    rng = np.random.default_rng(0)
    without = more(np.tile([2, 4, 0, 0, 0], (200, 1)).astype(np.int8), rng)
    assert np.unique(without, axis=0).tolist() == [[-1, -1, 0, 1, 0], [-1, -1, 1, 0, 0]]
    beside = more(np.tile([2, 4, 0, 1, 0], (200, 1)).astype(np.int8), rng)
    assert [-1, -1, 0, 1, 1] in beside.tolist()


def test_no_unit_is_asked_for_beyond_its_cap():
    more = OneMoreUnit.of(EconomyRules("small"))
    full_but_depots = np.tile([2, 4, 3, 3, 6], (200, 1)).astype(np.int8)
    goals = more(full_but_depots, np.random.default_rng(0))
    assert np.unique(goals, axis=0).tolist() == [[-1, -1, 4, 3, 6]]


def test_goals_one_drop_away_are_neighbours_of_the_true_state():
    rules = BlocksRules()
    envs = BlocksVectorEnv(rules, num_envs=50, obs_type="state")
    envs.reset(seed=0)
    goals = DropsAway(envs, "drops==1")(envs.attributes, np.random.default_rng(0))
    states = np.repeat(envs.start_states, rules.n_actions)
    moved = rules.move(states, np.tile(np.arange(rules.n_actions), 50))
    after = rules.evaluate(moved).reshape(50, rules.n_actions, -1)
    assert (after == goals[:, None]).all(axis=2).any(axis=1).all()
    assert not (goals == envs.attributes).all(axis=1).any()


def test_more_drops_lead_further_away():
    envs = BlocksVectorEnv(BlocksRules(), num_envs=300, obs_type="state")
    envs.reset(seed=0)

    def distance(task):
        goals = DropsAway(envs, task)(envs.attributes, np.random.default_rng(0))
        return (goals != envs.attributes).sum(axis=1).mean()

    assert distance("drops==1") < distance("drops==2") < distance("drops==6")


def test_seventy_percent_of_a_goal_some_drops_away():
    envs = BlocksVectorEnv(BlocksRules(), num_envs=10, obs_type="state")
    envs.reset(seed=0)
    goals = DropsAway(envs, "drops<=3_70")(envs.attributes, np.random.default_rng(0))
    assert ((goals == -1).sum(axis=1) == 36 - 25).all()


def test_an_unknown_task_is_refused_and_the_old_one_stays():
    env = make_task_env("AttrSwitches-v0", "one_step")
    with pytest.raises(InvalidEnvironment, match="targets<=d"):
        env.set_task("colours")
    assert env.task == "one_step"


def test_a_world_without_named_tasks_is_refused():
    with pytest.raises(InvalidEnvironment, match="goal_sampler"):
        sampler_of(GenericTestEnv(), "one_step")


# --- every world ----------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", TEST_TASKS)
def test_every_rung_of_every_world_draws_goals_that_do_not_hold(env_id):
    env = make_task_env(env_id, "one_step", **options_of(env_id))
    tasks = ladder(env.unwrapped, TEST_TASKS[env_id])
    assert (tasks[0], tasks[-1]) == ("one_step", TEST_TASKS[env_id])
    for task in tasks:
        env.set_task(task)
        _, info = env.reset(seed=1)
        assert not info["is_success"]


@pytest.mark.parametrize("env_id", [one for one in TEST_TASKS if "Continuous" not in one])
def test_every_batched_twin_changes_its_task(env_id):
    task = TEST_TASKS[env_id]
    venv = VectorEnvAdapter(make_task_vec(env_id, 4, task, **options_of(env_id)))
    venv.env_method("set_task", "one_step")
    assert venv.get_attr("task") == ["one_step"] * 4
    observation = venv.reset()
    space = venv.get_attr("attribute_space")[0]
    assert not space.matches(observation["achieved_goal"], observation["desired_goal"]).any()


def test_the_ladder_of_partial_block_goals_is_partial_throughout():
    world = gym.make("AttrBlocks-v0", obs_type="state").unwrapped
    assert all(name.endswith("_70") for name in ladder(world, "multi_step_70"))


# --- env_method -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dummy", "subproc", "batched"])
def test_the_task_changes_in_every_kind_of_vector(kind):
    make = partial(make_task_env, "AttrSwitches-v0", "one_step")
    venv = {
        "dummy": lambda: DummyVecEnv([make] * 2),
        "subproc": lambda: SubprocVecEnv([make] * 2, start_method="spawn"),
        "batched": lambda: VectorEnvAdapter(make_task_vec("AttrSwitches-v0", 2, "one_step")),
    }[kind]()
    assert toggles(venv) == [1, 1]
    venv.env_method("set_task", "targets==12")
    assert toggles(venv) == [12, 12]
    venv.close()
