"""Values of ready attributes, set up by hand."""

from __future__ import annotations

import importlib

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
import pytest
from minigrid.core.world_object import Key

from gym_attrplan import AttributeWrapper
from gym_attrplan.attributes.library.grid_words import GridWords
from gym_attrplan.error import InvalidEnvironment


def now(env):
    return env.attribute_space.decode(env.recompute_attributes())


def wrap(env_id, **kwargs):
    env = AttributeWrapper(gym.make(env_id, **kwargs))
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    ("row", "column", "passenger", "said"),
    [
        (0, 0, 1, {"passenger": "green", "taxi": "red"}),
        (4, 3, 4, {"passenger": "in taxi", "taxi": "blue"}),
        (2, 2, 2, {"passenger": "yellow", "taxi": "between"}),
    ],
)
def test_taxi_and_passenger_are_said_by_stands(row, column, passenger, said):
    env = wrap("Taxi-v4")
    env.unwrapped.s = env.unwrapped.encode(row, column, passenger, 3)
    assert now(env) == said


def test_the_frozen_lake_has_rows_columns_and_a_goal():
    env = wrap("FrozenLake-v1", desc=["SFF", "FHG"])
    env.unwrapped.s = 5
    assert now(env) == {"row": 1, "column": 2, "at_goal": True}
    env.unwrapped.s = 4
    assert now(env) == {"row": 1, "column": 1, "at_goal": False}


def test_the_cliff_s_goal_is_its_last_cell():
    env = wrap("CliffWalking-v1")
    assert now(env) == {"row": 3, "column": 0, "at_goal": False}
    env.unwrapped.s = 47
    assert now(env) == {"row": 3, "column": 11, "at_goal": True}


def test_a_maze_s_cell_is_that_of_the_point():
    importlib.import_module("gymnasium_robotics")
    env = wrap("PointMaze_UMaze-v3", maze_map=[[1, 1, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]])
    # Four columns one metre wide, centred at 0: the third goes from 0 to 1.
    env.unwrapped.data.qpos[:2] = 0.4, 0.1
    assert now(env) == {"row": 1, "column": 2}
    env.unwrapped.data.qpos[:2] = -0.2, 0.1
    assert now(env) == {"row": 1, "column": 1}


def test_what_climbs_over_the_outer_wall_counts_as_on_it():
    importlib.import_module("gymnasium_robotics")
    env = wrap("PointMaze_UMaze-v3")
    env.unwrapped.data.qpos[:2] = 99.0, -99.0
    assert now(env) == {"row": 4, "column": 4}


def place(env, tips):
    bodies = {name: np.array(place) for name, place in tips.items()}
    env.unwrapped.get_body_com = bodies.__getitem__


def test_the_reacher_s_fingertip_is_in_a_zone():
    env = wrap("Reacher-v5")
    place(env, {"fingertip": [0.1, -0.15, 0], "target": [0.1, -0.14, 0]})
    assert now(env) == {"right": True, "up": False, "stretched": True, "on_target": True}
    place(env, {"fingertip": [-0.1, 0.1, 0], "target": [0.1, 0.1, 0]})
    assert now(env) == {"right": False, "up": True, "stretched": False, "on_target": False}


def test_the_pusher_s_tip_and_object_have_distances():
    env = wrap("Pusher-v5")
    place(env, {"tips_arm": [0, 0, 0], "object": [0.3, 0, 0], "goal": [0.35, 0, 9.0]})
    assert now(env) == {"tip": "near", "object": "at_goal"}
    place(env, {"tips_arm": [0, 0, 0], "object": [0.1, 0, 0], "goal": [0.4, 0, 0]})
    assert now(env) == {"tip": "at_object", "object": "far"}


def test_grid_words_say_what_is_seen_and_where():
    env = GridWords(gym.make("MiniGrid-DoorKey-5x5-v0"))
    image = np.zeros((7, 7, 3), np.uint8)
    image[0, 1] = (4, 4, 2)  # cell 1: a yellow door, locked
    image[0, 2] = (2, 5, 0)  # cell 2: a wall, whose colour says nothing
    words = env.observation({"image": image, "direction": 3})
    n_things = 49 * 11 * 4
    door, wall = 1 + (1 * 11 + 4) * 4 + 2, 1 + (2 * 11 + 2) * 4
    yellow, west = 1 + n_things + 1 * 6 + 4, 1 + n_things + 49 * 6 + 3
    assert words[words > 0].tolist() == [door, wall, yellow, west]
    assert west == env.observation_space.high[0]


@pytest.mark.parametrize("held", [None, Key("red")])
def test_the_whole_grid_around_the_agent_agrees_with_the_partial_view(held):
    env = gym.make("MiniGrid-KeyCorridorS3R3-v0")
    words, reach = GridWords(env, whole=True), 6
    words.action_space.seed(3)
    env.reset(seed=0)
    env.unwrapped.carrying = held
    for action in [
        *[env.unwrapped.actions.left] * 4,
        *(words.action_space.sample() % 3 for _ in range(99)),
    ]:
        seen, *_ = env.step(action)
        around = words._around()
        ahead = around[reach - 3 : reach + 4, reach - 6 : reach + 1]  # 7×7, the agent below
        known = seen["image"][..., 0] > 0
        known[3, 6] = held is not None  # the agent's own place
        assert (ahead[known] == seen["image"][known]).all()
        n_things = np.isin(around[..., 0], (5, 6)).sum()  # keys and balls, wherever they lie
        assert n_things == 2 + (held is not None)
    assert words.observation(seen).shape == words.observation_space.shape == (2 * 13**2 + 1,)


def test_grid_words_need_an_image_of_symbols():
    with pytest.raises(InvalidEnvironment, match="image of symbols"):
        GridWords(gym.make("CartPole-v1"))
