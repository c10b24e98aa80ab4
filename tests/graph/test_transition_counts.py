import pickle

import numpy as np
import pytest
from graph_cases import FOUR_BITS, as_dict, bits, graph_of, transitions
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidAttributes, InvalidGraph
from gym_attrplan.graph import TransitionCounts

TEN_BITS = AttributeSpace([f"a{i}" for i in range(10)])


def vectors(nodes):
    return np.array([bits(node) for node in nodes], np.int8).reshape(-1, 4)


def test_record_returns_the_visits_after_the_whole_batch():
    counts = TransitionCounts(FOUR_BITS)
    assert counts.record(vectors([0, 0, 1]), vectors([1, 1, 0])).tolist() == [2, 2, 1]
    assert counts.record(bits(0), bits(1)).tolist() == [3]
    assert (counts.n_nodes, counts.n_edges, counts.total) == (2, 2, 4)


def test_weights_add_up_in_visits_and_total():
    counts = TransitionCounts(FOUR_BITS)
    assert counts.record(vectors([0, 0]), vectors([1, 2]), [0.5, 4]).tolist() == [0.5, 4]
    assert counts.record(bits(0), bits(1), 0.25).tolist() == [0.75]
    assert counts.total == 4.75


def test_a_transition_to_itself_makes_a_node_but_no_edge():
    counts = TransitionCounts(FOUR_BITS)
    assert counts.record(vectors([3, 3]), vectors([3, 1])).tolist() == [0, 1]
    counts.attempt(bits(3), bits(3), True)
    assert (counts.n_nodes, counts.n_edges, counts.total) == (2, 1, 1)
    assert counts.edges().attempts.tolist() == [0]


@given(transitions(), st.lists(st.integers(1, 8), max_size=8))
def test_any_split_into_batches_counts_the_same(pairs, lengths):
    whole, split = TransitionCounts(FOUR_BITS), TransitionCounts(FOUR_BITS)
    source, target = vectors(p[0] for p in pairs), vectors(p[1] for p in pairs)
    whole.record(source, target)
    for part in np.split(np.arange(len(pairs)), np.cumsum(lengths)):
        split.record(source[part], target[part])
        if len(part) % 2:
            split.compact()
    assert as_dict(split) == as_dict(whole)
    assert (split.index.packed == whole.index.packed).all()
    assert split.total == whole.total


@given(transitions(), transitions())
def test_visits_are_what_a_dict_would_count_before_and_after_compacting(recorded, asked):
    counts, expected = TransitionCounts(FOUR_BITS), {}
    counts.record(vectors(p[0] for p in recorded), vectors(p[1] for p in recorded))
    for source, target in recorded:
        if source != target:
            expected[source, target] = expected.get((source, target), 0) + 1
    ends = vectors(p[0] for p in asked), vectors(p[1] for p in asked)
    for _ in range(2):
        assert counts.visits(*ends).tolist() == [expected.get(pair, 0) for pair in asked]
        counts.compact()


def test_many_edges_survive_the_merges_of_the_append_buffer():
    rng = np.random.default_rng(0)
    counts, expected = TransitionCounts(FOUR_BITS), np.zeros((16, 16))
    big = TransitionCounts(TEN_BITS)
    for _ in range(20):
        ends = rng.integers(0, 1024, (2, 4000))
        big.record(*((ends[..., None] >> np.arange(10)) & 1))
        small = ends % 16
        counts.record(vectors(small[0]), vectors(small[1]))
        np.add.at(expected, tuple(small), 1)
    np.fill_diagonal(expected, 0)
    assert counts.total == expected.sum()
    assert as_dict(counts) == {
        (tuple(bits(i)), tuple(bits(j))): (expected[i, j], 0, 0) for i, j in np.argwhere(expected)
    }
    edges = big.edges()
    assert edges.visits.sum() == big.total
    assert (np.diff(edges.source.astype(np.int64) * 1024 + edges.target) > 0).all()


def test_one_large_batch_counts_what_many_small_ones_do():
    # Very many new edges are sorted straight in, past the append buffer and what waits there.
    ends = np.random.default_rng(0).integers(0, 1024, (2, 30_000))
    whole, split = TransitionCounts(TEN_BITS), TransitionCounts(TEN_BITS)
    source, target = (ends[..., None] >> np.arange(10)) & 1
    whole.record(source[:500], target[:500])
    visits = whole.record(source[500:], target[500:])
    for part in np.split(np.arange(30_000), 30):
        split.record(source[part], target[part])
    assert as_dict(whole) == as_dict(split)
    assert (visits == whole.visits(source[500:], target[500:])).all()


def test_reading_a_row_again_copies_nothing():
    counts = graph_of({(0, 1): (0, 0)})
    counts.neighbours(0)
    indptr = counts.edges().indptr.base
    counts.sample_neighbours([0], np.random.default_rng(0))
    assert counts.edges().indptr.base is indptr


