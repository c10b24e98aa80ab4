"""Figures say what they are given, on the axes they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.error import InvalidData, InvalidGraph, InvalidOption
from gym_attrplan.graph import Planner
from gym_attrplan.report import (
    Trials,
    film_strip,
    plot_graph,
    plot_learning,
    plot_plan,
    plot_reliability,
    try_edges,
)
from gym_attrplan.report.drawing import GraphDrawing, lay_out


@pytest.fixture
def planner():
    """Three nodes in a row, each edge tried and reached once: (1 + 1) / (1 + 2) each."""
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
    counts.attempt([[0, 0], [1, 0]], [[1, 0], [1, 1]], True)
    return Planner(counts)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_plan_is_drawn_from_its_start_to_its_goal(planner):
    ax = plot_plan(planner, planner.plan([0, 0], "door"))
    way = ax.lines[-1].get_xdata()
    assert len(way) == 3
    assert way[0] > way[1] > way[2] == 0.0  # what is still to go
    assert texts(ax) == ["start", "goal"]
    assert ax.get_title() == "2 hops, predicted success 0.44"


def test_a_plan_without_hops_is_not_drawn(planner):
    with pytest.raises(InvalidGraph, match="holds already"):
        plot_plan(planner, planner.plan([1, 0], "key"))


def test_every_figure_is_drawn_on_the_axes_given(planner):
    _, ax = plt.subplots()
    plan = planner.plan([0, 0], "door")
    trials = Trials(np.array([0.5]), np.array([True]))
    frame = np.zeros((4, 4, 3), np.uint8)
    assert plot_graph(planner, ax=ax) is ax
    assert plot_plan(planner, plan, ax=ax) is ax
    assert plot_learning({"ours": [[0, 0], [10, 1]]}, ax=ax) is ax
    assert plot_reliability(trials, ax=ax) is ax
    assert film_strip([frame], ["start"], ax=ax) is ax
    assert plt.get_fignums() == [1]


def test_the_graph_is_drawn_with_all_its_edges_and_a_plan_through_it(planner):
    plan = planner.plan([0, 0], "door")
    ax = plot_graph(planner, plan=plan)
    assert ax.get_title() == "3 attribute sets, 2 transitions"
    assert len(ax.collections[0].get_segments()) == 2
    drawing = GraphDrawing.of(planner)
    assert np.allclose(np.stack(ax.lines[0].get_data(), axis=1), drawing.places)
    assert texts(ax) == ["start", "goal"]


def test_of_a_large_graph_the_plan_or_the_most_visited_node_and_what_is_near_are_drawn():
    counts = TransitionCounts(AttributeSpace({"place": 6}))
    for place, visits in enumerate([9, 9, 1, 1, 1]):
        for _ in range(visits):
            counts.record([place], [place + 1])
    planner = Planner(counts)
    assert GraphDrawing.of(planner, max_nodes=3).nodes.tolist() == [0, 1, 2]
    assert GraphDrawing.of(planner, max_nodes=2).nodes.tolist() == [1, 2]  # 2 has a visit more
    drawing = GraphDrawing.of(planner, keep=[4, 5], max_nodes=3)
    assert drawing.nodes.tolist() == [3, 4, 5]
    assert drawing.n_hidden == 3
    assert drawing.edges.tolist() == [[0, 1], [1, 2]]  # rows of nodes 3, 4 and 5
    assert plot_graph(planner, max_nodes=3).get_title() == "3 of 6 attribute sets, 2 transitions"
    with pytest.raises(InvalidOption, match="max_nodes=1"):
        GraphDrawing.of(planner, keep=[4, 5], max_nodes=1)


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


def test_learning_is_drawn_in_percent_with_the_range_over_seeds():
    ax = plot_learning({"ours": [[0, 0.1, 0.05], [10, 0.5, 0.1]], "ppo": [[0, 0.0], [10, 0.2]]})
    assert ax.lines[0].get_ydata().tolist() == [10.0, 50.0]
    assert ax.collections[0].get_paths()[0].vertices[:, 1].max() == pytest.approx(60.0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "ppo"]


@pytest.mark.learning
def test_an_agents_own_log_is_drawn(counter_agent, log):
    (line,) = plot_learning(log).lines
    steps, success = line.get_data()
    assert steps[-1] <= counter_agent.num_timesteps
    assert (np.diff(steps) > 0).all()
    assert success[-1] > success[0]  # the counter's hops are learned in seconds


def test_what_is_no_learning_is_refused(tmp_path):
    with pytest.raises(InvalidData, match="'ours' is"):
        plot_learning({"ours": [1, 2, 3]})
    with pytest.raises(InvalidData, match="cannot be read"):
        plot_learning(tmp_path)
    (tmp_path / "progress.csv").write_text("time/total_timesteps,hop/success\n5,\n")
    with pytest.raises(InvalidData, match=r"Call agent.set_logger"):
        plot_learning(tmp_path)


def test_reliability_shows_each_group_of_predictions():
    trials = Trials(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, True, True, True]))
    ax = plot_reliability(trials)
    assert ax.collections[-1].get_offsets().tolist() == [[0.1, 0.5], [0.9, 1.0]]
    assert ax.get_title() == "4 attempts, calibration error 0.250"


@pytest.mark.learning
@pytest.mark.parametrize(
    ("which", "hops"), [("counter_agent", "3 hops"), ("neighbour_agent", "7 hops")]
)
def test_the_figures_work_on_an_agent(which, hops, request, seed):
    agent = request.getfixturevalue(which)
    plan = agent.navigator.plan([0, 0, 0], "four, two, one")
    assert plot_graph(agent, plan=plan).get_title().startswith("8 attribute sets")
    assert plot_plan(agent, plan).get_title().startswith(hops)
    assert "attempts" in plot_reliability(try_edges(agent, n_attempts=50)).get_title()


def test_a_film_strip_shows_every_picture_under_its_title():
    frames = [np.full((4, 8, 3), value, np.uint8) for value in (0, 100, 200)]
    ax = film_strip(frames, ["start", "hop 1", "goal"])
    assert texts(ax) == ["start", "hop 1", "goal"]
    assert [int(image.get_array().max()) for image in ax.images] == [0, 100, 200]
    lefts = [image.get_extent()[0] for image in ax.images]
    assert lefts == pytest.approx([0.0, 2.06, 4.12])  # twice as wide as high, and a gap
    with pytest.raises(InvalidData, match="3 pictures and 1 titles"):
        film_strip(frames, ["start"])
