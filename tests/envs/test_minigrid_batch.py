"""The batched MiniGrid: held equal to MiniGrid's own, and what it refuses."""

from __future__ import annotations

import copy
import sys

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from minigrid.core.world_object import Ball, Box, Door, Key
from minigrid.envs import DoorKeyEnv
from minigrid.wrappers import FullyObsWrapper
from minigrid_twin import assert_equal_to_minigrid, curious

from gym_attrplan import AttributeVectorWrapper, AttributeWrapper
from gym_attrplan.attributes.library.minigrid_batch import MiniGridBatchAttributes
from gym_attrplan.envs.minigrid import MiniGridVectorEnv, minigrid_vec
from gym_attrplan.envs.minigrid.layouts import QuickGenerator
from gym_attrplan.envs.minigrid.support import end_rule, make_template
from gym_attrplan.envs.minigrid.things import EMPTY, Things
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment

SAMPLE = [
    "MiniGrid-DoorKey-5x5-v0",
    "MiniGrid-KeyCorridorS3R1-v0",
    "MiniGrid-MultiRoom-N2-S4-v0",
    "MiniGrid-LavaCrossingS9N1-v0",
    "MiniGrid-Fetch-5x5-N2-v0",
    "MiniGrid-GoToDoor-5x5-v0",
    "MiniGrid-PutNear-6x6-N2-v0",
    "MiniGrid-RedBlueDoors-6x6-v0",
    "MiniGrid-ObstructedMaze-1Dlhb-v0",
    "MiniGrid-MemoryS7-v0",
]
LEVELS = [
    "BabyAI-GoToLocal-v0",
    "BabyAI-GoToRedBallGrey-v0",
    "BabyAI-OpenDoor-v0",
    "BabyAI-UnlockLocalDist-v0",
    "BabyAI-KeyInBox-v0",
    "BabyAI-PutNextS5N2-v0",
    "BabyAI-MiniBossLevel-v0",
]
DOOR_KEY = "MiniGrid-DoorKey-5x5-v0"


def is_batched(env_id):
    unknown = ("Dynamic-Obstacles", "WFC")
    return env_id.startswith("MiniGrid-") and not any(name in env_id for name in unknown)


EVERY = sorted(filter(is_batched, gym.registry))


@pytest.mark.parametrize("env_id", SAMPLE)
def test_a_batch_does_what_minigrid_does(env_id):
    assert_equal_to_minigrid(env_id, n_envs=4, n_steps=50)


@pytest.mark.parametrize("env_id", [*LEVELS, "MiniGrid-Fetch-5x5-N2-v0", "MiniGrid-MemoryS7-v0"])
def test_without_missions_a_batch_does_what_minigrids_base_class_does(env_id):
    assert_equal_to_minigrid(env_id, n_envs=4, n_steps=80, without_missions=True)


def test_a_level_without_a_place_for_the_agent_is_drawn_again():
    env, _ = make_template("BabyAI-GoToObj-v0", {}, without_missions=True)
    env.reset(seed=0)
    full = copy.deepcopy(env)
    for x in range(1, full.width - 1):
        for y in range(1, full.height - 1):
            full.grid.set(x, y, None if (x, y) == (3, 3) else Ball("red"))
    with pytest.raises(RecursionError, match="no place for the agent"):
        full.place_agent(0, 0)
    for _ in range(20):  # BabyAI draws another layout after this error
        full.reset()
    assert env.grid is not full.grid
    assert env.agent_tries[0] is env.grid


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id", sorted(one for one in gym.registry if "BabyAI-" in one and "Carrying" not in one)
)
def test_every_level_without_missions_does_what_minigrid_does(env_id):
    assert_equal_to_minigrid(env_id, n_envs=8, n_steps=300, without_missions=True)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", EVERY)
def test_every_id_does_what_minigrid_does(env_id):
    assert_equal_to_minigrid(env_id, n_envs=8, n_steps=2_000)


@pytest.mark.parametrize(
    "options",
    [
        {"max_steps": 7},
        {"agent_view_size": 3},
        {"agent_view_size": 19},
        {"see_through_walls": True},
        {"size": 9},
    ],
)
def test_options_of_minigrid_work_as_there(options):
    assert_equal_to_minigrid(DOOR_KEY, n_envs=3, n_steps=20, **options)


def test_with_autoreset_disabled_only_the_marked_environments_begin_anew():
    envs = MiniGridVectorEnv(DOOR_KEY, 3, autoreset_mode=AutoresetMode.DISABLED, max_steps=2)
    envs.reset(seed=0)
    for _ in range(2):
        _, _, _, truncated, info = envs.step(np.zeros(3, int))
    assert truncated.all()
    assert info == {}
    envs.reset(options={"reset_mask": np.array([True, False, True])})
    _, _, _, truncated, _ = envs.step(np.zeros(3, int))
    assert truncated.tolist() == [False, True, False]