@given(transitions(), transitions(), st.booleans())
def test_rows_read_the_same_before_and_after_new_edges_are_sorted_in(first, later, by_need):
    counts = TransitionCounts(FOUR_BITS)
    counts.record(vectors(p[0] for p in first), vectors(p[1] for p in first))
    counts.compact()
    counts.attempt(
        vectors(p[0] for p in later), vectors(p[1] for p in later), np.arange(len(later)) % 2
    )
    counts.record(vectors(p[1] for p in later), vectors(p[0] for p in later))
    nodes = np.tile(np.arange(counts.n_nodes), 3)

    def read():
        drawn = counts.sample_neighbours(nodes, np.random.default_rng(0), by_need=by_need)
        return drawn.tolist(), [counts.neighbours(node).tolist() for node in nodes.tolist()]

    waiting = read()
    counts.compact()
    assert read() == waiting


def test_reading_rows_does_not_sort_new_edges_in():
    """That takes a pass over all edges: with millions of them, a long one at every hop."""
    counts = graph_of({(0, 1): (0, 0)})
    counts.compact()
    before = counts._store.indptr
    counts.record(vectors([0, 3, 5]), vectors([2, 0, 6]))
    assert counts.neighbours(0).tolist() == [1, 2]
    assert counts.sample_neighbours([3, 4], np.random.default_rng(0)).tolist() == [0, 5]
    assert counts._store.indptr is before
    assert counts._store.n_appended == 3


def test_an_edge_costs_at_most_24_bytes_at_rest():
    rng = np.random.default_rng(0)
    counts = TransitionCounts(TEN_BITS)
    ends = rng.integers(0, 1024, (2, 20_000))
    counts.record(*((ends[..., None] >> np.arange(10)) & 1))
    counts.start_epoch(0.5)
    counts.start_epoch(1.0)
    counts.compact()
    assert counts.nbytes <= 24 * counts.n_edges


def test_version_changes_with_every_change():
    counts = TransitionCounts(FOUR_BITS)
    seen = [counts.version]
    for change in (
        lambda: counts.record(bits(0), bits(1)),
        lambda: counts.record(bits(0), bits(0)),
        lambda: counts.attempt(bits(0), bits(1), True),
        lambda: counts.merge(graph_of({(2, 3): (0, 0)})),
    ):
        change()
        seen.append(counts.version)
    assert len(set(seen)) == 5


# --- attempts and decay ---------------------------------------------------------------------


def outcomes(counts):
    return {ends: numbers[1:] for ends, numbers in as_dict(counts).items()}


def test_attempts_count_successes_and_make_unseen_edges_known():
    counts = graph_of({(0, 1): (0, 0)})
    counts.attempt(vectors([0, 0, 0]), vectors([1, 1, 2]), [True, False, False])
    key = tuple(bits(0))
    assert as_dict(counts) == {
        (key, tuple(bits(1))): (1, 2, 1),
        (key, tuple(bits(2))): (0, 1, 0),
    }
    assert counts.neighbours(0).tolist() == [1]


def test_decay_reaches_an_edge_at_its_first_attempt_of_the_epoch_only():
    counts = graph_of({(0, 1): (4, 2), (0, 2): (4, 4)})
    counts.start_epoch(0.5)
    counts.attempt(bits(0), bits(1), True)  # 4·½+1, 2·½+1
    counts.attempt(vectors([0, 0]), vectors([1, 1]), [False, True])  # no second decay
    assert outcomes(counts) == {
        (tuple(bits(0)), tuple(bits(1))): (5, 3),
        (tuple(bits(0)), tuple(bits(2))): (4, 4),  # not attempted: keeps what is known
    }
    counts.start_epoch(0.5)
    counts.attempt(vectors([0, 0]), vectors([1, 1]), False)  # 5·½+2, 3·½
    assert outcomes(counts)[tuple(bits(0)), tuple(bits(1))] == (4.5, 1.5)


def test_decay_remembers_across_a_merge_of_the_append_buffer_which_edges_it_reached():
    counts = graph_of({(1, 2): (4, 4)})
    counts.start_epoch(0.5)
    counts.attempt(bits(1), bits(2), True)
    counts.record(bits(0), bits(3))
    counts.compact()
    counts.attempt(bits(1), bits(2), True)
    assert outcomes(counts)[tuple(bits(1)), tuple(bits(2))] == (4, 4)


def test_an_epoch_without_decay_keeps_everything():
    counts = graph_of({(0, 1): (4, 2)})
    counts.start_epoch(0.5)
    counts.start_epoch()
    counts.attempt(bits(0), bits(1), False)
    assert outcomes(counts)[tuple(bits(0)), tuple(bits(1))] == (5, 2)


# --- neighbours -----------------------------------------------------------------------------


