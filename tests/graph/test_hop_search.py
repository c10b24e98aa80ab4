"""Search over imagined descriptions: as short as can be, and what each hop needs is kept."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph.bit_fields import BitFields
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.hop_search import HopSearch


def model_of(sizes, kinds, allowed=None):
    """A model whose kinds are equally likely and long, and allowed where a test says."""
    model = HopModel(AttributeSpace({f"x{i}": size for i, size in enumerate(sizes)}))
    for kind in kinds:
        model.record([[0] * len(sizes)] * 9, [kind] * 9, n_steps=5)
    if allowed is not None:
        model.allowed = lambda: allowed
    else:
        model.allowed = lambda: np.ones((len(model), len(sizes), max(sizes)), np.bool_)
    return model


def walk(model, start, way):
    """Where a way leads, with every hop held to what it needs."""
    here, allowed = np.array(start), model.allowed()
    for kind in way.kinds:
        assert allowed[kind, np.arange(len(here)), here].all()
        here = (here + model.kinds[kind]) % model.space.sizes
    return here.tolist()


def fewest(model, start, goal):
    """The fewest hops to a goal, by trying everything; None if nothing leads there."""
    allowed, wanted = model.allowed(), np.array(goal)
    seen, queue = {tuple(start): 0}, deque([tuple(start)])
    while queue:
        here = queue.popleft()
        if ((wanted == -1) | (wanted == here)).all():
            return seen[here]
        for kind, added in enumerate(model.kinds):
            if allowed[kind, np.arange(len(here)), np.array(here)].all():
                there = tuple(((np.array(here) + added) % model.space.sizes).tolist())
                if there not in seen:
                    seen[there] = seen[here] + 1
                    queue.append(there)
    return None


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    vectors = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    kinds = draw(st.lists(vectors.filter(any), min_size=1, max_size=5, unique=True))
    shape = (len(kinds), len(sizes), max(sizes))
    n_bits = int(np.prod(shape))
    bits = draw(st.lists(st.booleans(), min_size=n_bits, max_size=n_bits))
    allowed = np.array(bits).reshape(shape) | np.array(draw(st.booleans()))
    goal = tuple(draw(st.integers(-1, size - 1)) for size in sizes)
    return sizes, kinds, allowed, draw(vectors), goal


@settings(max_examples=300, deadline=None)
@given(problems())
def test_a_way_has_as_few_hops_as_can_be(problem):
    sizes, kinds, allowed, start, goal = problem
    model = model_of(sizes, kinds, allowed)
    way, least = HopSearch(model).find(start, list(goal)), fewest(model, start, goal)
    if least is None:
        assert way is None or not way.reached
    else:
        assert way is not None
        assert way.reached
        assert len(way.kinds) == least
        assert model.space.matches(np.array(walk(model, start, way)), np.array(goal))


def lights(rows, columns):
    """A press flips a light and those beside it."""
    kinds = []
    for r in range(rows):
        for c in range(columns):
            near = [(r, c), (r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
            flips = np.zeros((rows, columns), int)
            for i, j in near:
                if 0 <= i < rows and 0 <= j < columns:
                    flips[i, j] = 1
            kinds.append(flips.ravel().tolist())
    return model_of([2] * (rows * columns), kinds)


def test_all_lights_of_four_by_five_take_every_press():
    model = lights(4, 5)
    goal = (model.kinds.sum(axis=0) % 2).tolist()
    way = HopSearch(model).find([0] * 20, goal)
    assert sorted(way.kinds.tolist()) == list(range(20))


def test_what_nobody_asks_about_is_left_out():
    model = lights(8, 9)  # 2 ** 72 descriptions
    way = HopSearch(model).find([0] * 72, "x0, x1")
    assert way.reached
    assert len(way.kinds) == 1


def test_more_than_64_bits_of_description_are_told_apart():
    model = lights(8, 9)
    goal = ((model.kinds[3] + model.kinds[40] + model.kinds[71]) % 2).tolist()
    way = HopSearch(model).find([0] * 72, goal)
    assert walk(model, [0] * 72, way) == goal
    assert len(way.kinds) == 3


def test_a_rare_kind_gives_way_to_two_sure_ones():
    model = HopModel(AttributeSpace(["a", "b"]))
    model.record([[0, 0]] * 50, [[1, 0]] * 50, n_steps=5)
    model.record([[0, 0]] * 50, [[0, 1]] * 50, n_steps=5)
    model.record([[0, 0]], [[1, 1]], n_steps=5)
    assert sorted(HopSearch(model).find([0, 0], "a, b").kinds.tolist()) == [0, 1]


def cheapest(model, weights, start, goal):
    """The least that a way costs, by relaxing everything until nothing changes."""
    costs, changed = {tuple(start): 0}, True
    while changed:
        changed = False
        for here, cost in list(costs.items()):
            for kind, added in enumerate(model.kinds):
                there = tuple(((np.array(here) + added) % model.space.sizes).tolist())
                if cost + weights[kind] < costs.get(there, np.inf):
                    costs[there], changed = cost + weights[kind], True
    return costs.get(tuple(goal))


@settings(max_examples=150, deadline=None)
@given(problems(), st.data())
def test_a_way_costs_as_little_as_can_be(problem, data):
    sizes, kinds, _, start, goal = problem
    goal = [max(value, 0) for value in goal]
    model = model_of(sizes, kinds)
    search = HopSearch(model)
    search.find(start, goal)  # so that the search follows its model
    search._weights = np.array([data.draw(st.integers(1, 9)) for _ in kinds])
    way, least = search.find(start, goal), cheapest(model, search._weights, start, goal)
    if least is None:
        assert way is None or not way.reached
    else:
        assert way.reached
        assert search._weights[way.kinds].sum() == least


def test_no_time_at_all_is_no_way():
    model = model_of([2, 2], [[1, 0], [0, 1]])
    assert HopSearch(model, max_seconds=1e-9).find([0, 0], "x0, x1") is None


def test_a_banned_kind_is_not_the_first():
    model = model_of([2, 2], [[1, 0], [0, 1]])
    search = HopSearch(model)
    assert search.find([0, 0], "x0, x1", banned=[0]).kinds.tolist() == [1, 0]
    assert search.find([0, 0], "x0", banned=[0]) is None


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_way_that_may_not_begin_with_a_kind_begins_otherwise(problem):
    sizes, kinds, allowed, start, goal = problem
    model = model_of(sizes, kinds, allowed)
    way = HopSearch(model).find(start, list(goal), banned=[0])
    first_steps = []
    for kind in range(1, len(kinds)):
        if allowed[kind, np.arange(len(sizes)), np.array(start)].all():
            there = (np.array(start) + model.kinds[kind]) % sizes
            first_steps.append(fewest(model, there.tolist(), goal))
    lengths = [1 + n for n in first_steps if n is not None]
    if ((np.array(goal) == -1) | (np.array(goal) == start)).all():
        assert not len(way.kinds)
    elif way is not None and way.reached:
        assert way.kinds[0] != 0
        assert len(way.kinds) >= min(lengths)
        assert model.space.matches(np.array(walk(model, start, way)), np.array(goal))


@settings(max_examples=150, deadline=None)
@given(problems())
def test_a_second_best_beginning_is_found_where_every_attribute_is_asked_for(problem):
    sizes, kinds, allowed, start, goal = problem
    goal = [max(value, 0) for value in goal]  # nothing is left out of the search
    model = model_of(sizes, kinds, allowed)
    first_steps = []
    for kind in range(1, len(kinds)):
        if allowed[kind, np.arange(len(sizes)), np.array(start)].all():
            there = (np.array(start) + model.kinds[kind]) % sizes
            first_steps.append(fewest(model, there.tolist(), goal))
    lengths = [1 + n for n in first_steps if n is not None]
    way = HopSearch(model).find(start, goal, banned=[0])
    if goal == list(start):
        assert not len(way.kinds)
    elif lengths:
        assert way.kinds[0] != 0
        assert len(way.kinds) == min(lengths)
        assert walk(model, start, way) == goal
    else:
        assert way is None or not way.reached


def test_what_holds_already_takes_no_hop():
    way = HopSearch(model_of([2], [[1]])).find([1], "x0")
    assert way.reached
    assert not len(way.kinds)


def test_out_of_reach_the_nearest_is_found():
    model = model_of([2, 2, 2], [[1, 0, 0], [0, 1, 0]])
    way = HopSearch(model).find([0, 0, 0], "x0, x1, x2")
    assert not way.reached
    assert sorted(way.kinds.tolist()) == [0, 1]


def test_a_search_without_time_answers_with_what_it_has():
    model = lights(4, 5)
    goal = (model.kinds.sum(axis=0) % 2).tolist()
    way = HopSearch(model, max_states=2_000).find([0] * 20, goal)
    assert not way.reached


def test_nothing_known_is_no_way():
    assert HopSearch(HopModel(AttributeSpace(["a"]))).find([0], "a") is None


@given(st.lists(st.integers(2, 70), min_size=1, max_size=30), st.data())
def test_bit_fields_give_back_what_was_packed(sizes, data):
    rows = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    vectors = np.array(data.draw(st.lists(rows, min_size=1, max_size=4)))
    amounts = np.array(data.draw(rows))
    fields = BitFields(np.arange(len(sizes)), np.array(sizes))
    words = fields.pack(vectors)
    assert (fields.unpack(words) == vectors).all()
    assert (fields.unpack(fields.add(words, amounts)) == (vectors + amounts) % sizes).all()
    assert (fields.n_unmet(words, amounts) == (vectors != amounts).sum(axis=1)).all()


@pytest.mark.parametrize("sizes", [[2] * 3, [2] * 70])
def test_equal_descriptions_and_only_they_have_equal_keys(sizes):
    fields = BitFields(np.arange(len(sizes)), np.array(sizes))
    vectors = np.random.default_rng(0).integers(2, size=(300, len(sizes)))
    n_keys = len(np.unique(fields.keys(fields.pack(vectors))))
    assert n_keys == len(np.unique(vectors, axis=0))
