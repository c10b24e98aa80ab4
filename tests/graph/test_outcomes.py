"""HopOutcomes: attempts to make a change, counted where they started and where they ended."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGoal, InvalidGraph
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace({"key": 2, "room": 3})
KEY, ROOM_2 = [1, -1], [-1, 2]


def counted(*hops):
    """Outcomes of hops given as (start, change, end, made, steps)."""
    outcomes = HopOutcomes(SPACE)
    for start, change, end, made, n_steps in hops:
        outcomes.record([start], [change], [end], made=made, n_steps=n_steps)
    return outcomes


def test_attempts_successes_lengths_and_ends_are_counted_by_start_and_change():
    table = counted(
        ([0, 0], KEY, [1, 0], True, 4),
        ([0, 0], KEY, [1, 1], True, 8),
        ([0, 0], KEY, [0, 1], False, 30),
        ([0, 1], KEY, [1, 1], True, 2),
    ).table()
    assert table.attempts.tolist() == [3, 1]
    assert table.successes.tolist() == [2, 1]
    assert table.n_steps.tolist() == [14, 2]
    assert table.end_row.tolist() == [0, 0, 0, 1]
    assert table.end_made.tolist() == [True, True, False, True]
    assert table.end_count.tolist() == [1, 1, 1, 1]


def test_an_episode_that_ended_without_the_change_leads_nowhere():
    outcomes = HopOutcomes(SPACE)
    outcomes.record([[0, 0]], [KEY], [[0, 1]], made=False, n_steps=3, over=True)
    assert outcomes.table().end_over.tolist() == [True]


def test_a_change_is_known_by_what_it_names_and_reads_back():
    outcomes = counted(
        ([0, 0], KEY, [1, 0], True, 1),
        ([0, 0], ROOM_2, [0, 2], True, 1),
        ([0, 0], [1, 0], [1, 0], True, 1),
    )
    assert outcomes.n_changes == 3
    assert outcomes.changes().tolist() == [KEY, ROOM_2, [1, 0]]
    assert outcomes.find_changes([ROOM_2, [0, -1], [1, 0]]).tolist() == [1, -1, 2]


def test_what_is_not_known_here_is_filled_in_from_elsewhere():
    hops = [([0, 0], KEY, [1, 0], True, 1)] * 8
    outcomes = counted(*hops)
    usual = 9 / 10
    here, elsewhere, other = outcomes.success_rates([[0, 0], [0, 2], [0, 0]], [KEY, KEY, ROOM_2])
    assert here == pytest.approx((8 + 2 * usual) / 10)
    assert elsewhere == pytest.approx(usual)
    assert other == 0.5


def test_older_attempts_fade_when_a_hop_is_tried_again_and_only_then():
    outcomes = counted(([0, 0], KEY, [1, 0], True, 4), ([0, 1], KEY, [1, 1], True, 4))
    outcomes.start_epoch(0.5)
    outcomes.start_epoch(0.5)
    outcomes.record([[0, 0]], [KEY], [[0, 0]], made=False, n_steps=10)
    table = outcomes.table()
    assert table.attempts.tolist() == [1.5, 1]
    assert table.successes.tolist() == [0.5, 1]
    assert table.n_steps.tolist() == [pytest.approx((0.5 * 4 + 10) / 1.5), 4]
    assert table.end_count.tolist() == [0.5, 1, 1]
    at = outcomes.index.find([[0, 0], [0, 1], [1, 0]])
    assert outcomes.attempts_from()[at].tolist() == [1.5, 1, 0]


def test_thousands_of_epochs_do_not_overflow():
    outcomes = counted(([0, 0], KEY, [1, 0], True, 4))
    for _ in range(3_000):
        outcomes.start_epoch(0.5)
        outcomes.record([[0, 0]], [KEY], [[1, 0]], made=True, n_steps=4)
    table = outcomes.table()
    assert table.attempts.tolist() == [pytest.approx(2.0)]
    assert table.end_count.tolist() == [pytest.approx(2.0)]


def test_the_graph_of_hops_has_an_edge_for_every_end_of_a_change_that_was_made():
    """By KEY 3 of 5 hops lead to 10 and one to 11; by both wishes one of one leads to 10."""
    outcomes = counted(
        *[([0, 0], KEY, [1, 0], True, 4)] * 3,
        ([0, 0], KEY, [1, 1], True, 4),
        ([0, 0], KEY, [0, 1], False, 30),
        ([0, 0], [1, 0], [1, 0], True, 1),
        *[([1, 0], ROOM_2, [1, 2], True, 4), ([1, 0], ROOM_2, [1, 0], False, 4)],
    )
    outcomes.record([[1, 0]], [ROOM_2], [[1, 1]], made=False, n_steps=3, over=True)
    graph = outcomes.hop_graph()
    nodes, edges = np.arange(len(outcomes.index)), graph.edges()
    np.testing.assert_array_equal(graph.index.vectors(nodes), outcomes.index.vectors(nodes))
    found = {
        (*map(tuple, graph.index.vectors([source, target]).tolist()), attempts, successes)
        for source, target, attempts, successes in zip(
            edges.source, edges.target, edges.attempts, edges.successes, strict=True
        )
    }
    assert found == {
        ((0, 0), (1, 0), 1, 1),  # of two changes that lead there the surer one
        ((0, 0), (1, 1), 5, 1),
        ((1, 0), (1, 2), 3, 1),
    }


def test_without_hops_the_graph_of_hops_is_empty():
    graph = HopOutcomes(SPACE).hop_graph()
    assert (graph.n_nodes, graph.n_edges) == (0, 0)


@pytest.mark.parametrize("decay", [0.0, -1.0, 1.1, float("nan")])
def test_a_decay_outside_its_range_is_refused(decay):
    with pytest.raises(InvalidGraph, match="a decay is above 0"):
        HopOutcomes(SPACE).start_epoch(decay)


def test_a_change_outside_the_space_is_refused():
    with pytest.raises(InvalidGoal, match="room"):
        counted(([0, 0], [-1, 3], [0, 0], False, 1))


hop = st.tuples(
    st.tuples(st.integers(0, 1), st.integers(0, 2)),
    st.tuples(st.integers(-1, 1), st.integers(-1, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 2)),
    st.booleans(),
    st.integers(1, 50),
)


@settings(max_examples=50)
@given(st.lists(hop, min_size=1, max_size=40))
def test_outcomes_come_back_from_arrays_and_count_on(hops):
    outcomes, again = counted(*hops), HopOutcomes(SPACE)
    again.restore(outcomes.to_arrays())
    for one in (outcomes, again):
        one.start_epoch(0.9)
        one.record(*([part] for part in hops[0][:3]), made=True, n_steps=2)
    for mine, theirs in zip(outcomes.table(), again.table(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(outcomes.changes(), again.changes())


def counters_of(outcomes):
    """Everything counted, by description and change."""
    table, changes = outcomes.table(), outcomes.changes()
    vectors = outcomes.index.vectors(np.arange(len(outcomes.index)))
    rows = [
        (tuple(vectors[node]), tuple(changes[change]))
        for node, change in zip(table.node, table.change, strict=True)
    ]
    ends = {
        (rows[row], tuple(vectors[node]), bool(made)): count
        for row, node, made, count in zip(
            table.end_row, table.end_node, table.end_made, table.end_count, strict=True
        )
    }
    sums = table.attempts, table.successes, table.n_steps * table.attempts
    return [dict(zip(rows, column.tolist(), strict=True)) for column in sums], ends


@settings(max_examples=50)
@given(st.lists(hop, min_size=1, max_size=40), st.integers(0, 1))
def test_outcomes_without_an_attribute_are_those_of_hops_that_never_had_it(hops, column):
    def zeroed(vector):
        return [0 if i == column else value for i, value in enumerate(vector)]

    fewer = counted(*hops).merge(((column, ()),))
    asked = [one for one in hops if one[1][column] == -1]
    expected = counted(
        *((zeroed(start), change, zeroed(end), *rest) for start, change, end, *rest in asked)
    )
    (sums, ends), (expected_sums, expected_ends) = counters_of(fewer), counters_of(expected)
    for mine, theirs in zip([*sums, ends], [*expected_sums, expected_ends], strict=True):
        assert mine == pytest.approx(theirs)


def test_older_attempts_count_less_without_an_attribute_too():
    outcomes = counted(([0, 0], KEY, [1, 0], True, 4), ([0, 1], KEY, [0, 1], False, 8))
    outcomes.start_epoch(0.5)
    outcomes.record([[0, 1]], [KEY], [[1, 1]], made=True, n_steps=2)
    table = outcomes.merge(((1, ()),)).table()
    np.testing.assert_allclose(table.attempts, [2.5])
    np.testing.assert_allclose(table.successes, [2.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows/keys": np.array([[9, 0]], np.uint64)},
        {"rows/keys": np.array([[0, 9]], np.uint64)},
        {"ends/keys": np.array([[0, 9, 1]], np.uint64)},
        {"ends/keys": np.zeros((1, 2), np.uint64)},
        {"rows/attempts": np.array([-1.0])},
        {"rows/attempts": np.array([np.nan])},
        {"rows/attempts": np.ones(2)},
        {"decay": np.array(0.0)},
    ],
)
def test_arrays_that_are_no_outcomes_are_refused_and_change_nothing(wrong):
    outcomes = counted(([0, 0], KEY, [1, 0], True, 4))
    before = outcomes.to_arrays()
    with pytest.raises(InvalidGraph):
        outcomes.restore({**before, **wrong})
    with pytest.raises(InvalidGraph, match="missing"):
        outcomes.restore({"nodes": before["nodes"]})
    for name, array in outcomes.to_arrays().items():
        np.testing.assert_array_equal(array, before[name])
