"""The table on which blocks are dropped anywhere: physics, relations, what is observed."""

import numpy as np
import pytest

from gym_attrplan.envs.blocks import BlocksRules, DropTable, collect_drops
from gym_attrplan.envs.blocks import drop_table as module
from gym_attrplan.envs.blocks import drops as drops_module
from gym_attrplan.envs.blocks.drop_table import observe_poses, read_relations
from gym_attrplan.envs.blocks.rules import SIDE
from gym_attrplan.envs.blocks.scene import MARGIN, upright
from gym_attrplan.error import InvalidEnvironment

RED, GREEN, BLUE, YELLOW = range(4)
TWO = BlocksRules(n_blocks=2).pairs
TOUCHING = ~np.eye(2, dtype=np.bool_)
APART = np.zeros((2, 2), np.bool_)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def table(rng):
    """Four blocks in the four corners, far from one another."""
    table = DropTable(BlocksRules())
    for block, place in enumerate([(0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9)]):
        table.drop(block, place, rng)
    return table


def true_names(table):
    values = zip(table.rules.attributes, table.attributes, strict=True)
    return {name for name, value in values if value}


def on_names(table):
    return {name for name in true_names(table) if name.startswith("on")}


def places(table):
    return table.scene.positions()[:, :2] / table.side + 0.5


def offset(table, n_sides):
    """So many sides of a block, as a difference of places."""
    return n_sides * SIDE / table.side


# --- relations ------------------------------------------------------------------------------


