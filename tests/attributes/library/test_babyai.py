"""BabyAI's attributes and the goals of its missions, held against BabyAI's verifier."""

from __future__ import annotations

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
import pytest
from minigrid.core.world_object import Ball, Box, Door, Key
from stable_baselines3.common.evaluation import evaluate_policy
from test_babyai_missions import quiet_reset

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.attributes.library.babyai import BabyAIAttributes
from gym_attrplan.attributes.library.babyai_goals import BabyAIGoals
from gym_attrplan.envs.minigrid import minigrid_vec
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)


def make(name, **kwargs):
    return BabyAIGoals(AttributeWrapper(gym.make(f"BabyAI-{name}-v0", **kwargs)))


def names(name):
    return list(BabyAIAttributes(gym.make(f"BabyAI-{name}-v0")).attribute_space)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GoToLocal", ["facing"]),
        ("GoTo", ["facing", "room"]),
        ("Open", ["facing", "room"]),
        ("Pickup", ["facing", "carrying", "room"]),
        ("PutNextLocal", ["facing", "carrying", "beside"]),
        ("Unlock", ["facing", "carrying", "locked", "room"]),
        ("BossLevel", ["facing", "carrying", "beside", "locked", "room"]),
    ],
)
def test_a_level_has_the_attributes_that_its_missions_need(name, expected):
    assert names(name) == expected


def test_parts_are_chosen_by_name_and_unknown_ones_refused():
    env = gym.make("BabyAI-GoToLocal-v0")
    assert list(BabyAIAttributes(env, ["carrying"]).attribute_space) == ["carrying"]
    with pytest.raises(InvalidAttributes, match=r"parts are some of .*colour"):
        BabyAIAttributes(env, ["colour"])
    with pytest.raises(InvalidAttributes, match="none of the parts"):
        BabyAIAttributes(env, ["locked"])


CELLS = {"ahead": (10, 10), "beyond": (11, 10), "right": (10, 11), "left": (10, 9)}


class Stage:
    """A Boss level whose middle room is cleared, with the agent in it, looking to the right."""

    def __init__(self, **things):
        self.env = AttributeWrapper(gym.make("BabyAI-BossLevel-v0"))
        quiet_reset(self.env, 0)
        self.level = level = self.env.unwrapped
        for x in range(8, 14):
            for y in range(8, 14):
                level.grid.set(x, y, None)
        level.agent_pos, level.agent_dir = np.array((9, 10)), 0
        for place, thing in things.items():
            x, y = {"ahead": (10, 10), "beyond": (11, 10), "right": (10, 11), "left": (10, 9)}[
                place
            ]
            level.grid.set(x, y, thing)

    def reads(self, name):
        space, values = self.env.attribute_space, self.env.recompute_attributes()
        return space.words[name][values[list(space).index(name)]]


def test_facing_tells_open_doors_from_closed_ones():
    stage = Stage(ahead=Door("red"))
    assert stage.reads("facing") == "red door"
    stage.level.step(TOGGLE)
    assert stage.reads("facing") == "open red door"


def test_carrying_is_the_thing_in_hand():
    stage = Stage(ahead=Key("blue"))
    assert (stage.reads("facing"), stage.reads("carrying")) == ("blue key", "nothing")
    stage.level.step(PICK_UP)
    assert (stage.reads("facing"), stage.reads("carrying")) == ("nothing", "blue key")


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ({}, "nothing"),
        ({"beyond": Box("red"), "right": Ball("grey"), "left": Key("blue")}, "red box"),
        ({"right": Ball("grey"), "left": Key("blue")}, "grey ball"),
        ({"left": Key("blue")}, "blue key"),
        ({"ahead": Ball("red"), "left": Key("blue")}, "nothing"),
        ({"ahead": Door("red"), "left": Key("blue")}, "nothing"),
        ({"beyond": Door("red")}, "red door"),
    ],
)
def test_beside_is_what_a_thing_put_down_ahead_would_lie_next_to(things, expected):
    assert Stage(**things).reads("beside") == expected


def test_locked_names_the_door_that_needs_a_key():
    env = AttributeWrapper(gym.make("BabyAI-UnlockLocal-v0"))
    quiet_reset(env, 0)
    (door,) = {
        id(one): one for one in env.unwrapped.grid.grid if one and one.type == "door"
    }.values()
    space = env.attribute_space
    assert f"locked={door.color} door" in space.describe(env.recompute_attributes())
    door.is_locked = False
    assert "locked=nothing" in space.describe(env.recompute_attributes())


