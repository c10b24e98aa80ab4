"""A model of hops: kinds, what they need, and files."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidAttributes, InvalidGraph
from gym_attrplan.graph.hop_model import HopModel

LAMPS = AttributeSpace(["a", "b", "c"])


def test_the_same_change_is_one_kind_wherever_it_happens():
    model = HopModel(LAMPS)
    model.record([[0, 0, 0], [1, 1, 1], [0, 1, 0]], [[1, 1, 0], [0, 0, 1], [1, 0, 0]], n_steps=4)
    assert model.kinds.tolist() == [[1, 1, 0]]
    assert model.n_hops.tolist() == [3.0]


def test_values_count_up_around_the_end():
    model = HopModel(AttributeSpace({"colour": 4}))
    model.record([[3], [0]], [[0], [1]], n_steps=1)
    assert model.kinds.tolist() == [[1]]
    assert model.changes([[3]], [0]).tolist() == [[0]]


def test_a_change_names_only_what_changes():
    model = HopModel(LAMPS)
    model.record([[0, 0, 0]], [[1, 1, 0]], n_steps=4)
    assert model.changes([[1, 0, 1]], [0]).tolist() == [[0, 1, -1]]


def test_lengths_are_means_and_one_hop_is_not_certain():
    model = HopModel(LAMPS)
    model.record([[0, 0, 0]] * 2, [[1, 0, 0]] * 2, n_steps=[2, 6])
    model.record([[0, 0, 0]], [[0, 1, 0]], n_steps=3)
    assert model.n_steps.tolist() == [4.0, 3.0]
    assert model.probs.tolist() == [0.75, 2 / 3]


def door_and_lamp(n):
    """The lamp changes only behind the open door, n times either way; the door opens as often."""
    model = HopModel(AttributeSpace({"door": ["locked", "open"], "lamp": 2}))
    model.record([[1, 0], [1, 1]] * n, [[1, 1], [1, 0]] * n, n_steps=5)
    model.record([[0, 0], [0, 1]] * n, [[1, 0], [1, 1]] * n, n_steps=5)
    return model


def test_what_should_have_been_seen_and_was_not_rules_a_kind_out():
    allowed = door_and_lamp(20).allowed()
    assert allowed[0].tolist() == [[False, True], [True, True]]
    assert allowed[1].tolist() == [[True, False], [True, True]]


def test_too_few_hops_rule_nothing_out_that_they_do_not_change():
    allowed = door_and_lamp(2).allowed()
    assert allowed[0].all()
    assert allowed[1].tolist() == [[True, False], [True, True]]  # nobody has seen the door lock


def test_what_happens_less_often_than_it_should_is_listed_again_as_less_sure():
    """A cube is mostly moved while it is lifted, and sometimes pushed."""
    model = HopModel(AttributeSpace(["lifted", "left"]))
    model.record([[1, 0], [1, 1]] * 100, [[1, 1], [1, 0]] * 100, n_steps=5)
    model.record([[0, 0], [0, 1]] * 10, [[0, 1], [0, 0]] * 10, n_steps=5)
    model.record([[0, 0], [1, 1]] * 100, [[1, 0], [0, 1]] * 100, n_steps=9)
    moved, lifted, pushed = range(3)
    assert model.numbers.tolist() == [moved, lifted, moved]
    assert model.kinds[pushed].tolist() == model.kinds[moved].tolist() == [0, 1]
    assert model.allowed()[moved].tolist() == [[False, True], [True, True]]
    assert model.allowed()[pushed].all()
    assert model.allowed()[lifted].all()
    share = 20 / (220 * 120 / 420)  # of the moves that should have begun on the table
    assert model.probs[pushed] == pytest.approx(share * model.probs[moved])
    assert model.n_steps.tolist() == [5.0, 9.0, 5.0]
    assert model.changes([[0, 0]], [pushed]).tolist() == [[-1, 1]]
    assert "needs: lifted; works 1.00" in model.explain(moved)
    assert "needs nothing; works 0.32" in model.explain(pushed)


def test_numbers_go_only_the_way_that_was_seen():
    model = HopModel(AttributeSpace({"ore": 6}))
    model.record([[3], [4]], [[2], [3]], n_steps=1)
    assert model.allowed().tolist() == [[[False, True, True, True, True, True]]]
    model.record([[0]], [[5]], n_steps=1)
    assert model.allowed().all()


def test_words_change_only_from_those_that_were_seen():
    model = HopModel(AttributeSpace({"room": ["hall", "cellar", "attic"]}))
    model.record([[0]], [[1]], n_steps=1)
    assert model.allowed().tolist() == [[[True, False, False]]]


def test_of_three_words_or_more_each_pair_is_a_kind_of_its_own():
    """To drop a cube in needs an open drawer; to lift it from the far end of a table does not."""
    cube = ["held", "in drawer", "near", "far"]
    space = AttributeSpace({"drawer": ["closed", "open"], "cube": cube})
    model = HopModel(space)
    starts = [[1, 0], [0, 3], [1, 3], [0, 0], [1, 0]] * 20
    ends = [[1, 1], [0, 0], [1, 0], [0, 2], [1, 2]] * 20
    model.record(starts, ends, n_steps=5)
    assert model.kinds.tolist() == [[0, 1], [0, 1], [0, 2]]
    assert model.explain(0) == "changes: cube; needs: drawer=open, cube=held; works 0.95"
    assert model.explain(1) == "changes: cube; needs: cube=far; works 0.98"
    other = HopModel(space)
    other.restore(model.to_arrays())
    assert [other.explain(i) for i in range(3)] == [model.explain(i) for i in range(3)]


def test_a_kind_far_rarer_than_others_is_doubted():
    model = HopModel(LAMPS)
    for i in range(3):
        model.record([[0, 0, 0]] * 500, [np.eye(3, dtype=int)[i]] * 500, n_steps=5)
    model.record([[0, 0, 0]], [[1, 1, 1]], n_steps=5)
    assert model.probs[:3].tolist() == pytest.approx([501 / 502] * 3)
    assert model.probs[3] == pytest.approx(2 / 3 / 50)


def test_a_kind_is_explained_in_words():
    assert door_and_lamp(20).explain(0) == "changes: lamp; needs: door=open; works 0.98"
    model = HopModel(LAMPS)
    model.record([[0, 0, 0], [1, 1, 1]], [[1, 1, 0], [0, 0, 1]], n_steps=4)
    assert model.explain(0) == "changes: a, b; needs nothing; works 0.75"


def test_what_was_counted_goes_through_a_file_of_arrays():
    model, other = (
        door_and_lamp(20),
        HopModel(AttributeSpace({"door": ["locked", "open"], "lamp": 2})),
    )
    other.restore(model.to_arrays())
    assert other.kinds.tolist() == model.kinds.tolist()
    assert (other.allowed() == model.allowed()).all()
    assert other.n_steps.tolist() == model.n_steps.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seen": np.zeros((1, 2, 2))}, "of 2 kinds counts"),
        ({"steps": np.array([1.0, np.nan])}, "finite numbers from 0"),
        ({"kinds": np.array([[0], [1]], np.uint64)}, "changes something"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    model = door_and_lamp(20)
    with pytest.raises(InvalidGraph, match=message):
        HopModel(model.space).restore({**model.to_arrays(), **change})


def test_a_missing_array_is_named():
    with pytest.raises(InvalidGraph, match="'seen'"):
        HopModel(LAMPS).restore({"kinds": np.zeros((0, 1), np.uint64)})


def test_a_hop_that_ends_where_it_starts_is_none():
    with pytest.raises(InvalidGraph, match="ends elsewhere than it starts; received one at a,"):
        HopModel(LAMPS).record([[1, 0, 0]], [[1, 0, 0]], n_steps=1)


def test_descriptions_of_another_space_are_refused():
    with pytest.raises(InvalidAttributes, match="a start"):
        HopModel(LAMPS).record([[2, 0, 0]], [[1, 0, 0]], n_steps=1)