@pytest.mark.parametrize(("distance", "expected"), [(0.49, 0), (0.51, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_block_is_left_or_in_front_from_half_a_side_on(axis, distance, expected):
    positions = np.zeros((2, 3))
    positions[RED, axis] = -distance * SIDE
    left, left_back, front, front_back, _, _ = read_relations(positions, APART, TWO)
    assert (left, front)[axis] == expected
    assert (left, front)[1 - axis] == 0
    assert (left_back, front_back) == (0, 0)


@pytest.mark.parametrize(
    ("red", "touching", "expected"),
    [
        ((0, 0, 1), TOUCHING, 1),
        ((0, 0, 1), APART, 0),
        ((0.9, -0.9, 0.6), TOUCHING, 1),
        ((0, 0, 0.4), TOUCHING, 0),
        ((1.1, 0, 0.6), TOUCHING, 0),
        ((0, 1.1, 0.6), TOUCHING, 0),
    ],
)
def test_on_takes_touch_height_and_nearness(red, touching, expected):
    positions = np.array([red, (0, 0, 0)]) * SIDE
    assert read_relations(positions, touching, TWO)[-2:].tolist() == [expected, 0]


def test_relations_of_a_batch_are_those_of_its_rows():
    positions = np.random.default_rng(0).normal(0, SIDE, (50, 4, 3))
    touching = np.random.default_rng(1).random((50, 4, 4)) < 0.5
    pairs = BlocksRules().pairs
    rows = [read_relations(p, t, pairs) for p, t in zip(positions, touching, strict=True)]
    assert (read_relations(positions, touching, pairs) == rows).all()


# --- drops ----------------------------------------------------------------------------------


def test_a_block_rests_where_it_was_dropped(table, rng):
    assert table.drop(BLUE, (0.3, 0.6), rng).settled
    assert places(table)[BLUE] == pytest.approx((0.3, 0.6), abs=0.005)
    assert table.scene.positions()[BLUE, 2] == pytest.approx(SIDE / 2, abs=0.001)


@pytest.mark.parametrize(("n_sides", "expected"), [(0.3, {"on(red, green)"}), (0.6, set())])
def test_a_block_stays_on_another_only_if_its_centre_is_over_it(table, rng, n_sides, expected):
    table.drop(GREEN, (0.5, 0.5), rng)
    table.drop(RED, (0.5 + offset(table, n_sides), 0.5), rng)
    assert on_names(table) == expected


def test_a_block_across_two_others_is_on_both(table, rng):
    table.drop(GREEN, (0.5 - offset(table, 0.55), 0.5), rng)
    table.drop(BLUE, (0.5 + offset(table, 0.55), 0.5), rng)
    table.drop(RED, (0.5, 0.5), rng)
    assert on_names(table) == {"on(red, green)", "on(red, blue)"}


def test_four_drops_build_a_stack_with_exactly_its_attributes(table, rng):
    for block in (YELLOW, BLUE, GREEN, RED):
        assert table.drop(block, (0.4, 0.6), rng).moved
    assert true_names(table) == {"on(red, green)", "on(green, blue)", "on(blue, yellow)"}
    assert table.covered().tolist() == [False, True, True, True]


def test_a_covered_block_does_not_move(table, rng):
    table.drop(RED, places(table)[GREEN], rng)
    before = table.scene.poses()
    assert not table.drop(GREEN, (0.5, 0.5), rng).moved
    assert (table.scene.poses() == before).all()


def test_leaving_out_the_empty_fall_changes_nothing(table, rng):
    table.drop(GREEN, (0.5, 0.5), rng)
    before = table.scene.poses()
    table.drop(RED, (0.5 + offset(table, 0.2), 0.5), rng)
    after = table.scene.positions()
    table.place(before)
    x, y = SIDE * 0.2, 0.0
    table.scene.drop(RED, x, y, module.DROP_HEIGHT * table.side)
    assert table.scene.settle(module.MAX_TIME)
    assert table.scene.positions() == pytest.approx(after, abs=5e-4)


def test_equal_drops_from_equal_poses_end_equally(table):
    other = DropTable(table.rules)
    other.start(np.random.default_rng(5))
    other.place(table.scene.poses())
    for one in (table, other):
        one.drop(RED, (0.85, 0.15), np.random.default_rng(1))
    assert (table.scene.poses() == other.scene.poses()).all()


def test_a_block_that_fell_is_put_back_flat_on_a_free_spot(table, rng):
    poses = table.scene.poses()
    poses[RED, :3] = (table.side, 0.0, 0.1)  # beside the table
    table.place(poses)
    outcome = table.settle(rng)
    assert outcome.fallen == (RED,)
    x, y, z = table.scene.positions()[RED]
    assert max(abs(x), abs(y)) <= table.side / 2
    assert z == pytest.approx(SIDE / 2, abs=0.001)
    assert not table.scene.contacts().any()


def test_all_blocks_may_fall_at_once(table, rng):
    table.place(upright([[table.side, 0.1 * block, 0.1] for block in range(4)]))
    assert table.settle(rng).fallen == (RED, GREEN, BLUE, YELLOW)
    assert_on_table(table)
    assert not table.scene.contacts().any()


def test_a_drop_beside_a_block_on_the_edge_falls_off(table, rng):
    table.drop(GREEN, (offset(table, 0.7), 0.5), rng)
    assert table.drop(RED, (0.0, 0.5), rng).fallen == (RED,)
    assert_on_table(table)


def test_blocks_that_do_not_rest_in_time_are_stopped_and_it_is_said(table, rng, monkeypatch):
    monkeypatch.setattr(module, "MAX_TIME", 0.04)
    assert not table.drop(RED, (0.5, 0.5), rng).settled


def assert_on_table(table):
    positions = table.scene.positions()
    assert (np.abs(positions[:, :2]) <= table.side / 2 + MARGIN / 2).all()
    assert (positions[:, 2] > 0).all()


def test_after_500_random_drops_all_rest_on_the_table_and_attributes_agree_with_poses(rng):
    table, second = DropTable(BlocksRules()), DropTable(BlocksRules())
    fallen = 0
    for i in range(500):
        if i % 10 == 0:
            assert table.start(rng).settled
        outcome = table.drop(int(rng.integers(4)), rng.random(2), rng)
        assert outcome.settled
        fallen += len(outcome.fallen)
        assert_on_table(table)
        second.place(table.scene.poses())
        assert (second.attributes == table.attributes).all()
    assert fallen > 0


def test_six_blocks_start_on_the_table(rng):
    table = DropTable(BlocksRules(n_blocks=6, grid=4))
    for _ in range(10):
        assert table.start(rng).settled
        assert_on_table(table)


def test_a_table_without_room_for_what_falls_is_refused():
    with pytest.raises(InvalidEnvironment, match=r"grid must be 3 to 6.*received 2"):
        DropTable(BlocksRules(grid=2))


# --- observations ---------------------------------------------------------------------------


def test_an_observation_is_the_place_and_two_columns_of_the_turn():
    poses = upright([[0.03, -0.06, 0.15]], [np.pi / 6])
    c, s = np.cos(np.pi / 6), 0.5
    expected = [0.6, 0.3, 0.5, c, -s, s, c, 0, 0]
    assert observe_poses(poses, 0.3).tolist() == pytest.approx(expected, abs=1e-6)


def test_turns_in_which_a_cube_looks_the_same_are_observed_the_same():
    half = np.sqrt(0.5)
    quarter_turns = np.array([[half, half, 0, 0], [half, 0, half, 0], [half, 0, 0, half]])
    tilted = np.array([np.cos(0.2), 0.6 * np.sin(0.2), 0.8 * np.sin(0.2), 0])
    expected = observe_poses([[0, 0, 0, *tilted]], 1.0)
    for quarter in quarter_turns:
        turned = [0, 0, 0, *multiply(tilted, quarter)]
        assert observe_poses([turned], 1.0) == pytest.approx(expected, abs=1e-6)


def multiply(p, q):
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.array([w, *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])


# --- examples -------------------------------------------------------------------------------


def test_examples_are_what_drops_do():
    drops = collect_drops(40, seed=3)
    table, n_compared = DropTable(BlocksRules()), 0
    for i, action in enumerate(drops.actions):
        table.place(drops.poses[i])
        assert (table.attributes == drops.attributes[i]).all()
        assert (table.observe() == drops.states[i]).all()
        outcome = table.drop(int(action[:4].argmax()), action[4:], np.random.default_rng())
        if not outcome.fallen:  # otherwise a random spot decides
            assert (table.attributes == drops.next_attributes[i]).all()
            assert (table.observe() == drops.next_states[i]).all()
            n_compared += 1
    assert n_compared > 30


def test_an_episode_of_examples_goes_on_where_the_last_drop_ended():
    drops = collect_drops(41, seed=0)
    follows = (drops.states[1:] == drops.next_states[:-1]).all(axis=1)
    assert np.flatnonzero(~follows).tolist() == [19, 39]


def test_examples_do_not_depend_on_the_number_of_processes(monkeypatch):
    monkeypatch.setattr(drops_module, "_CHUNK", 20)
    one, two = (collect_drops(50, seed=1, n_blocks=2, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert len(one) == 50
    assert (one.states == two.states).all()
    assert (one.next_attributes == two.next_attributes).all()


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n_jobs": 0}])
def test_examples_refuse_numbers_below_one(wrong):
    with pytest.raises(InvalidEnvironment, match="must be at least 1; received 0"):
        collect_drops(**{"n": 10, "seed": 0, **wrong})
