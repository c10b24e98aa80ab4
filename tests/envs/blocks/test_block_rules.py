"""The rules in numpy: numbers of states, moves, attributes and random starts."""

import numpy as np
import pytest

from gym_attrplan import AttributeSpace
from gym_attrplan.envs.blocks import BlocksRules
from gym_attrplan.envs.blocks.rules import MAX_SHIFT, MAX_TURN, PITCH, SIDE, draw_jitter
from gym_attrplan.error import InvalidEnvironment

RULES = BlocksRules()
EVERY = np.arange(RULES.n_states)


def stacks_of(rules, state):
    """Cell → its blocks from the bottom up."""
    cells, heights = (row[0].tolist() for row in rules.decode(np.array([state])))
    stacks = {}
    for block in np.argsort(heights).tolist():
        stacks.setdefault(cells[block], []).append(block)
    return stacks


def move_by_hand(rules, stacks, block, cell):
    source = next(cell for cell, stack in stacks.items() if block in stack)
    if stacks[source][-1] == block:
        stacks[source].pop()
        stacks.setdefault(cell, []).append(block)
    return {cell: stack for cell, stack in stacks.items() if stack}


def test_every_number_is_a_state_of_its_own():
    cells, heights = RULES.decode(EVERY)
    np.testing.assert_array_equal(RULES.encode(cells, heights), EVERY)
    assert len(np.unique(np.concatenate([cells, heights], axis=1), axis=0)) == 9 * 10 * 11 * 12


def test_no_block_hangs_in_the_air():
    for state in EVERY[::17]:
        cells, heights = RULES.decode(np.array([state]))
        for cell in set(cells[0].tolist()):
            in_cell = heights[0][cells[0] == cell]
            assert sorted(in_cell.tolist()) == list(range(len(in_cell)))


@pytest.mark.parametrize(("n_blocks", "n_states"), [(2, 90), (5, 154_440), (6, 2_162_160)])
def test_the_number_of_states(n_blocks, n_states):
    assert BlocksRules(n_blocks).n_states == n_states


def test_there_are_3720_attribute_sets_and_134976_edges_between_them():
    values = RULES.evaluate(EVERY)
    _, nodes = np.unique(values, axis=0, return_inverse=True)
    after = RULES.move(np.repeat(EVERY, 36), np.tile(np.arange(36), len(EVERY)))
    source, target = np.repeat(nodes, 36), nodes[after]
    edges = np.unique(source[source != target] * 10_000 + target[source != target])
    assert (nodes.max() + 1, len(edges)) == (3_720, 134_976)


def test_attributes_worked_out_by_hand():
    # Far row: . . blue; middle: green . . with red on it; near row: . yellow .
    state = RULES.encode([[3, 3, 2, 7]], [[1, 0, 0, 0]])
    space = AttributeSpace(RULES.attributes)
    true = {name for name, value in space.decode(RULES.evaluate(state)[0]).items() if value}
    assert true == {
        "on(red, green)",
        *("left_of(red, blue)", "left_of(green, blue)"),
        *("left_of(red, yellow)", "left_of(green, yellow)", "left_of(yellow, blue)"),
        *("in_front_of(red, blue)", "in_front_of(green, blue)"),
        *("in_front_of(yellow, red)", "in_front_of(yellow, green)", "in_front_of(yellow, blue)"),
    }


def test_a_block_on_top_of_two_is_on_the_upper_one_only():
    state = RULES.encode([[4, 4, 4, 0]], [[2, 1, 0, 0]])
    on = np.array(RULES.attributes)[24:][RULES.evaluate(state)[0, 24:] == 1]
    assert on.tolist() == ["on(red, green)", "on(green, blue)"]


def test_a_covered_block_does_not_move():
    state = RULES.encode([[0, 0, 5, 8]], [[0, 1, 0, 0]])
    assert RULES.move(state, RULES.action("red", 7)) == state


def test_dropping_a_block_where_it_is_changes_nothing():
    state = RULES.encode([[0, 0, 5, 8]], [[0, 1, 0, 0]])
    assert RULES.move(state, RULES.action("green", 0)) == state


