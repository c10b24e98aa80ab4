"""Attributes of MiniGrid worlds, on worlds drawn by hand."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
import pytest
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Goal, Key, Lava, Wall
from minigrid.minigrid_env import MiniGridEnv

from gym_attrplan import AttributeWrapper
from gym_attrplan.attributes.library.minigrid import MiniGridAttributes
from gym_attrplan.attributes.library.minigrid_readers import Carried
from gym_attrplan.envs.minigrid import minigrid_vec
from gym_attrplan.error import InvalidAttributes

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = range(6)
SYMBOLS = {
    "#": Wall,
    "~": Lava,
    "G": Goal,
    "k": lambda: Key("red"),
    "K": lambda: Key("blue"),
    "b": lambda: Ball("red"),
    "x": lambda: Box("red", contains=Key("red")),
    "D": lambda: Door("red"),
    "E": lambda: Door("blue"),
    "L": lambda: Door("red", is_locked=True),
}


class Drawn(MiniGridEnv):
    """A world drawn with letters; the agent, ``>``, looks to the right."""

    def __init__(self, *rows):
        self.rows = rows
        mission = MissionSpace(mission_func=lambda: "look around")
        super().__init__(mission, width=len(rows[0]), height=len(rows), max_steps=100)

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        for row, line in enumerate(self.rows):
            for column, symbol in enumerate(line):
                if symbol in SYMBOLS:
                    self.grid.set(column, row, SYMBOLS[symbol]())
                if symbol == ">":
                    self.agent_pos, self.agent_dir = (column, row), 0
        self.mission = "look around"


def wrap(*rows, parts=None):
    env = Drawn(*rows)
    ready = MiniGridAttributes(env, parts)
    wrapped = AttributeWrapper(env, ready.attribute_space, ready)
    wrapped.reset(seed=0)
    return wrapped


def now(env):
    return env.attribute_space.decode(env.recompute_attributes())


def after(env, *actions):
    for action in actions:
        env.step(action)
    return now(env)


LOCKED = ("#######", "#>k.L.#", "#...#G#", "#######")


def test_a_key_and_a_locked_door_give_the_steps_of_the_task():
    env = wrap(*LOCKED)
    assert now(env) == {"carrying": "nothing", "door": "locked", "room": "1 away", "at_goal": False}
    assert after(env, PICK_UP)["carrying"] == "key"
    assert after(env, FORWARD, FORWARD, TOGGLE)["door"] == "open"
    assert after(env, TOGGLE)["door"] == "closed"


def test_who_stands_in_a_doorway_is_not_through_yet():
    env = wrap(*LOCKED)
    assert after(env, PICK_UP, FORWARD, FORWARD, TOGGLE, FORWARD)["room"] == "1 away"
    assert after(env, FORWARD) == {
        "carrying": "key",
        "door": "open",
        "room": "goal",
        "at_goal": False,
    }
    assert after(env, RIGHT, FORWARD)["at_goal"] is True


def test_a_door_that_is_never_locked_has_two_states():
    env = wrap("######", "#>D.G#", "######")
    assert env.attribute_space.table["door"] == ["closed", "open"]
    assert now(env)["door"] == "closed"
    assert after(env, TOGGLE)["door"] == "open"


def test_doors_of_the_same_colours_in_every_world_have_an_attribute_each():
    env = wrap("######", "E.>.D#", "######")
    assert now(env) == {"blue door": "closed", "red door": "closed"}
    assert after(env, FORWARD, TOGGLE) == {"blue door": "closed", "red door": "open"}


def test_of_many_doors_the_locked_ones_are_counted():
    env = wrap("#######", "L.>k..L", "D.....D", "#######")
    assert now(env)["locked_doors"] == 2
    assert after(env, PICK_UP, FORWARD, FORWARD, FORWARD, TOGGLE)["locked_doors"] == 1


def test_things_that_differ_in_colour_alone_are_told_apart():
    env = wrap("######", "#>kKb#", "######")
    assert env.attribute_space.words["carrying"] == ("nothing", "ball", "blue key", "red key")
    assert after(env, PICK_UP)["carrying"] == "red key"


class TwoLocks(MiniGridEnv):
    """Two keys beside the agent, the first of which fits the locked door on its left."""

    def __init__(self):
        super().__init__(MissionSpace(mission_func=lambda: "unlock"), grid_size=6, max_steps=100)

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        first, second, third = self._rand_subset(["blue", "green", "red", "grey"], 3)
        self.put_obj(Key(first), 3, 2)
        self.put_obj(Key(second), 2, 3)
        self.put_obj(Door(first, is_locked=True), 2, 0)
        self.put_obj(Door(third, is_locked=True), 0, 4)
        self.agent_pos, self.agent_dir = (2, 2), 0
        self.mission = "unlock"


def test_of_keys_in_changing_colours_one_that_fits_a_locked_door_is_told_from_the_others():
    env = AttributeWrapper(TwoLocks())
    assert env.attribute_space.words["carrying"] == ("nothing", "key", "other key")
    for seed in range(4):
        env.reset(seed=seed)
        assert after(env, PICK_UP)["carrying"] == "key"
        to_the_door = (LEFT, FORWARD, TOGGLE)
        assert after(env, *to_the_door) == {"carrying": "other key", "locked_doors": 1}
        env.reset(seed=seed)
        assert after(env, RIGHT, PICK_UP)["carrying"] == "other key"


@pytest.mark.parametrize("name", ["Fetch-8x8-N3", "GoToObject-8x8-N2", "PutNear-6x6-N2"])
def test_without_locked_doors_keys_have_colours_like_other_things(name):
    env = AttributeWrapper(gym.make(f"MiniGrid-{name}-v0"))
    for part in ("carrying", "facing"):
        words = env.attribute_space.words[part]
        assert {"red key", "red ball"} <= set(words)
        assert not {"key", "other key"} & set(words)


@pytest.mark.parametrize("name", ["Fetch-8x8-N3", "GoToObject-6x6-N2"])
def test_where_episodes_differ_in_their_things_it_says_which_are_there(name):
    env_id, n = f"MiniGrid-{name}-v0", 4
    envs = minigrid_vec(env_id, n)
    envs.reset(seed=0)
    assert envs.knows_possible_values
    for i, possible in enumerate(envs.possible_values()):
        env = AttributeWrapper(gym.make(env_id))
        env.reset(seed=i)
        np.testing.assert_array_equal(env.possible_values(), possible)
        things = [thing for thing in env.unwrapped.grid.grid if thing and thing.type != "wall"]
        words = np.array(env.attribute_space.words["carrying"])
        there = {"nothing", *(f"{thing.color} {thing.type}" for thing in things)}
        assert set(words[possible[0]]) == there


class TwoBalls(MiniGridEnv):
    """A ball ahead of the agent and one in a corner, in changing colours, and a goal square."""

    def __init__(self):
        super().__init__(MissionSpace(mission_func=lambda: "play"), grid_size=6, max_steps=100)

    def _gen_grid(self, width, height):
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        self.colors = self._rand_subset(["blue", "green", "red", "grey"], 2)
        self.put_obj(Ball(self.colors[0]), 2, 1)
        self.put_obj(Ball(self.colors[1]), 4, 4)
        self.put_obj(Goal(), 4, 1)
        self.agent_pos, self.agent_dir = (1, 1), 0
        self.mission = "play"


def test_a_goal_square_and_what_is_in_hand_are_possible_too():
    env = AttributeWrapper(TwoBalls())
    assert list(env.attribute_space) == ["carrying", "at_goal"]
    env.reset(seed=0)
    words = np.array(env.attribute_space.words["carrying"])
    there = {"nothing", *(f"{color} ball" for color in env.unwrapped.colors)}
    for _ in range(2):
        carrying, at_goal = env.possible_values()
        assert set(words[carrying]) == there
        assert at_goal[:2].all()
        env.step(PICK_UP)


def test_a_batch_tells_keys_that_fit_a_locked_door_as_one_environment_does():
    things = [None, Key("red"), Key("blue"), Ball("red"), Door("red", is_locked=True), Door("red")]
    batch = SimpleNamespace(
        ask=lambda question: np.array([question(thing) for thing in things]),
        carried=np.array([0, 1, 2, 3, 1]),
        doors=np.array([[4, 0], [5, 4], [4, 5], [4, 4], [5, 0]]),
    )
    names = ["nothing", "ball", "key", "other key"]
    found = [names[value] for value in Carried(names, frozenset()).many(batch)]
    assert found == ["nothing", "key", "other key", "ball", "other key"]


def test_a_key_in_a_box_is_expected():
    env = wrap("#####", "#>x.#", "#####")
    assert env.attribute_space.words["carrying"] == ("nothing", "box", "key")
    assert after(env, TOGGLE, PICK_UP)["carrying"] == "key"


def test_where_there_is_neither_door_nor_goal_one_can_ask_to_face_a_thing():
    env = wrap("######", "#>.b.#", "######")
    assert now(env) == {"carrying": "nothing", "facing": "nothing"}
    assert after(env, FORWARD) == {"carrying": "nothing", "facing": "ball"}


@pytest.mark.parametrize("river", ["#", "~"])
def test_a_gap_in_a_wall_or_in_lava_is_a_doorway(river):
    row = f"#..{river}..#"
    env = wrap("#######", row, "#>....#", row, "#..#.G#", "#######")
    assert now(env)["room"] == "1 away"
    assert after(env, FORWARD, FORWARD)["room"] == "1 away"
    assert after(env, FORWARD)["room"] == "goal"


def test_who_falls_into_lava_has_come_no_nearer_to_the_goal():
    env = wrap("#######", "#>~..G#", "#..~..#", "#.....#", "#..~..#", "#######")
    assert now(env)["room"] == "1 away"
    assert after(env, FORWARD)["room"] == "1 away"


def test_a_corridor_is_one_room():
    env = wrap("#######", "#>...G#", "#######")
    assert env.attribute_space.names == ("at_goal",)


def test_rooms_count_doorways_to_the_goal_wherever_they_lie():
    env = wrap("#########", "#G.D.>D.#", "#########")
    assert env.attribute_space.words["room"] == ("goal", "1 away", "2 away")
    assert now(env)["room"] == "1 away"
    assert after(env, TOGGLE, FORWARD)["room"] == "2 away"


def test_rooms_without_a_goal_have_letters_in_reading_order():
    env = wrap("#####", "#.D>#", "#####", "#..##", "#####", parts=["room"])
    assert env.attribute_space.words["room"] == ("A", "B")
    assert now(env)["room"] == "B"


def test_the_room_behind_the_only_lock_is_locked_also_when_it_is_open():
    env = wrap("##########", "#..D.>kL.#", "##########")
    assert env.attribute_space.words["room"] == ("locked", "1 away", "2 away")
    assert now(env)["room"] == "1 away"
    assert after(env, PICK_UP, FORWARD, TOGGLE)["locked_doors"] is False
    assert after(env, FORWARD)["room"] == "1 away"  # in the doorway
    assert after(env, FORWARD)["room"] == "locked"


@pytest.mark.parametrize(
    "rows",
    [
        ("#########", "#.L.>.L.#", "#########"),  # two locks
        ("#######", "#>.L..#", "##D#D##", "#.....#", "#######"),  # a way round the lock
    ],
)
def test_other_rooms_with_locks_have_letters(rows):
    assert wrap(*rows, parts=["room"]).attribute_space.words["room"] == ("A", "B", "C")


def test_keycorridors_ball_lies_in_the_locked_room():
    env = AttributeWrapper(gym.make("MiniGrid-KeyCorridorS4R3-v0"))
    for seed in range(10):
        env.reset(seed=seed)
        grid = env.unwrapped.grid
        (ball,) = (i for i, cell in enumerate(grid.grid) if cell and cell.type == "ball")
        env.unwrapped.agent_pos = (ball % grid.width, ball // grid.width)
        assert now(env)["room"] == "locked"


def test_worlds_of_moves_alone_carry_nothing():
    env = AttributeWrapper(gym.make("MiniGrid-Dynamic-Obstacles-5x5-v0"))
    assert env.attribute_space.names == ("at_goal",)


def test_the_environment_is_left_as_it_was():
    env, other = Drawn(*LOCKED), Drawn(*LOCKED)
    env.reset(seed=3)
    other.reset(seed=3)
    MiniGridAttributes(env)
    assert env.np_random.integers(2**31) == other.np_random.integers(2**31)


def test_the_same_id_has_the_same_attributes_each_time():
    spaces = {AttributeWrapper(gym.make("MiniGrid-MultiRoom-N6-v0")).attribute_space for _ in "ab"}
    assert len(spaces) == 1


def test_a_new_episode_has_a_new_floor_plan():
    env = AttributeWrapper(gym.make("MiniGrid-LockedRoom-v0"))
    for seed in range(5):
        env.reset(seed=seed)
        goal = np.argwhere(env.unwrapped.grid.encode()[..., 0] == 8)[0]
        env.unwrapped.agent_pos = tuple(goal)
        assert now(env)["room"] == "goal"
        assert now(env)["at_goal"] is True


def test_unknown_parts_and_parts_that_no_world_has_are_refused():
    with pytest.raises(InvalidAttributes, match="parts are some of"):
        MiniGridAttributes(Drawn(*LOCKED), ["doors"])
    with pytest.raises(InvalidAttributes, match="none of the parts"):
        MiniGridAttributes(Drawn("###", "#>#", "###"))
