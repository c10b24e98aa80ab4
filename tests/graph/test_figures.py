"""Figures of plans and graphs say what they are given, on the axes they are given."""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.error import DependencyNotInstalled, InvalidOption
from gym_attrplan.graph import Planner
from gym_attrplan.graph.drawing import GraphDrawing, lay_out

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def planner():
    """Three nodes in a row, each edge tried and reached once: (1 + 1) / (1 + 2) each."""
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
    counts.attempt([[0, 0], [1, 0]], [[1, 0], [1, 1]], True)
    return Planner(counts)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def n_edges_drawn(ax):
    """Segments of the lines, between which there are gaps."""
    gaps = [np.isnan(line.get_xdata()).sum() for line in ax.lines]
    return int(sum(gaps))


def test_a_plan_is_drawn_with_a_node_before_and_after_each_hop(planner):
    ax = planner.plan([0, 0], "door").plot()
    (way,) = ax.lines
    assert len(way.get_xdata()) == 3
    assert texts(ax) == ["key", "0.67", "door", "0.67", "start", "goal"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([2 / 3, 2 / 3])
    assert ax.get_title(loc="left") == "2 hops, success 0.44"


def test_a_plan_without_hops_is_the_goal_alone(planner):
    ax = planner.plan([1, 0], "key").plot()
    assert texts(ax) == ["goal"]
    assert len(ax.lines[0].get_xdata()) == 1


def test_a_plan_is_a_table_in_a_notebook():
    counts = TransitionCounts(AttributeSpace(["a < b", "c"]))
    counts.record([0, 0], [1, 0])
    html = Planner(counts).plan([0, 0], {"a < b": True})._repr_html_()
    assert html.count("<tr>") == 2
    assert '<td style="text-align:left">a &lt; b</td>' in html
    assert "a < b" not in html


def test_the_graph_is_drawn_with_all_its_edges_and_a_plan_through_it(planner):
    plan, (_, ax) = planner.plan([0, 0], "door"), plt.subplots()
    drawing = GraphDrawing.of(planner, ways=[plan.vectors])
    assert drawing.plot(plan, ax=ax) is ax
    assert ax.get_title() == "3 descriptions, 2 transitions"
    assert n_edges_drawn(ax) == 2
    assert len(ax.collections[0].get_offsets()) == 3
    assert np.allclose(np.stack(ax.lines[-1].get_data(), axis=1), drawing.places)
    assert texts(ax) == ["start", "goal"]


def test_of_a_large_graph_the_plan_or_the_most_visited_node_and_what_is_near_are_drawn():
    counts = TransitionCounts(AttributeSpace({"place": 6}))
    for place, visits in enumerate([9, 9, 1, 1, 1]):
        for _ in range(visits):
            counts.record([place], [place + 1])
    planner = Planner(counts)
    assert GraphDrawing.of(planner, max_nodes=3).nodes.tolist() == [0, 1, 2]
    assert GraphDrawing.of(planner, max_nodes=2).nodes.tolist() == [1, 2]  # 2 has a visit more
    plan = planner.plan(4, "place=5")
    drawing = GraphDrawing.of(planner, ways=[plan.vectors], max_nodes=3)
    assert drawing.nodes.tolist() == [3, 4, 5]
    assert drawing.n_hidden == 3
    assert drawing.edges.tolist() == [[0, 1], [1, 2]]  # rows of nodes 3, 4 and 5
    assert GraphDrawing.of(planner, max_nodes=3).about == "3 of 6 descriptions, 2 transitions"
    with pytest.raises(InvalidOption, match="max_nodes=1"):
        GraphDrawing.of(planner, ways=[plan.vectors], max_nodes=1)


def test_neighbours_lie_closer_together_than_others():
    ring = np.array([[i, (i + 1) % 12] for i in range(12)])
    places = lay_out(12, ring)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    joined = np.zeros((12, 12), bool)
    joined[ring[:, 0], ring[:, 1]] = joined[ring[:, 1], ring[:, 0]] = True
    others = ~joined & ~np.eye(12, dtype=bool)
    assert apart[joined].max() < apart[others].min() * 1.2
    assert places.min() == 0.0
    assert places.max() == 1.0


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_smallest_graphs_have_a_place_each(n):
    assert lay_out(n, np.zeros((0, 2), np.int64)).shape == (n, 2)


def test_matplotlib_is_named_where_it_is_missing(planner, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DependencyNotInstalled, match=r"gym_attrplan\[viz\]"):
        planner.plan([0, 0], "door").plot()
