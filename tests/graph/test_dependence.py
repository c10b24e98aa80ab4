"""What hops depend on, and the attempts that count together."""

import numpy as np
import pytest

from gym_attrplan import AttributeSpace
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.dependence import EVERYTHING, Dependence
from gym_attrplan.graph.merging import merged, without
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace({"ore": 10, "worker": 3, "house": 3, "flag": 60})
ORE, WORKER, HOUSE, FLAG = range(4)


def economy():
    """Workers make houses come sooner, everything costs all the ore, the flag does not matter."""
    rng = np.random.default_rng(0)
    outcomes = HopOutcomes(SPACE)
    for column in (WORKER, HOUSE):
        starts = rng.integers(0, SPACE.sizes - [0, 1, 1, 0], size=(600, 4))
        changes = np.full((600, 4), -1)
        changes[:, column] = starts[:, column] + 1
        ends = np.where(changes >= 0, changes, starts)
        ends[:, ORE] = 0
        n_steps = 10 if column == WORKER else 90 - 40 * starts[:, WORKER]
        outcomes.record(starts, changes, ends, made=True, n_steps=n_steps)
    return outcomes


def test_a_hop_depends_on_what_makes_it_faster():
    merges = dict(Dependence(economy()).grouping([HOUSE]).merges)
    assert merges[WORKER] == (1,)  # none or one
    assert merges[FLAG] == ()


def test_what_every_hop_changes_does_not_count_unless_the_goal_names_it():
    outcomes = economy()
    assert dict(Dependence(outcomes).grouping([HOUSE]).merges)[ORE] == ()
    assert ORE not in dict(Dependence(outcomes).grouping([ORE, HOUSE]).merges)


def test_descriptions_with_many_attempts_count_their_own():
    decided = HopOutcomes(SPACE)
    for flag in range(8):  # succeeds with an even flag only
        start, end = [0, 0, 0, flag], [0, 0, 1, flag] if flag % 2 == 0 else [0, 0, 0, flag]
        decided.record(
            [start] * 50, [[-1, -1, 1, -1]] * 50, [end] * 50, made=flag % 2 == 0, n_steps=5
        )
    assert Dependence(decided).grouping([FLAG, HOUSE]) == EVERYTHING


def test_nothing_is_grouped_without_attempts():
    assert Dependence(HopOutcomes(SPACE)).grouping([HOUSE]) == EVERYTHING


def test_outcomes_without_hops_have_an_empty_table():
    grouping = Dependence(economy()).grouping([HOUSE])
    assert len(grouping.expected(HopOutcomes(SPACE)).node) == 0


@pytest.mark.parametrize("goal", [{"house": 1}, {"house": 2}])
def test_plans_ask_where_nothing_was_attempted_for_what_works_in_the_group(goal):
    outcomes = economy()
    grouping = Dependence(outcomes).grouping([HOUSE])
    few = outcomes.merge(grouping.merges)
    assert len(grouping.expected(few).node) > len(few)
    planner = ChangePlanner(few, grouping=grouping)
    start = merged(np.array([3, 0, 0, 59]), grouping.merges)
    plan = planner.plan(start, goal)
    asked = [SPACE.describe(change) for change in plan.changes]
    assert asked[0] == "worker=1"  # it makes up for its own length
    assert plan.success_prob > 0.9


def test_the_attempts_of_a_group_count_together():
    outcomes = economy()
    grouping = Dependence(outcomes).grouping([HOUSE])
    few = outcomes.merge(grouping.merges)
    table, own = grouping.expected(few), few.table()
    worker, house = few.index.vectors(np.arange(len(few.index)))[:, [WORKER, HOUSE]].T
    change = int(few.find_changes([[-1, -1, 1, -1]])[0])
    for some in (False, True):
        rows, mine = (
            (one.change == change) & ((worker > 0) == some)[one.node] for one in (table, own)
        )
        assert rows.any()
        np.testing.assert_allclose(table.attempts[rows], own.attempts[mine].sum())
        assert (house[table.node[rows]] != 1).all()
    shares = np.bincount(table.end_row, table.end_count, len(table.node)) / table.attempts
    assert (shares <= 1.0 + 1e-9).all()


def test_a_hop_that_also_changes_what_it_should_not_counts_only_where_that_can_happen():
    """Asked for a house, one hop of two also hoists flag 1 to flag 2."""
    outcomes = HopOutcomes(AttributeSpace({"house": 2, "flag": 4, "clock": 50}))
    rng = np.random.default_rng(0)
    for i in range(400):
        start = [0, int(rng.integers(4)), int(rng.integers(50))]
        flag = 2 if start[1] == 1 and i % 2 else start[1]
        outcomes.record([start], [[1, -1, -1]], [[1, flag, start[2]]], made=True, n_steps=5)
    grouping = Dependence(outcomes).grouping([0, 1])
    few = outcomes.merge(grouping.merges)
    table = grouping.expected(few)
    starts = few.index.vectors(table.node[table.end_row])
    ends = few.index.vectors(table.end_node)
    hoisted = starts[:, 1] != ends[:, 1]
    assert set(map(tuple, starts[hoisted][:, :2].tolist())) == {(0, 1)}
    assert grouping.merges == without([2])
