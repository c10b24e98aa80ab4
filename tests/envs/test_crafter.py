"""Crafter with Gymnasium's interface: the same game, as symbols or as pixels."""

import copy
import pickle
import subprocess
import sys
import warnings
from collections import defaultdict

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same
from stable_baselines3 import PPO

from gym_attrplan import AttributeWrapper, check_attribute_env
from gym_attrplan.attributes.library.crafter import N_ACHIEVEMENTS
from gym_attrplan.envs.crafter import crafter_score
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment

crafter = pytest.importorskip("crafter")

from crafter import engine, objects  # noqa: E402

from gym_attrplan.envs.crafter.env import OBS_TYPES, CrafterEnv  # noqa: E402
from gym_attrplan.envs.crafter.game import (  # noqa: E402
    ACHIEVEMENTS,
    ACTIONS,
    ITEMS,
    MATERIALS,
    InOrder,
)
from gym_attrplan.envs.crafter.symbols import THINGS  # noqa: E402

DO, SLEEP = ACTIONS.index("do"), ACTIONS.index("sleep")
KINDS = (
    objects.Player,
    objects.Cow,
    objects.Zombie,
    objects.Skeleton,
    objects.Arrow,
    objects.Plant,
)


def make(obs_type="symbols", seed=0, **kwargs):
    env = CrafterEnv(obs_type=obs_type, **kwargs)
    env.reset(seed=seed)
    return env


def random_actions(n, seed=0):
    return np.random.default_rng(seed).integers(len(ACTIONS), size=n).tolist()


def walk(env, actions, seed=3):
    """Every observation, reward and end, over as many episodes as the actions last."""
    seen = [env.reset(seed=seed)]
    for action in actions:
        seen.append(env.step(action))
        if seen[-1][2]:
            seen.append(env.reset())
    return seen


def ordered(original):
    """Crafter's environment after a reset, with sets whose order is that of our maps."""
    world = original._world
    world._chunks = defaultdict(
        InOrder,
        {
            key: InOrder.fromkeys(sorted(chunk, key=world._objects.index))
            for key, chunk in world._chunks.items()
        },
    )
    return original


@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_both_checkers_pass(obs_type):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*env.unwrapped.*")
        check_env(gym.make("AttrCrafter-v0", obs_type=obs_type))
    check_attribute_env(gym.make("AttrCrafter-v0", obs_type=obs_type), n_steps=50)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_ppo_runs(obs_type):
    env = gym.make("AttrCrafter-v0", obs_type=obs_type)
    PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, n_epochs=1).learn(64)


def test_pixels_rewards_and_infos_are_crafters_own_in_every_episode_of_a_seed():
    original, env = crafter.Env(seed=5), CrafterEnv(obs_type="pixels")
    image, observation = original.reset(), env.reset(seed=5)[0]
    ordered(original)
    n_episodes = 1
    for action in random_actions(500):
        assert (image == observation).all()
        image, reward, over, info = original.step(action)
        observation, our_reward, died, truncated, our_info = env.step(action)
        assert (our_reward, died, truncated) == (pytest.approx(reward), over, False)
        assert our_info["achievements"] == info["achievements"]
        assert our_info["inventory"] == info["inventory"]
        if over:
            n_episodes += 1
            image, observation = original.reset(), env.reset()[0]
            ordered(original)
    assert n_episodes > 1


def test_a_seed_gives_the_same_episodes_again_and_another_seed_others():
    actions = random_actions(300)
    first = walk(CrafterEnv(), actions)
    assert same(walk(CrafterEnv(), actions), first)
    assert same(walk(make(seed=8), actions), first)
    assert not same(walk(CrafterEnv(), actions, seed=4), first)


def test_episodes_without_a_seed_differ():
    one, two = CrafterEnv(), CrafterEnv()
    maps = set()
    for env in (one, one, two, two):
        env.reset()
        maps.add(env.game.world._mat_map.tobytes())
    assert len(maps) == 4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_where_the_environment_was(copied):
    env = make()
    env.step(DO)
    twin = copied(env)
    for action in random_actions(20):
        assert same(env.step(action), twin.step(action))
    assert same(env.reset(), twin.reset())


