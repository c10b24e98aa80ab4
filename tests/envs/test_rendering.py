import gymnasium as gym
import numpy as np
import pytest
from minigrid.core.grid import Grid
from rooms import SIZE, room

from gym_attrplan.envs.grids import CraftingRules, SwitchesRules
from gym_attrplan.envs.grids.objects import object_tiles
from gym_attrplan.envs.grids.views import VIEW_TILE

SWITCHES = {"size": SIZE, "n_switches": 2, "n_colors": 3, "n_walls": 1}
ROOM = room(agent=(1, 1), objects=[(3, 1), (4, 4)], states=[2, 0], walls=[(1, 2)])


def test_text_shows_the_room_the_goal_and_how_things_are():
    env = gym.make("AttrSwitches-v0", render_mode="ansi", **SWITCHES)
    env.reset(options={"room": ROOM, "goal": "switch 2=green"})
    env.step(0)
    assert env.render().splitlines() == [
        "##################",
        "### · >·  1b · ###",
        "###### ·  ·  · ###",
        "### ·  ·  ·  · ###",
        "### ·  ·  ·  2r###",
        "##################",
        "goal: switch 2=green",
        " now: switch 1=blue, switch 2=red",
    ]


def test_the_picture_changes_with_the_goal_and_only_beside_the_room():
    env = gym.make("AttrSwitches-v0", render_mode="rgb_array", **SWITCHES)
    frames = []
    for goal in ("switch 1=red", "switch 1=green"):
        env.reset(options={"room": ROOM, "goal": goal})
        frames.append(env.render())
    side = SIZE * 32
    assert np.array_equal(frames[0][:side, :side], frames[1][:side, :side])
    assert not np.array_equal(frames[0][:, side:], frames[1][:, side:])


def test_a_goal_that_is_met_looks_otherwise_than_one_that_is_not():
    env = gym.make("AttrCrafting-v0", render_mode="rgb_array")
    env.reset(seed=0, options={"goal": "not wood"})
    met = env.render()
    env.reset(seed=0, options={"goal": "wood"})
    assert not np.array_equal(met, env.render())


@pytest.mark.parametrize("id_", ["AttrSwitches-v0", "AttrCrafting-v0"])
def test_a_window_opens(id_, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make(id_, render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert env.render_mode == "human"
    env.close()


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(SwitchesRules(n_switches=9, n_colors=8), marks=pytest.mark.slow),
        CraftingRules(),
        CraftingRules({"xylophone": ["zinc"], "yoke": ["zinc"]}, ["zinc"]),
    ],
)
def test_no_two_things_look_the_same_to_the_agent_even_below_it(rules):
    tiles = [tile for tile in object_tiles(rules) if tile is not None]
    looks = {
        Grid.render_tile(tile, facing, tile_size=VIEW_TILE).tobytes()
        for tile in (*tiles, None)
        for facing in (None, 0, 1, 2, 3)
    }
    assert len(looks) == 5 * (len(tiles) + 1)


def test_items_without_an_icon_of_their_own_are_kept_apart_between_environments():
    frames = []
    for name in ("amber", "brass"):
        env = gym.make(
            "AttrCrafting-v0", resources=[name], recipes={"coin": [name]}, obs_type="rgb"
        )
        frames.append(env.reset(seed=0)[0]["observation"])
    assert not np.array_equal(*frames)
