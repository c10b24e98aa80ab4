"""Ways: the next hop, again and again."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan import AttributeSpace
from gym_attrplan.agent.ways import Ways
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.hop_search import HopSearch

HERE = np.zeros(2, np.int8)


@pytest.fixture
def ways():
    """Two lamps, each with a switch of its own; a third that nobody has seen change."""
    model = HopModel(AttributeSpace(["a", "b"]))
    model.record([[0, 0]] * 20, [[1, 0]] * 20, n_steps=5)
    model.record([[0, 0]] * 20, [[0, 1]] * 20, n_steps=5)
    return Ways(HopSearch(model))


def asked(*counts):
    return lambda kinds: np.array(counts, np.float64)[kinds]


def test_the_only_way_is_tried_again(ways):
    goal = ways.search.model.space.goal("a")
    assert ways.next_kind(HERE, goal, asked(0, 0)) == 0
    assert ways.next_kind(HERE, goal, asked(1, 0)) == 0
    assert ways.next_kind(HERE, goal, asked(3, 0)) == 0


def test_what_was_asked_for_less_comes_first(ways):
    goal = ways.search.model.space.goal("a, b")
    first = ways.next_kind(HERE, goal, asked(0, 0))
    assert ways.next_kind(HERE, goal, asked(*(k == first for k in range(2)))) == 1 - first
    assert ways.next_kind(HERE, goal, asked(2, 1)) == 1
    assert ways.next_kind(HERE, goal, asked(1, 2)) == 0


def test_what_failed_once_is_tried_again_rather_than_a_long_way_round():
    model = HopModel(AttributeSpace({"lamp": 2, "door": 2}))
    model.record([[0, 0], [0, 1]] * 20, [[1, 0], [1, 1]] * 20, n_steps=5)
    model.record([[0, 0], [0, 1]] * 20, [[0, 1], [0, 0]] * 20, n_steps=5)
    ways, goal = Ways(HopSearch(model)), model.space.goal("lamp, not door")
    assert [ways.next_kind(HERE, goal, asked(n, 0)) for n in range(5)] == [0, 0, 1, 1, 1]


def test_what_cannot_be_reached_is_searched_for_once(ways, monkeypatch):
    space = ways.search.model.space
    goal = space.goal("not a")
    lit = np.ones(2, np.int8)  # nobody has seen a lamp go out
    assert ways.next_kind(lit, goal, asked(0, 0)) == -1
    monkeypatch.setattr(ways.search, "find", None)
    assert ways.next_kind(lit, goal, asked(0, 0)) == -1


def test_a_model_that_has_learned_more_is_asked_again(ways):
    model = ways.search.model
    lit, goal = np.ones(2, np.int8), model.space.goal("not a")
    assert ways.next_kind(lit, goal, asked(0, 0)) == -1
    model.record([[1, 1]] * 3, [[0, 1]] * 3, n_steps=5)
    assert ways.next_kind(lit, goal, asked(0, 0)) == 0