@pytest.mark.parametrize("name", ["GoToLocal", "KeyInBox", "UnlockLocalDist", "MiniBossLevel"])
def test_possible_values_are_those_of_the_room_in_a_batch_too(name):
    env_id, n = f"BabyAI-{name}-v0", 4
    envs = minigrid_vec(env_id, n, without_missions=True)
    envs.reset(seed=0)
    for i, possible in enumerate(envs.possible_values()):
        env = AttributeWrapper(gym.make(env_id))
        quiet_reset(env, i)
        np.testing.assert_array_equal(env.possible_values(), possible)
        level = env.unwrapped
        room = level.room_from_pos(*level.agent_pos)
        (left, top), (width, height) = room.top, room.size
        around = [level.grid.get(left + x, top + y) for x in range(width) for y in range(height)]
        around += [one.contains for one in around if one is not None]  # in boxes
        looks = {f"{one.color} {one.type}" for one in around if one is not None}
        words = env.attribute_space.words["facing"]  # the first attribute of these levels
        facing = {words[value].removeprefix("open ") for value in np.flatnonzero(possible[0])}
        assert looks - {"grey wall"} | {"nothing"} == facing


def test_other_grids_do_not_know_what_is_possible():
    assert not minigrid_vec("MiniGrid-DoorKey-5x5-v0", 2).knows_possible_values


def test_a_goal_that_holds_without_the_deed_is_asked_for_from_the_opposite():
    env = make("OpenRedDoor")
    quiet_reset(env, 0)
    level = env.unwrapped
    door = next(one for one in level.grid.grid if one and one.type == "door")
    door.is_open = True
    level.agent_pos, level.agent_dir = np.array(door.cur_pos) - (1, 0), 0
    env.step(DONE)
    assert env.goal == "facing=red door"
    *_, info = env.step(TOGGLE)
    assert (env.goal, info["n_left"], info["is_success"]) == (
        "facing=open red door, room=A",
        1,
        False,
    )
    _, reward, terminated, _, info = env.step(TOGGLE)
    assert (terminated, info["n_left"], info["is_success"]) == (True, 0, True)
    assert reward > 0


@pytest.mark.parametrize("name", ["GoTo", "Pickup", "Open"])
def test_in_a_level_with_rooms_the_goal_names_the_room_of_the_thing(name):
    env = make(name)
    level = env.unwrapped
    for seed in range(10):
        quiet_reset(env, seed)
        rooms = [room for row in level.room_grid for room in row]  # in reading order: A, B, …
        (thing,) = env._task._chosen
        around = [i for i, room in enumerate(rooms) if thing in room.objs + room.doors]
        letter = env.goal.partition("room=")[2]
        assert "ABCDEFGHI".index(letter) in around
        if thing.type == "door":  # the room from which it can be opened
            here = rooms.index(level.room_from_pos(*level.agent_pos))
            assert here not in around or "ABCDEFGHI"[here] == letter
            assert env.goal.startswith(f"facing=open {thing.color} door, ")
        else:
            assert env.goal.startswith(f"facing={thing.color} {thing.type}, ")


def test_in_a_level_with_rooms_a_thing_is_faced_before_it_is_picked_up():
    env = make("Pickup")
    quiet_reset(env, 0)
    level = env.unwrapped
    (thing,) = env._task._chosen
    Oracle(env)._face(level, f"{thing.color} {thing.type}", DONE)
    env.step(DONE)
    assert env.goal == f"carrying={thing.color} {thing.type}"
    *_, info = env.step(PICK_UP)
    assert info["is_success"]


def test_of_several_things_meant_the_nearest_without_a_double_is_asked_for():
    env = make("PickupLoc")
    level = env.unwrapped
    n_doubles = 0
    for seed in range(100):
        quiet_reset(env, seed)
        meant = [id(one) for one in env._task._meant[0]]
        look = env.goal.removeprefix("carrying=")
        doubles = [
            one
            for one in level.grid.grid
            if one is not None and f"{one.color} {one.type}" == look and id(one) not in meant
        ]
        n_doubles += bool(doubles)
    assert n_doubles <= 10