def test_the_view_is_the_part_of_crafters_map_around_the_player():
    env = make(seed=1)
    whole = engine.World(env.game.world.area, list(MATERIALS[1:]), (12, 12))
    semantic = engine.SemanticView(whole, KINDS)
    for action in random_actions(150):
        observation = env.step(action)[0]
        if observation["daylight"] < 0.5:
            continue
        whole._mat_map, whole._objects = env.game.world._mat_map, env.game.world._objects
        x, y = env.game.player.pos
        around = np.pad(semantic(), 4)[x : x + 9, y + 1 : y + 8].T
        materials, things = np.moveaxis(observation["view"], 2, 0)
        numbers = {THINGS.index(kind.__name__.lower()): i for i, kind in enumerate(KINDS[1:4], 1)}
        assert (materials == np.where(around < len(MATERIALS), around, materials)).all()
        assert ((things > 0) == (around >= len(MATERIALS))).all()
        for number, kind in numbers.items():
            assert ((things == number) == (around == len(MATERIALS) + kind)).all()


def test_inventory_facing_and_sleep_are_the_players():
    env = make()
    env.game.player.inventory["energy"] = 3
    env.game.player.inventory["wood"] = 7
    observation, *_ = env.step(ACTIONS.index("move_up"))
    assert observation["facing"] == 2
    assert THINGS[observation["view"][3, 4, 1]] == "player-up"
    assert dict(zip(ITEMS, observation["inventory"], strict=True)) == env.inventory
    assert observation["inventory"][ITEMS.index("wood")] == 7
    observation, *_ = env.step(SLEEP)
    assert observation["sleeping"] == 1
    assert THINGS[observation["view"][3, 4, 1]] == "player-sleep"


def test_cells_beyond_the_map_are_empty():
    env = make()
    env.game.world.move(env.game.player, (0, 63))
    view = env.step(ACTIONS.index("noop"))[0]["view"]
    assert not view[:, :4].any()
    assert not view[4:].any()
    assert view[:4, 4:, 0].all()


def test_a_dark_night_hides_the_corners_and_never_the_player():
    env = make()
    env.game._step = 209  # the darkest step
    observation = env.step(ACTIONS.index("noop"))[0]
    assert observation["daylight"] < 0.01
    view = observation["view"]
    assert not view[[0, 0, -1, -1], [0, -1, 0, -1]].any()
    assert view[3, 3:6, 0].all()
    env.game._step = 0
    assert env.step(ACTIONS.index("noop"))[0]["view"][..., 0].all()


def test_rendering_leaves_the_game_as_it_was():
    drawn, plain = make(render_mode="rgb_array"), make()
    for env in (drawn, plain):
        env.game._step = 200  # at night, images need random numbers
    for action in random_actions(30):
        image = drawn.render()
        assert same(drawn.step(action), plain.step(action))
    assert image.shape == (576, 576, 3)
    assert image.dtype == np.uint8


def test_death_ends_an_episode_and_the_step_limit_truncates_it():
    env = gym.make("AttrCrafter-v0")
    assert env.spec.max_episode_steps == 10_000
    env = gym.make("AttrCrafter-v0", max_episode_steps=2)
    env.reset(seed=0)
    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)
    env.reset()
    env.unwrapped.game.player.health = 0
    assert env.step(0)[2:4] == (True, False)


def test_unknown_kinds_of_observation_and_rendering_are_refused():
    with pytest.raises(InvalidEnvironment, match=r"obs_type is one of .*received 'words'"):
        gym.make("AttrCrafter-v0", obs_type="words")
    with pytest.raises(InvalidEnvironment, match="render_mode is None or one of"):
        CrafterEnv(render_mode="ansi")


