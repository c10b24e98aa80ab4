import gymnasium as gym
import numpy as np
import pytest
from rooms import SIZE, room

from gym_attrplan.envs.grids import CraftingRules, Rooms
from gym_attrplan.envs.grids.crafting import CraftingEnv
from gym_attrplan.error import InvalidEnvironment

RIGHT, DOWN, LEFT, UP, GRAB, CRAFT = range(6)


def row_of_objects(*, consume=False, states=(0, 0, 0)):
    """Wood, stone and the axe's table in a row, the agent on the wood."""
    rules = CraftingRules(
        {"axe": ["wood", "stone"]}, ["wood", "stone"], consume, size=SIZE, n_walls=0
    )
    env = CraftingEnv(rules)
    objects = [(1, 1), (2, 1), (3, 1)]
    env.reset(options={"room": room(agent=(1, 1), objects=objects, states=list(states))})
    return env


def attributes_after(env, *actions):
    for action in actions:
        env.step(action)
    return env.attributes.tolist()


def test_a_resource_is_grabbed_where_it_lies_and_then_gone():
    env = row_of_objects()
    assert attributes_after(env, CRAFT) == [0, 0, 0]
    assert attributes_after(env, GRAB) == [1, 0, 0]
    assert env.grid.get(1, 1) is None
    assert attributes_after(env, GRAB) == [1, 0, 0]


def test_a_product_needs_its_table_and_all_its_ingredients():
    env = row_of_objects()
    assert attributes_after(env, GRAB, RIGHT, RIGHT, CRAFT) == [1, 0, 0]
    assert attributes_after(env, GRAB) == [1, 0, 0]  # a table cannot be grabbed
    assert attributes_after(env, LEFT, GRAB, CRAFT) == [1, 1, 0]
    assert attributes_after(env, RIGHT, CRAFT) == [1, 1, 1]


def test_consumed_ingredients_grow_back_where_they_lay():
    env = row_of_objects(consume=True, states=(1, 1, 0))
    assert env.grid.get(1, 1) is None
    assert attributes_after(env, RIGHT, RIGHT, CRAFT) == [0, 0, 1]
    assert (env.grid.get(1, 1).name, env.grid.get(2, 1).name) == ("wood", "stone")
    assert attributes_after(env, CRAFT) == [0, 0, 1]


def test_a_consumed_product_can_be_made_again():
    rules = CraftingRules({"axe": ["wood"], "plank": ["axe"]}, ["wood"], True, size=SIZE, n_walls=0)
    env = CraftingEnv(rules)
    objects = [(1, 1), (2, 1), (3, 1)]
    env.reset(options={"room": room(agent=(1, 1), objects=objects, states=[0, 0, 0])})
    assert attributes_after(env, GRAB, RIGHT, CRAFT, RIGHT, CRAFT) == [0, 0, 1]
    assert not env.grid.get(2, 1).made
    assert attributes_after(env, LEFT, LEFT, GRAB, RIGHT, CRAFT) == [0, 1, 1]


def test_words_leave_out_what_is_grabbed_and_tell_the_inventory():
    env = row_of_objects()
    words, *_ = env.step(GRAB)
    assert [env.rules.vocabulary.describe(word) for word in words] == [
        "nothing",
        "stone at (1, 0)",
        "axe table at (2, 0)",
        "wall at (4, 0)",
        "wall at (0, 4)",
        "wall at (-1, 0)",
        "wall at (0, -1)",
        "have wood",
        "nothing",
        "nothing",
    ]


def reachable(rules):
    """Inventories and edges found by acting in the real environment, from nothing on."""
    env = CraftingEnv(rules)
    rooms = rules.layout.generate(1, np.random.default_rng(0))
    empty = (0,) * len(rules.items)
    nodes, edges, frontier = {empty}, set(), [empty]
    while frontier:
        before = frontier.pop()
        for cell in (*rooms.objects[0], rooms.agents[0]):
            for action in range(6):
                start = Rooms(np.array([cell]), rooms.objects, rooms.walls, np.array([before]))
                env.reset(options={"room": start})
                after = tuple(attributes_after(env, action))
                edges |= {(before, after)} if after != before else set()
                frontier += [after] if after not in nodes else []
                nodes.add(after)
    return nodes, edges


def test_there_are_16_inventories_and_25_edges():
    nodes, edges = reachable(CraftingRules())
    assert (len(nodes), len(edges)) == (16, 25)


def test_with_consumption_every_inventory_that_can_be_left_can_be_left_for_good_things():
    # a, b → x: {}, a, b, ab, x and x beside each of the first four but with a and b together.
    rules = CraftingRules({"x": ["a", "b"]}, ["a", "b"], consume=True)
    nodes, edges = reachable(rules)
    assert nodes == {(a, b, x) for a in (0, 1) for b in (0, 1) for x in (0, 1)}
    # Four grabs without x and four with it, and one craft from ab to x.
    assert len(edges) == 9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recipes": {"axe": ["wood", "ston"]}}, "'axe' names 'ston'.*Did you mean 'stone'"),
        (
            {"recipes": {"axe": ["plank"], "plank": ["axe"]}},
            "cycle: axe needs plank needs axe",
        ),
        ({"recipes": {"axe": ["axe"]}}, "cycle: axe needs axe"),
        ({"recipes": {"axe": []}}, "a recipe is a list of ingredients; 'axe' has"),
        ({"recipes": {"axe": "wood"}}, "a recipe is a list of ingredients; 'axe' has 'wood'"),
        ({"recipes": {"wood": ["stone"]}}, "one resource or product; 'wood' is two"),
        ({"recipes": {}}, "at least one resource and one recipe"),
        ({"size": 4}, "leaves 4 cells"),
        ({"task": "items==3"}, "difficulty 1 to 2; received 'items==3'"),
    ],
)
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_bad_options_are_refused_when_the_environment_is_made(make, options, words):
    with pytest.raises(InvalidEnvironment, match=words):
        make("AttrCrafting-v0", **options)
