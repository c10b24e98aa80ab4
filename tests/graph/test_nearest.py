"""What to head for when a goal cannot be reached."""

from __future__ import annotations

import pytest

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.graph.nearest import nearest_reachable

SPACE = AttributeSpace(["a", "b", "c"])


def planner(*edges):
    counts = TransitionCounts(SPACE)
    for edge in edges:
        counts.record(*([int(bit) for bit in side] for side in edge.split(">")))
    return Planner(counts)


def name(plans, node):
    return "".join(map(str, plans.counts.index.vectors([node])[0]))


def test_it_is_the_node_that_misses_least():
    plans = planner("000>100", "100>110", "011>111")
    assert name(plans, nearest_reachable(plans, 0, "a, b, c")) == "110"


def test_of_equally_good_ones_it_is_the_closest():
    plans = planner("000>100", "100>000", "000>001", "001>011")
    assert name(plans, nearest_reachable(plans, 0, "a")) == "100"
    assert name(plans, nearest_reachable(plans, 0, "a, not b")) == "100"


def test_it_may_be_the_node_itself():
    plans = planner("100>000", "010>110")
    start = int(plans.counts.index.find([1, 0, 0])[0])
    assert nearest_reachable(plans, start, "a, b") == start


def test_edges_that_never_work_lead_nowhere():
    counts = TransitionCounts(SPACE)
    counts.record([[0, 0, 0], [0, 0, 0]], [[1, 1, 0], [1, 0, 0]])
    counts.attempt([[0, 0, 0], [0, 0, 0]], [[1, 1, 0], [1, 0, 0]], [False, True])
    plans = Planner(counts, estimator="success_ratio")
    assert name(plans, nearest_reachable(plans, 0, "a, b")) == "100"


def test_an_unknown_node_is_refused():
    with pytest.raises(InvalidGraph):
        nearest_reachable(planner("000>100"), 7, "a")