@pytest.mark.parametrize(("n_blocks", "grid"), [(2, 2), (3, 3), (4, 3), (5, 3), (6, 3), (4, 4)])
def test_moves_are_those_of_stacks_moved_by_hand(n_blocks, grid):
    rules, rng = BlocksRules(n_blocks, grid), np.random.default_rng(0)
    states = rng.integers(rules.n_states, size=300)
    actions = rng.integers(rules.n_actions, size=300)
    for state, action, after in zip(states, actions, rules.move(states, actions), strict=True):
        block, cell = divmod(int(action), rules.n_cells)
        expected = move_by_hand(rules, stacks_of(rules, state), block, cell)
        assert stacks_of(rules, after) == expected


@pytest.mark.parametrize("n_blocks", [2, 4, 6])
def test_attributes_and_states_read_from_positions_are_those_of_the_state(n_blocks):
    rules, rng = BlocksRules(n_blocks), np.random.default_rng(1)
    states = rng.integers(rules.n_states, size=2_000)
    positions = rules.centers(*rules.decode(states))
    positions[..., :2] += draw_jitter(positions.shape[:2], 1.0, rng)[..., :2]
    np.testing.assert_array_equal(rules.read(positions), rules.evaluate(states))
    np.testing.assert_array_equal(rules.locate(positions), states)


def test_cells_are_read_like_a_picture():
    x, y, z = RULES.centers(2, 1)  # far right, on another block
    assert (x, y, z) == pytest.approx((PITCH, PITCH, 1.5 * SIDE))


def test_random_starts_are_drops_in_random_order():
    # Two blocks fall onto one cell with probability 1/9, either one first.
    rules = BlocksRules(2)
    cells, heights = rules.decode(rules.random_starts(90_000, np.random.default_rng(0)))
    stacked = cells[:, 0] == cells[:, 1]
    assert stacked.mean() == pytest.approx(1 / 9, abs=0.005)
    assert heights[stacked, 0].mean() == pytest.approx(1 / 2, abs=0.02)
    np.testing.assert_allclose(np.bincount(cells[:, 0]) / 90_000, 1 / 9, atol=0.005)


def test_jitter_stays_within_its_bounds_and_reaches_them():
    jitters = draw_jitter((20_000,), 1.0, np.random.default_rng(0))
    far = np.hypot(jitters[:, 0], jitters[:, 1])
    assert 0.99 * MAX_SHIFT < far.max() <= MAX_SHIFT
    assert 0.99 * MAX_TURN < np.abs(jitters[:, 2]).max() <= MAX_TURN
    half = draw_jitter((20_000,), 0.5, np.random.default_rng(0))
    np.testing.assert_allclose(half, jitters / 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_blocks": 1}, "n_blocks must be 2 to 6; received 1"),
        ({"n_blocks": 7}, "n_blocks must be 2 to 6; received 7"),
        ({"n_blocks": 2.5}, r"n_blocks must be 2 to 6; received 2\.5"),
        ({"grid": 1}, "grid must be 2 to 6; received 1"),
        ({"colors": ["red", "gren"], "n_blocks": 2}, "'gren'. Did you mean 'green'?"),
        ({"colors": ["red", "red"], "n_blocks": 2}, "2 blocks need as many different colors"),
        ({"colors": ["red", "blue"]}, "4 blocks need as many different colors"),
    ],
)
def test_bad_rules_are_refused(options, message):
    with pytest.raises(InvalidEnvironment, match=message):
        BlocksRules(**options)


def test_colors_name_the_attributes():
    assert BlocksRules(2, colors=["white", "blue"]).attributes[-1] == "on(blue, white)"


def test_unknown_colors_and_cells_of_actions_are_refused():
    with pytest.raises(InvalidEnvironment, match="received 'pink', 3"):
        RULES.action("pink", 3)
    with pytest.raises(InvalidEnvironment, match="cells 0 to 8; received 'red', 9"):
        RULES.action("red", 9)
