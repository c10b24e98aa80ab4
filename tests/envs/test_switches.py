import itertools

import gymnasium as gym
import numpy as np
import pytest
from rooms import SIZE, room

from gym_attrplan.envs.grids import Rooms, SwitchesRules
from gym_attrplan.envs.grids.switches import SwitchesEnv
from gym_attrplan.error import InvalidEnvironment

RIGHT, DOWN, LEFT, UP, TOGGLE = range(5)


@pytest.fixture
def env():
    """The agent in the corner, a switch two cells to its right, a wall below it."""
    env = SwitchesEnv(SwitchesRules(size=SIZE, n_switches=2, n_colors=3, n_walls=1))
    env.reset(
        options={
            "room": room(agent=(1, 1), objects=[(3, 1), (4, 4)], states=[2, 0], walls=[(1, 2)])
        }
    )
    return env


def test_moves_are_cardinal_and_walls_stop_them(env):
    places = []
    for action in (DOWN, LEFT, RIGHT, DOWN, UP, UP):
        env.step(action)
        places.append(env.agent_pos)
    assert places == [(1, 1), (1, 1), (2, 1), (2, 2), (2, 1), (2, 1)]


def test_toggling_works_on_the_switch_below_the_agent_and_goes_round(env):
    seen = []
    for action in (TOGGLE, RIGHT, RIGHT, TOGGLE, TOGGLE, TOGGLE):
        env.step(action)
        seen.append(env.attributes.tolist())
    assert seen == [[2, 0], [2, 0], [2, 0], [0, 0], [1, 0], [2, 0]]


def test_words_say_where_things_are_and_what_the_switches_show(env):
    words, *_ = env.step(RIGHT)
    assert [env.rules.vocabulary.describe(word) for word in words] == [
        "switch 1 at (1, 0)",
        "switch 2 at (2, 3)",
        "wall at (-1, 1)",
        "wall at (3, 0)",
        "wall at (0, 4)",
        "wall at (-2, 0)",
        "wall at (0, -1)",
        "switch 1=blue",
        "switch 2=red",
    ]


def test_an_action_out_of_range_is_refused(env):
    with pytest.raises(gym.error.InvalidAction, match="0 to 4; received 5"):
        env.step(5)


def test_a_room_takes_one_world_only(env):
    rooms = env.rules.layout.generate(2, np.random.default_rng(0))
    with pytest.raises(InvalidEnvironment, match=r"needed: 1 rooms with 2 objects.*received 2"):
        env.reset(options={"room": rooms})


def test_there_are_256_attribute_sets_and_1024_edges():
    env = SwitchesEnv(SwitchesRules())
    rooms = env.rules.layout.generate(1, np.random.default_rng(0))
    cells = [*rooms.objects[0], rooms.agents[0]]
    nodes, edges = set(), set()
    for colors, cell, action in itertools.product(
        itertools.product(range(4), repeat=4), cells, range(5)
    ):
        start = Rooms(np.array([cell]), rooms.objects, rooms.walls, np.array([colors]))
        env.reset(options={"room": start})
        env.step(action)
        after = tuple(env.attributes.tolist())
        nodes |= {colors, after}
        edges |= {(colors, after)} if after != colors else set()
    assert (len(nodes), len(edges)) == (256, 1024)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 3}, "size counts the surrounding wall and must be at least 4; received 3"),
        ({"n_switches": 40}, "leaves 36 cells inside the wall, too few for the agent, 40 objects"),
        ({"n_switches": 0}, "n_switches must be at least 1"),
        ({"n_colors": 1}, "n_colors must be 2 to 8; received 1"),
        ({"n_colors": 9}, "n_colors must be 2 to 8; received 9"),
        ({"n_walls": -2}, "n_walls must be at least 0"),
        ({"obs_type": "pixels"}, "obs_type is one of .*'pixels'"),
        ({"render_mode": "svg"}, "render_mode is None or one of .*'svg'"),
        ({"task": "items"}, "the task is 'targets'.*received 'items'"),
        ({"task": "targets<=13"}, "difficulty 1 to 12; received 'targets<=13'"),
    ],
)
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_bad_options_are_refused_when_the_environment_is_made(make, options, words):
    with pytest.raises(InvalidEnvironment, match=words):
        make("AttrSwitches-v0", **options)
