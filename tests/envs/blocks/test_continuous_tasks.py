"""Goals of the continuous world."""

import numpy as np
import pytest

from gym_attrplan.envs.blocks import BlocksRules, DropGoals, DropTable
from gym_attrplan.error import InvalidEnvironment

STACK = {"on(red, green)", "on(green, blue)", "on(blue, yellow)"}


@pytest.fixture(scope="module")
def table():
    table = DropTable(BlocksRules())
    table.start(np.random.default_rng(0))
    return table


def draw(table, task, n=40):
    goals = DropGoals(table, task)
    return goals(np.tile(table.attributes, (n, 1)), np.random.default_rng(1))


def one_block_explains(table, goal):
    """Whether all that changes is about one block."""
    changed = np.tile(table.rules.pairs, (3, 1))[goal != table.attributes]
    return any((changed == block).any(axis=1).all() for block in range(table.rules.n_blocks))


def test_one_step_goals_mostly_move_one_block_and_multi_step_goals_several(table):
    one, several = (
        np.mean([one_block_explains(table, goal) for goal in draw(table, task)])
        for task in ("one_step", "multi_step")
    )
    assert one > 0.6
    assert several < 0.3


@pytest.mark.parametrize(
    "task", ["one_step", "multi_step", "one_step_70", "multi_step_70", "four_stack_70"]
)
def test_goals_that_hold_at_the_start_are_never_drawn(table, task):
    goals = draw(table, task)
    assert ((goals != -1) & (goals != table.attributes)).any(axis=1).all()
    assert len(np.unique(goals, axis=0)) > 20


def test_drawing_goals_moves_no_block(table):
    before = table.scene.poses()
    draw(table, "one_step")
    draw(table, "multi_step")
    assert (table.scene.poses() == before).all()


@pytest.mark.parametrize("task", ["one_step_70", "multi_step_70", "four_stack_70"])
def test_tasks_with_70_percent_name_25_of_36_attributes(table, task):
    assert ((draw(table, task) != -1).sum(axis=1) == 25).all()


def test_a_four_stack_goal_is_exactly_the_stack(table):
    for goal in draw(table, "four_stack"):
        values = dict(zip(table.rules.attributes, goal.tolist(), strict=True))
        assert values == {name: int(name in STACK) for name in table.rules.attributes}


def test_where_the_stack_stands_another_goal_is_drawn():
    table, rng = DropTable(BlocksRules()), np.random.default_rng(0)
    for block in (3, 2, 1, 0):
        table.drop(block, (0.5, 0.5), rng)
    assert (draw(table, "four_stack", 3) != table.attributes).any(axis=1).all()


def test_unknown_tasks_and_stacks_without_blocks_are_refused(table):
    with pytest.raises(InvalidEnvironment, match="received 'five_stack'"):
        DropGoals(table, "five_stack")
    small = DropTable(BlocksRules(n_blocks=3))
    with pytest.raises(InvalidEnvironment, match="needs 4 blocks; received n_blocks=3"):
        DropGoals(small, "four_stack")