def test_without_crafter_the_error_names_the_remedy(monkeypatch):
    for name in ("env", "game", "symbols"):
        monkeypatch.delitem(sys.modules, f"gym_attrplan.envs.crafter.{name}")
    monkeypatch.setitem(sys.modules, "crafter", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[crafter\]"'):
        gym.make("AttrCrafter-v0")


def test_importing_the_library_imports_no_crafter():
    code = (
        "import sys, gym_attrplan, gym_attrplan.envs.crafter, gym_attrplan.envs.crafter.factories;"
        "import gym_attrplan.attributes.library.crafter;"
        "sys.exit(bool({'crafter', 'numba', 'opensimplex'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_score_is_the_shifted_geometric_mean_of_the_rates():
    assert crafter_score([50.0] * 22) == pytest.approx(50.0)
    assert crafter_score([0.0] * 22) == 0.0
    assert crafter_score([100.0] * 11 + [0.0] * 11) == pytest.approx(101.0**0.5 - 1.0)


# --- attributes ---------------------------------------------------------------------------------


def wrapped(seed=0):
    env = AttributeWrapper(make(seed=seed), terminate_on_success=False)
    env.reset(seed=seed)
    return env


def put_ahead(env, material):
    player = env.unwrapped.game.player
    env.unwrapped.game.world[player.pos + player.facing] = material


def values(env, vector):
    return dict(zip(env.attribute_space.names, vector.tolist(), strict=True))


def test_the_first_attributes_are_the_achievements():
    assert wrapped().attribute_space.names[:N_ACHIEVEMENTS] == ACHIEVEMENTS


def test_attributes_agree_with_crafters_counts_and_inventory_in_every_step():
    env = wrapped(seed=2)
    before = dict.fromkeys(ACHIEVEMENTS, 0)
    n_happened = 0
    for action in random_actions(400):
        _, _, over, _, info = env.step(action)
        now = values(env, info["attributes"])
        happened = {one for one in ACHIEVEMENTS if info["achievements"][one] > before[one]}
        assert {one for one in ACHIEVEMENTS if now[one]} == happened
        n_happened += len(happened)
        owned, before = info["inventory"], info["achievements"]
        assert now["wood"] == np.digitize(owned["wood"], [1, 2, 5])
        assert now["stone"] == np.digitize(owned["stone"], [1, 4])
        for item in ("coal", "iron", "sapling"):
            assert now[item] == (owned[item] > 0)
        if over:
            env.reset()
            before = dict.fromkeys(ACHIEVEMENTS, 0)
    assert n_happened > 5


def test_wood_is_faced_and_collected_and_the_event_is_over_in_the_next_step():
    env = wrapped()
    put_ahead(env, "tree")
    env.step(ACTIONS.index("noop"))
    now = values(env, env.step(DO)[4]["attributes"])
    assert (now["collect_wood"], now["wood"], now["facing"]) == (1, 1, 0)
    put_ahead(env, "tree")
    info = env.step(ACTIONS.index("noop"))[4]
    assert env.attribute_space.matches(info["attributes"], env.attribute_space.goal("facing=tree"))
    assert values(env, info["attributes"])["collect_wood"] == 0
    assert values(env, env.step(DO)[4]["attributes"])["wood"] == 2


def test_a_table_is_near_where_tools_can_be_made():
    env = wrapped()
    env.unwrapped.game.player.inventory |= {"wood": 9, "stone": 9, "coal": 9, "iron": 9}
    make_iron = ACTIONS.index("make_iron_pickaxe")
    now = values(env, env.step(make_iron)[4]["attributes"])
    assert (now["near"], now["pickaxe"], now["make_iron_pickaxe"]) == (0, 0, 0)
    assert values(env, env.step(ACTIONS.index("place_table"))[4]["attributes"])["near"] == 1
    env.step(ACTIONS.index("move_up"))
    env.step(ACTIONS.index("move_down"))
    player = env.unwrapped.game.player
    env.unwrapped.game.world[player.pos + np.array([1, 0])] = "furnace"
    now = values(env, env.step(make_iron)[4]["attributes"])
    assert (now["near"], now["pickaxe"], now["make_iron_pickaxe"]) == (3, 3, 1)


def test_goals_are_achievements_and_asking_by_name_works():
    env = gym.make("AttrCrafter-v0")
    space = env.get_wrapper_attr("attribute_space")
    drawn = {space.describe(env.reset(seed=i)[0]["desired_goal"]) for i in range(8)}
    assert len(drawn) > 2
    assert drawn <= set(ACHIEVEMENTS)
    observation, _ = env.reset(seed=0, options={"goal": {"collect_diamond": True}})
    assert space.describe(observation["desired_goal"]) == "collect_diamond"
    player = env.unwrapped.game.player
    player.inventory["iron_pickaxe"] = 1
    env.unwrapped.game.world[player.pos + player.facing] = "diamond"
    _, reward, terminated, _, info = env.step(DO)
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
