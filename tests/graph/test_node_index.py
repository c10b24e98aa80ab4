import numpy as np
import pytest
from graph_cases import FOUR_BITS, bits, partial_goals
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidAttributes, InvalidGoal, InvalidGraph
from gym_attrplan.graph import KeyTable, NodeIndex

few_words = st.integers(0, 5) | st.integers(0, 2**64 - 1)


def rows_of(n_words):
    return st.lists(st.tuples(*[few_words] * n_words), max_size=60)


@given(st.integers(1, 3).flatmap(lambda n: st.tuples(st.just(n), st.lists(rows_of(n), max_size=4))))
def test_key_table_numbers_rows_as_a_dict_would_in_any_split_into_batches(case):
    n_words, batches = case
    table, known = KeyTable(n_words), {}
    for batch in batches:
        rows = np.array(batch, np.uint64).reshape(-1, n_words)
        expected = [known.setdefault(row, len(known)) for row in batch]
        assert table.add(rows).tolist() == expected
    assert [tuple(row) for row in table.rows.tolist()] == list(known)


@given(rows_of(2), rows_of(2))
def test_key_table_finds_what_was_added_and_nothing_else(added, asked):
    table, known = KeyTable(2), {row: i for i, row in enumerate(dict.fromkeys(added))}
    table.add(np.array(added, np.uint64).reshape(-1, 2))
    rows = np.array(asked, np.uint64).reshape(-1, 2)
    assert table.find(rows).tolist() == [known.get(row, -1) for row in asked]
    assert len(table) == len(known)


def test_key_table_keeps_its_numbers_while_it_grows_to_a_hundred_thousand_rows():
    rows = np.random.default_rng(0).permutation(100_000).astype(np.uint64)[:, None]
    table = KeyTable(1)
    assert (table.add(rows) == np.arange(100_000)).all()
    assert (table.add(rows[::-1]) == np.arange(100_000)[::-1]).all()


def test_key_table_makes_no_room_for_rows_that_repeat():
    table = KeyTable(1)
    table.add(np.tile(np.arange(10, dtype=np.uint64), 100_000)[:, None])
    assert len(table) == 10
    assert table.nbytes < 100_000


def test_node_index_gives_back_the_vectors_it_was_given():
    space = AttributeSpace({"ore": 41, "lamp": ["red", "green", "blue"], "units": 300, "open": 2})
    vectors = np.array([[40, 2, 299, 1], [0, 0, 0, 0], [3, 1, 256, 0]], np.int16)
    index = NodeIndex(space)
    assert index.add(vectors).tolist() == [0, 1, 2]
    assert (index.vectors([2, 0]) == vectors[[2, 0]]).all()


def test_node_index_works_with_300_attributes():
    space = AttributeSpace([f"a{i}" for i in range(300)])
    vectors = np.random.default_rng(0).integers(0, 2, (500, 300))
    index = NodeIndex(space)
    index.add(vectors)
    assert index.find(vectors).tolist() == list(range(500))
    assert index.matching(np.where(np.arange(300) == 299, 1, -1)).tolist() == list(
        np.flatnonzero(vectors[:, 299])
    )


@given(st.permutations(range(16)), st.integers(0, 16), partial_goals())
def test_matching_nodes_are_those_whose_vectors_meet_the_goal(order, n_known, goal):
    index = NodeIndex(FOUR_BITS)
    for node in order[:n_known]:
        index.add(bits(node))
    met = [
        number
        for number, node in enumerate(order[:n_known])
        if all(wanted in (-1, bit) for wanted, bit in zip(goal, bits(node), strict=True))
    ]
    assert index.matching(goal).tolist() == met


def test_index_comes_back_from_its_packed_rows():
    index = NodeIndex(FOUR_BITS)
    index.add([bits(5), bits(2), bits(9)])
    again = NodeIndex.from_packed(FOUR_BITS, index.packed)
    assert again.find([bits(9), bits(5), bits(1)]).tolist() == [2, 0, -1]


@pytest.mark.parametrize(
    "packed",
    [
        np.zeros((2, 1), np.uint64),  # the same node twice
        np.array([[1 << 5]], np.uint64),  # a fifth attribute
        np.zeros((1, 2), np.uint64),
        np.zeros((1, 1), np.int64),
    ],
)
def test_rows_that_no_index_packed_are_refused(packed):
    with pytest.raises(InvalidGraph):
        NodeIndex.from_packed(FOUR_BITS, packed)


def test_a_value_beyond_its_attribute_is_no_node():
    space = AttributeSpace({"ore": 41})
    for value in (41, 200, 255):
        with pytest.raises(InvalidGraph, match="bits"):
            NodeIndex.from_packed(space, np.array([[value]], np.uint64))


@pytest.mark.parametrize("node", [-1, 3, 1.0])
def test_vectors_of_an_unknown_node_are_refused(node):
    index = NodeIndex(FOUR_BITS)
    index.add([bits(5), bits(2), bits(9)])
    with pytest.raises(InvalidGraph, match="node"):
        index.vectors([node])


def test_vectors_and_goals_of_another_space_are_refused():
    index = NodeIndex(FOUR_BITS)
    with pytest.raises(InvalidAttributes):
        index.add([[0, 1, 2, 0]])
    with pytest.raises(InvalidGoal):
        index.matching("e")
    assert len(index) == 0
