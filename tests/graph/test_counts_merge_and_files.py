import numpy as np
import pytest
from graph_cases import FOUR_BITS, as_dict, bits, graph_of, node_edges
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import Planner, TransitionCounts


def merged(*parts):
    counts = TransitionCounts(FOUR_BITS)
    for part in parts:
        counts.merge(part)
    return counts


def added(*parts):
    """What merging should give, added up in a dict."""
    total = {}
    for part in parts:
        for ends, numbers in as_dict(part).items():
            total[ends] = tuple(np.add(total.get(ends, (0, 0, 0)), numbers).tolist())
    return total


@settings(max_examples=50)
@given(node_edges(16), node_edges(16))
def test_merging_is_addition_and_commutative(first, second):
    one, two = graph_of(first), graph_of(second)
    assert as_dict(merged(one, two)) == as_dict(merged(two, one)) == added(one, two)
    assert merged(one, two).total == one.total + two.total


@settings(max_examples=50)
@given(node_edges(16, 15), node_edges(16, 15), node_edges(16, 15))
def test_merging_is_associative(first, second, third):
    one, two, three = graph_of(first), graph_of(second), graph_of(third)
    left = merged(merged(one, two), three)
    right = merged(one, merged(two, three))
    assert as_dict(left) == as_dict(right)


def test_merging_into_itself_doubles():
    counts = graph_of({(0, 1): (2, 1), (3, 0): (0, 0)})
    counts.merge(counts)
    assert sorted(as_dict(counts).values()) == [(2, 0, 0), (2, 4, 2)]
    assert counts.total == 4


def test_merging_leaves_the_other_as_it_was():
    one, two = graph_of({(0, 1): (2, 1)}), graph_of({(5, 1): (1, 1)})
    before = as_dict(two)
    one.merge(two)
    one.record(bits(5), bits(1))
    assert as_dict(two) == before


def test_counts_over_other_attributes_are_not_merged():
    counts = graph_of({(0, 1): (2, 1)})
    with pytest.raises(InvalidGraph, match="same attributes"):
        counts.merge(TransitionCounts(AttributeSpace(["a", "b", "c", "e"])))
    assert counts.n_edges == 1


@settings(max_examples=25)
@given(node_edges(16))
def test_counts_survive_saving_and_loading_exactly(tmp_path_factory, edges):
    path = tmp_path_factory.mktemp("counts") / "graph.npz"
    counts = graph_of(edges)
    counts.record(bits(0), bits(1), 1 / 3)
    counts.save(path)
    again = TransitionCounts.load(path)
    assert again.space == counts.space
    assert again.total == counts.total
    for name, array in counts.to_arrays().items():
        assert again.to_arrays()[name].tobytes() == array.tobytes(), name


def test_a_running_epoch_survives_saving_and_loading():
    counts = graph_of({(0, 1): (4, 4), (0, 2): (4, 4)})
    counts.start_epoch(0.5)
    counts.attempt(bits(0), bits(1), True)
    again = TransitionCounts.from_arrays(FOUR_BITS, counts.to_arrays())
    for target in (1, 2):
        again.attempt(bits(0), bits(target), True)
    assert again.edges().attempts.tolist() == [4, 3]  # 4·½+1+1, 4·½+1


def test_an_empty_graph_survives_saving_and_loading(tmp_path):
    TransitionCounts(FOUR_BITS).save(tmp_path / "empty")
    again = TransitionCounts.load(tmp_path / "empty")
    assert (again.n_nodes, again.n_edges) == (0, 0)


def test_loaded_counts_go_on_counting_and_planning(tmp_path):
    counts = graph_of({(0, 1): (1, 1), (1, 3): (1, 1)})
    counts.save(tmp_path / "graph.npz")
    again = TransitionCounts.load(tmp_path / "graph.npz")
    again.record(bits(3), bits(7))
    assert Planner(again).plan(bits(0), "c").nodes.tolist() == [0, 1, 2, 3]


def test_a_file_that_does_not_hold_counts_is_refused(tmp_path):
    (tmp_path / "text").write_text("no counts")
    np.savez(tmp_path / "other.npz", nodes=np.arange(3))
    np.save(tmp_path / "array.npy", np.arange(3))
    whole = tmp_path / "whole.npz"
    graph_of({(0, 1): (1, 1)}).save(whole)
    (tmp_path / "half.npz").write_bytes(whole.read_bytes()[:300])
    for name in ("text", "other.npz", "array.npy", "half.npz"):
        with pytest.raises(InvalidGraph, match=name):
            TransitionCounts.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        TransitionCounts.load(tmp_path / "missing.npz")


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_file_is_refused_or_harmless(saved, place, change):
    path, whole, arrays = saved
    damaged = bytearray(whole)
    damaged[place % len(damaged)] ^= change
    path.write_bytes(damaged)
    try:
        again = TransitionCounts.load(path)
    except InvalidGraph:
        return
    for name, array in arrays.items():  # the damage is in a date or the like
        assert again.to_arrays()[name].tobytes() == array.tobytes()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "graph.npz"
    counts = graph_of({(0, 1): (1, 1), (3, 5): (4, 1), (5, 0): (0, 0)})
    counts.save(path)
    return path, path.read_bytes(), counts.to_arrays()


def test_a_file_with_pickled_objects_is_refused(tmp_path):
    arrays = graph_of({(0, 1): (1, 1)}).to_arrays()
    arrays["visits"] = np.array([{}], object)
    np.savez(tmp_path / "evil.npz", format=1, space=FOUR_BITS.to_json(), **arrays)
    with pytest.raises(InvalidGraph, match="evil"):
        TransitionCounts.load(tmp_path / "evil.npz")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("visits", np.array([np.nan, 1.0])),
        ("visits", np.array([-1.0, 1.0])),
        ("visits", np.array([1.0])),
        ("attempts", np.array([1, 1], np.float64)),
        ("successes", np.array([2, 0], np.float32)),  # more than attempts
        ("target", np.array([0, 2], np.int32)),  # a loop
        ("target", np.array([1, 3], np.int32)),  # no such node
        ("target", np.array([2, 1], np.int32)),  # not ascending
        ("indptr", np.array([0, 2, 2], np.int32)),
        ("indptr", np.array([0, 3, 2, 2], np.int32)),
        ("indptr", np.array([], np.int32)),
        ("nodes", np.array([[0], [1], [1]], np.uint64)),
        ("total", np.array(-1.0)),
        ("total", np.array(np.nan)),
        ("decay", np.array(2.0)),
        ("decay", np.array([0.5, 0.5])),
    ],
)
def test_arrays_that_are_no_graph_are_refused(name, value):
    arrays = graph_of({(0, 1): (1, 1), (0, 2): (1, 0)}).to_arrays()
    TransitionCounts.from_arrays(FOUR_BITS, arrays)  # as it was, it is one
    with pytest.raises(InvalidGraph):
        TransitionCounts.from_arrays(FOUR_BITS, {**arrays, name: value})


def test_missing_arrays_are_named():
    arrays = graph_of({(0, 1): (1, 1)}).to_arrays()
    del arrays["visits"], arrays["nodes"]
    with pytest.raises(InvalidGraph, match=r"\['nodes', 'visits'\]"):
        TransitionCounts.from_arrays(FOUR_BITS, arrays)
