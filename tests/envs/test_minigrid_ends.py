"""How episodes of the batched MiniGrid end: won and lost, a step away from it, as in MiniGrid."""

from __future__ import annotations

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
import pytest
from minigrid.core.world_object import Ball, Box, Key
from minigrid_twin import DROP, FORWARD, PICK_UP, TOGGLE

from gym_attrplan.envs.minigrid import MiniGridVectorEnv

DONE = 6
RIGHT_OF, LEFT_OF = 2, 0
"""The direction in which to look at something from its right, and from its left."""
THINGS = {"key": Key, "ball": Ball, "box": Box}


class Pair:
    """The same episode in MiniGrid and in a batch, where another environment stands before it."""

    def __init__(self, name, seed=1, **kwargs):
        env_id = f"MiniGrid-{name}-v0"
        self.envs = MiniGridVectorEnv(env_id, 2, **kwargs)
        self.single = gym.make(env_id, **kwargs).unwrapped
        self.envs.reset(seed=seed - 1)
        self.single.reset(seed=seed)

    def face(self, position, direction=LEFT_OF):
        """Put the agent to the left of a cell, or to its right, and look at it."""
        column, row = position
        self.single.agent_pos = (column + (1 if direction == RIGHT_OF else -1), row)
        self.single.agent_dir = direction
        self.envs.agents[1] = self.envs.layouts.geometry.cell(self.single.agent_pos)
        self.envs.directions[1] = direction

    def hold(self, thing):
        self.single.carrying = thing
        self.envs.carried[1] = self.envs.things.number(thing)

    def act(self, action):
        """Whether the episode ended, and whether it was won; the reward is MiniGrid's."""
        _, rewards, terminated, _, _ = self.envs.step(np.array([0, action]))
        _, reward, ended, _, _ = self.single.step(action)
        assert rewards.tolist() == [0, reward]
        assert terminated.tolist() == [False, ended]
        return ended, reward > 0


ON, LOST, WON = (False, False), (True, False), (True, True)


def cell_of(pair, door):
    index = pair.single.grid.grid.index(door)
    return index % pair.single.width, index // pair.single.width


@pytest.mark.parametrize(
    "name", ["KeyCorridorS3R3", "UnlockPickup", "BlockedUnlockPickup", "ObstructedMaze-1Dl"]
)
def test_picking_up_the_target_wins(name):
    pair = Pair(name)
    pair.face(pair.single.obj.cur_pos)
    assert pair.act(PICK_UP) == WON


def test_picking_up_another_thing_than_the_target_wins_nothing():
    pair = Pair("KeyCorridorS3R3")
    key = next(cell for cell in pair.single.grid.grid if cell is not None and cell.type == "key")
    pair.face(key.cur_pos)
    assert pair.act(PICK_UP) == ON


def test_a_target_is_told_from_a_thing_that_looks_the_same():
    pairs = (Pair("KeyCorridorS3R3", seed, obj_type="key") for seed in range(1, 200))
    pair, other = next(
        (pair, cell)
        for pair in pairs
        for cell in pair.single.grid.grid
        if cell is not None and cell.type == "key" and cell is not pair.single.obj
        if cell.color == pair.single.obj.color
    )
    pair.face(other.cur_pos)
    assert pair.act(PICK_UP) == ON


def test_unlocking_the_door_wins():
    pair = Pair("Unlock")
    pair.face(cell_of(pair, pair.single.door))
    assert pair.act(TOGGLE) == ON
    pair.hold(Key(pair.single.door.color))
    assert pair.act(TOGGLE) == WON


def test_the_red_door_then_the_blue_one_wins():
    pair = Pair("RedBlueDoors-6x6")
    pair.face(cell_of(pair, pair.single.red_door), RIGHT_OF)
    assert pair.act(TOGGLE) == ON
    pair.face(cell_of(pair, pair.single.blue_door))
    assert pair.act(TOGGLE) == WON


def test_the_blue_door_first_loses():
    pair = Pair("RedBlueDoors-6x6")
    pair.face(cell_of(pair, pair.single.blue_door))
    assert pair.act(TOGGLE) == LOST


@pytest.mark.parametrize("name", ["GoToDoor-5x5", "GoToObject-6x6-N2"])
@pytest.mark.parametrize(
    ("aside", "action", "outcome"), [(0, DONE, WON), (1, DONE, LOST), (0, TOGGLE, LOST)]
)
def test_being_done_beside_the_target_wins(name, aside, action, outcome):
    pair = Pair(name)
    column, row = pair.single.target_pos
    pair.face((column + aside, row), RIGHT_OF)  # a cell to the right of the target, or two
    assert pair.act(action) == outcome


def test_being_done_on_a_diagonal_loses():
    pair = Pair("GoToObject-6x6-N2")
    column, row = pair.single.target_pos
    pair.face((column, row + 1 if row < 3 else row - 1))
    assert pair.act(DONE) == LOST


@pytest.mark.parametrize("fetched", [True, False])
def test_fetching_wins_with_the_right_thing_alone(fetched):
    pair = Pair("Fetch-5x5-N2")
    env = pair.single
    wanted = (env.targetType, env.targetColor)
    index, _ = next(
        (i, cell)
        for i, cell in enumerate(env.grid.grid)
        if cell is not None and cell.can_pickup() and ((cell.type, cell.color) == wanted) == fetched
    )
    pair.face((index % env.width, index // env.width))
    assert pair.act(PICK_UP) == (WON if fetched else LOST)


@pytest.mark.parametrize(("apart", "outcome"), [(1, WON), (2, LOST)])
def test_putting_a_thing_near_the_target_wins(apart, outcome):
    pair = Pair("PutNear-8x8-N3")
    env = pair.single
    column, row = env.target_pos
    place = next(
        (x, y)
        for x in range(1, env.width - 1)
        for y in range(1, env.height - 1)
        if env.grid.get(x, y) is None and max(abs(x - column), abs(y - row)) == apart
    )
    pair.hold(THINGS[env.move_type](env.moveColor))
    pair.face(place)
    assert pair.act(DROP) == outcome


def test_a_drop_that_fails_loses_in_putnear():
    pair = Pair("PutNear-6x6-N2")
    pair.hold(THINGS[pair.single.move_type](pair.single.moveColor))
    pair.face(pair.single.target_pos)
    assert pair.act(DROP) == LOST


@pytest.mark.parametrize(("place", "outcome"), [("success_pos", WON), ("failure_pos", LOST)])
def test_the_matching_thing_wins_and_the_other_loses(place, outcome):
    pair = Pair("MemoryS7")
    pair.face(getattr(pair.single, place))
    assert pair.act(FORWARD) == outcome


def test_memory_lets_nobody_pick_anything_up():
    pair = Pair("MemoryS7")
    pair.face((1, 2))  # the thing to remember
    assert pair.act(PICK_UP) == ON
    assert pair.single.carrying is None
    assert pair.envs.things[pair.envs.carried[1]] is None