def test_sampled_neighbours_follow_the_visits():
    counts = TransitionCounts(FOUR_BITS)
    counts.record(vectors([0, 0, 0, 5]), vectors([1, 2, 3, 6]), [1, 3, 6, 1])
    counts.attempt(bits(0), bits(7), False)
    zero, five, six = counts.index.find([bits(0), bits(5), bits(6)])
    drawn = counts.sample_neighbours(np.tile([zero, five], 20_000), np.random.default_rng(0))
    share = np.bincount(drawn[0::2], minlength=counts.n_nodes) / 20_000
    expected = np.zeros(counts.n_nodes)
    expected[counts.index.find([bits(1), bits(2), bits(3)])] = [0.1, 0.3, 0.6]
    assert np.abs(share - expected).max() < 0.015  # four standard deviations
    assert (drawn[1::2] == six).all()


def test_neighbours_sampled_by_need_are_those_that_fail_as_often_as_they_work():
    counts = graph_of({(0, 1): (100, 100), (0, 2): (100, 50), (0, 3): (100, 0)})
    drawn = counts.sample_neighbours([0] * 20_000, np.random.default_rng(0), by_need=True)
    share = np.bincount(drawn, minlength=4)[1:] / 20_000
    unsure = np.sqrt(101 / 102 * 1 / 102) + 0.05
    expected = np.array([unsure, 0.55, unsure]) / (2 * unsure + 0.55)
    assert np.abs(share - expected).max() < 0.015


def test_a_node_without_neighbours_has_none_to_sample():
    counts = graph_of({(0, 1): (0, 0)})
    counts.attempt(bits(1), bits(0), False)  # tried, never seen
    assert counts.sample_neighbours([1, 0, 1], np.random.default_rng(0)).tolist() == [-1, 1, -1]
    assert counts.neighbours(1).tolist() == []


def test_sampling_depends_on_the_generator_alone():
    counts = graph_of({(0, i): (0, 0) for i in range(1, 9)})
    draws = [counts.sample_neighbours([0] * 20, np.random.default_rng(3)) for _ in range(2)]
    assert (draws[0] == draws[1]).all()


# --- errors change nothing ------------------------------------------------------------------


@pytest.mark.parametrize(
    "weight", [np.nan, -1.0, 0.0, np.inf, [1.0, np.nan], [1.0], [1, 1, 1], [[1], [1]]]
)
def test_a_bad_weight_is_refused_and_nothing_changes(weight):
    counts = graph_of({(0, 1): (1, 1)})
    before, version = as_dict(counts), counts.version
    with pytest.raises(InvalidGraph, match="weight"):
        counts.record(vectors([2, 3]), vectors([3, 4]), weight)
    assert as_dict(counts) == before
    assert (counts.version, counts.n_nodes, counts.total) == (version, 2, 1)


@pytest.mark.parametrize("succeeded", [np.nan, 0.5, 2, [True], [True, False, True], "yes"])
def test_a_bad_outcome_is_refused_and_nothing_changes(succeeded):
    counts = graph_of({(0, 1): (1, 1)})
    before = as_dict(counts)
    with pytest.raises(InvalidGraph):
        counts.attempt(vectors([0, 2]), vectors([1, 3]), succeeded)
    assert as_dict(counts) == before
    assert counts.n_nodes == 2


def test_batches_of_different_lengths_are_refused():
    counts = TransitionCounts(FOUR_BITS)
    with pytest.raises(InvalidGraph, match="two ends"):
        counts.record(vectors([0, 1]), vectors([1, 2, 3]))
    with pytest.raises(InvalidAttributes):
        counts.record([[0, 1, 0]], [[0, 0, 1]])
    assert counts.n_nodes == 0


@pytest.mark.parametrize("decay", [-0.1, 1.1, np.nan])
def test_a_decay_outside_0_to_1_is_refused(decay):
    with pytest.raises(InvalidGraph, match="decay"):
        TransitionCounts(FOUR_BITS).start_epoch(decay)


@pytest.mark.parametrize("node", [-1, 2, 10**12])
def test_neighbours_of_an_unknown_node_are_refused(node):
    counts = graph_of({(0, 1): (0, 0)})
    with pytest.raises(InvalidGraph, match="node"):
        counts.neighbours(node)
    with pytest.raises(InvalidGraph, match="node"):
        counts.sample_neighbours([0, node], np.random.default_rng(0))


def test_the_edge_table_cannot_be_written_to():
    edges = graph_of({(0, 1): (1, 1)}).edges()
    with pytest.raises(ValueError, match="read-only"):
        edges.visits[0] = 7


def test_counts_survive_pickling():
    counts = graph_of({(0, 1): (3, 1), (4, 2): (0, 0)})
    again = pickle.loads(pickle.dumps(counts))
    again.record(bits(0), bits(1))
    assert again.visits(bits(0), bits(1)).tolist() == [2]
    assert counts.visits(bits(0), bits(1)).tolist() == [1]