def test_putting_next_to_is_three_goals():
    env = make("PutNextLocal")
    quiet_reset(env, 0)
    level = env.unwrapped
    for i in range(len(level.grid.grid)):
        if level.grid.grid[i] is not None and level.grid.grid[i].type != "wall":
            level.grid.grid[i] = None
    ball, key = (task_things[0] for task_things in env._task._meant)
    level.agent_pos, level.agent_dir = np.array((2, 2)), 0
    level.grid.set(3, 2, ball)
    level.grid.set(4, 4, key)
    assert env.goal == "carrying=green ball"
    env.step(PICK_UP)
    assert env.goal == "carrying=green ball, beside=green key"
    env.step(FORWARD)
    env.step(RIGHT)
    env.step(FORWARD)  # to (3, 3), which looks down at (3, 4), beside the key
    assert env.goal == "carrying=nothing"
    *_, info = env.step(DROP)
    assert info["is_success"]


@pytest.mark.parametrize("env", ["CartPole-v1", "BabyAI-GoToLocal-v0"])
def test_only_levels_with_attributes_have_goals(env):
    with pytest.raises(InvalidEnvironment, match="BabyAI's levels with attributes"):
        BabyAIGoals(gym.make(env))


def meddle(env, rng):
    """An action that does something with what is ahead more often than random ones do."""
    front = env.unwrapped.grid.get(*env.unwrapped.front_pos)
    if rng.random() < 0.3:
        return int(rng.integers(DONE))
    if front is not None and front.type != "wall":
        return int(rng.choice([PICK_UP, TOGGLE, FORWARD] if front.type == "door" else [PICK_UP]))
    if env.unwrapped.carrying and rng.random() < 0.2:
        return DROP
    return int(rng.choice([LEFT, RIGHT, FORWARD], p=[0.2, 0.2, 0.6]))


@pytest.mark.parametrize(
    "name",
    [
        "GoToLocal",
        "PickupLoc",
        "OpenDoorColor",
        "OpenDoorsOrderN2",
        "PutNextS4N1",
        "UnlockLocal",
        "MiniBossLevel",
    ],
)
def test_the_last_instruction_is_done_when_the_verifier_says_so(name):
    env, rng, n_done = make(name, max_steps=300), np.random.default_rng(0), 0
    for seed in range(20):
        quiet_reset(env, seed)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(meddle(env, rng))
            assert info["is_success"] == (reward > 0) == (info["n_left"] == 0)
            over = terminated or truncated
        n_done += info["is_success"]
    assert n_done >= 3


class Oracle:
    """Puts the agent where the current goal can be met, and acts on it."""

    def __init__(self, env):
        self.env = env

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        level = self.env.unwrapped
        goal = dict(term.split("=") for term in self.env.get_wrapper_attr("goal").split(", "))
        if set(goal) == {"carrying"} and goal["carrying"] != "nothing":
            return self._face(level, goal["carrying"], PICK_UP), None
        wanted = goal["facing"]
        opens = wanted.startswith("open ")
        return self._face(level, wanted.removeprefix("open "), TOGGLE if opens else DONE), None

    def _face(self, level, look, action):
        """Put the agent beside the thing, away with what lies there, and return the action."""
        for i, thing in enumerate(level.grid.grid):
            if thing is None or f"{thing.color} {thing.type}" != look:
                continue
            row, column = divmod(i, level.grid.width)
            for direction, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
                in_the_way = level.grid.get(column - x, row - y)
                if in_the_way is None or in_the_way.type not in ("wall", "door"):
                    level.grid.set(column - x, row - y, None)
                    level.agent_pos, level.agent_dir = np.array((column - x, row - y)), direction
                    return np.array([action])
        raise AssertionError(f"nowhere to stand beside {look}")


@pytest.mark.parametrize("name", ["GoToLocal", "GoToRedBall", "PickupDist", "OpenDoorColor"])
def test_an_oracle_that_meets_the_goals_does_every_mission(name):
    env = make(name)
    rewards, _ = evaluate_policy(
        Oracle(env), env, n_eval_episodes=20, return_episode_rewards=True, warn=False
    )
    assert min(rewards) > 0


def test_an_agent_follows_missions_in_sb3s_evaluation():
    agent = AttributePlannerAgent("MultiInputPolicy", "BabyAI-GoToObjS4-v0", seed=0, device="cpu")
    agent.learn(2_000)
    rewards, lengths = evaluate_policy(
        agent, make("GoToObjS4"), n_eval_episodes=5, return_episode_rewards=True, warn=False
    )
    assert len(rewards) == 5
    assert max(lengths) <= 16  # the level's own limit