def test_the_same_seed_gives_the_same_episodes_from_a_pool():
    def play():
        envs = MiniGridVectorEnv(DOOR_KEY, 4, pool_size=6, max_steps=3)
        images = [envs.reset(seed=5)[0]["image"]]
        images += [envs.step(np.full(4, action))[0]["image"] for action in [0, 1, 2] * 20]
        return np.stack(images)

    np.testing.assert_array_equal(play(), play())


def test_a_full_pool_gets_a_fresh_layout_for_every_1024_steps():
    envs = MiniGridVectorEnv(DOOR_KEY, 8, pool_size=10, max_steps=4)
    envs.reset(seed=0)
    for _ in range(4):  # fills the pool
        envs.step(np.zeros(8, int))
    n_drawn = envs.layouts.serials.sum()
    for _ in range(3 * 1024 // 8):
        envs.step(np.zeros(8, int))
    assert len(envs.layouts.cells) == 10
    assert envs.layouts.serials.sum() - n_drawn == 3


def test_no_layout_is_replaced_while_an_environment_is_in_it():
    envs = MiniGridVectorEnv(DOOR_KEY, 2, pool_size=3, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    before = envs.layouts.serials[envs.slots[0]]
    for _ in range(1024):
        envs.step(np.zeros(2, int))
        envs.reset(options={"reset_mask": np.array([False, True])})
    assert envs.layouts.serials[envs.slots[0]] == before
    assert envs.layouts.serials.sum() > 3


@pytest.mark.parametrize("env_id", ["MiniGrid-MultiRoom-N2-S4-v0", "MiniGrid-Unlock-v0"])
def test_a_batch_with_goals_pays_and_ends_as_one_environment_with_goals(env_id):
    envs = minigrid_vec(env_id, 3, max_steps=25)
    singles = [AttributeWrapper(gym.make(env_id, max_steps=25)) for _ in range(3)]
    assert envs.attribute_space == singles[0].attribute_space
    goal = {envs.attribute_space.names[0]: 1}
    observations, _ = envs.reset(seed=0, options={"goal": goal})
    for i, env in enumerate(singles):
        env.reset(seed=i, options={"goal": goal})
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = np.array([curious(env, rng) for env in singles])
        observations, rewards, terminated, truncated, info = envs.step(actions)
        for i, env in enumerate(singles):
            last, *judged, own = env.step(actions[i])
            assert judged == [rewards[i], terminated[i], truncated[i]]
            if terminated[i] or truncated[i]:
                np.testing.assert_array_equal(
                    info["final_obs"][i]["achieved_goal"], last["achieved_goal"]
                )
                drawn = observations["desired_goal"][i]
                last, own = env.reset(options={"goal": drawn})
            np.testing.assert_array_equal(observations["achieved_goal"][i], last["achieved_goal"])
            np.testing.assert_array_equal(observations["image"][i], last["image"])
            assert info["is_success"][i] == own["is_success"]


def test_the_ready_attributes_of_a_batch_are_found_by_the_wrapper():
    envs = MiniGridVectorEnv(DOOR_KEY, 2, autoreset_mode=AutoresetMode.DISABLED)
    expected = AttributeWrapper(gym.make(DOOR_KEY)).attribute_space
    assert AttributeVectorWrapper(envs).attribute_space == expected


def test_rooms_are_read_from_the_layout_that_a_pool_has_put_into_a_slot():
    envs = MiniGridVectorEnv("MiniGrid-MultiRoom-N2-S4-v0", 64, pool_size=65, max_steps=1)
    ready = MiniGridBatchAttributes(envs, ["room"])
    envs.reset(seed=0)
    for _ in range(160):  # ten fresh layouts
        assert (ready(envs) == 1).all()  # an episode begins a doorway from the goal
        envs.step(np.zeros(64, int))


def test_things_that_behave_alike_share_a_number():
    things = Things()
    assert things.number(None) == EMPTY
    assert things.number(Key("red")) == things.number(Key("red"))
    assert things.number(Key("red")) != things.number(Key("blue"))
    full, empty, ball = map(
        things.number, (Box("red", contains=Ball("blue")), Box("red"), Ball("blue"))
    )
    assert full != empty
    assert things.tables.toggled[[full, empty]].tolist() == [ball, EMPTY]


def test_a_locked_door_opens_with_its_key_and_is_never_locked_again():
    things = Things()
    locked, red, blue = map(things.number, (Door("red", is_locked=True), Key("red"), Key("blue")))
    tables = things.tables
    assert tables.toggled[locked] == locked
    assert tables.lock[locked] == tables.key[red] != tables.key[blue]
    opened = tables.unlocked[locked]
    assert tables.toggled[opened] == things.number(Door("red"))
    assert tables.toggled[things.number(Door("red"))] == opened


def test_a_picture_is_minigrids_own():
    envs = MiniGridVectorEnv(DOOR_KEY, 2, render_mode="rgb_array")
    single = gym.make(DOOR_KEY, render_mode="rgb_array")
    envs.reset(seed=3)
    single.reset(seed=4)
    for action in (1, 2, 2, 0):
        envs.step(np.array([0, action]))
        single.step(action)
    np.testing.assert_array_equal(envs.render()[1], single.render())


def test_the_full_view_is_that_of_minigrids_wrapper():
    env_id = "MiniGrid-RedBlueDoors-6x6-v0"  # wider than high
    envs = MiniGridVectorEnv(env_id, 2, full_view=True)
    single = FullyObsWrapper(gym.make(env_id))
    observations, _ = envs.reset(seed=3)
    observation, _ = single.reset(seed=4)
    assert envs.single_observation_space == single.observation_space
    for action in (1, 2, 2, 0, 2):
        np.testing.assert_array_equal(observations["image"][1], observation["image"])
        observations, *_ = envs.step(np.array([0, action]))
        observation, *_ = single.step(action)


def test_spaces_are_minigrids_own():
    envs = MiniGridVectorEnv("MiniGrid-MultiRoom-N2-S4-v0", 5)
    single = gym.make("MiniGrid-MultiRoom-N2-S4-v0")
    assert envs.single_observation_space == single.observation_space
    assert envs.single_action_space == single.action_space
    assert envs.observation_space.contains(envs.reset(seed=0)[0])


@pytest.mark.parametrize(
    ("env_id", "options", "message"),
    [
        ("CartPole-v1", {}, "for MiniGrid's environments"),
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", {}, r"DynamicObstaclesEnv has a step\(\) of its own"),
        ("BabyAI-GoToObj-v0", {}, r"has a step\(\) of its own.*without_missions=True"),
        (
            "BabyAI-PutNextS5N2Carrying-v0",
            {"without_missions": True},
            "begins with a thing in hand",
        ),
        (DOOR_KEY, {"colour": "red"}, "does not take .*colour"),
        (DOOR_KEY, {"agent_view_size": 4}, "does not take .*agent_view_size"),
        (DOOR_KEY, {"agent_view_size": 65}, "agent_view_size is at most 63"),
        (DOOR_KEY, {"render_mode": "human"}, "render_mode is 'rgb_array' or None"),
        (DOOR_KEY, {"pool_size": 2}, "pool_size must be greater than num_envs=2"),
        (DOOR_KEY, {"autoreset_mode": AutoresetMode.NEXT_STEP}, "autoreset_mode is one of"),
    ],
)
def test_what_cannot_be_batched_is_refused_by_name(env_id, options, message):
    with pytest.raises(InvalidEnvironment, match=message):
        MiniGridVectorEnv(env_id, 2, **options)


@pytest.mark.parametrize("num_envs", [0, -1])
def test_a_batch_of_none_is_refused(num_envs):
    with pytest.raises(InvalidEnvironment, match="num_envs must be at least 1"):
        MiniGridVectorEnv(DOOR_KEY, num_envs)


def test_a_step_before_the_first_reset_is_refused():
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        MiniGridVectorEnv(DOOR_KEY, 2).step(np.zeros(2, int))


def test_without_minigrid_the_message_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(DependencyNotInstalled, match="pip install"):
        MiniGridVectorEnv(DOOR_KEY, 2)


@pytest.mark.parametrize("name", ["step", "gen_obs", "_reward", "reset", "front_pos"])
def test_a_class_that_changes_a_rule_is_refused_with_that_methods_name(name):
    changed = type("Changed", (DoorKeyEnv,), {name: lambda self, *args: None})
    with pytest.raises(InvalidEnvironment, match=rf"has a {name}\(\) of its own"):
        end_rule(changed)


def test_a_class_that_only_draws_other_layouts_is_known():
    changed = type("Changed", (DoorKeyEnv,), {"_gen_grid": lambda self, width, height: None})
    assert end_rule(changed) is end_rule(DoorKeyEnv)


def test_an_object_of_ones_own_is_refused():
    class Cake(Ball):
        pass

    with pytest.raises(InvalidEnvironment, match="Cake"):
        Things().number(Cake())


def test_the_generator_of_pooled_layouts_draws_evenly_and_else_as_numpy_does():
    quick = QuickGenerator(np.random.PCG64(0))
    drawn = np.array([quick.integers(3, 9) for _ in range(6_000)])
    times = np.bincount(drawn, minlength=9)
    assert times[:3].sum() == 0
    assert len(times) == 9
    assert (np.abs(times[3:] - 1_000) < 5 * 1_000**0.5).all()
    quick, plain = QuickGenerator(np.random.PCG64(1)), np.random.default_rng(1)
    for draw in ("integers", "permutation", "random"):
        expected = getattr(plain, draw)(4)
        np.testing.assert_array_equal(getattr(quick, draw)(4), expected)
