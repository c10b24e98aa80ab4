"""The demonstration and its pictures, at a tiny budget."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import torch

from gym_attrplan import AttributeSpace, TransitionCounts
from gym_attrplan.error import InvalidData, InvalidGraph
from gym_attrplan.graph import Planner
from gym_attrplan.report import film_strip, plot_plan
from gym_attrplan.report.demo import run_demo

mpl.use("Agg")


def test_the_demo_trains_plans_compares_and_leaves_pictures(tmp_path, capsys):
    torch.set_num_threads(1)
    results = run_demo(out=tmp_path, total_timesteps=60_000, n_tasks=20, n_envs=64)
    assert set(results) == {"agent", "same policy without planning", "random actions"}
    assert all(result.n == 20 for result in results.values())
    assert {path.name for path in tmp_path.iterdir()} == {"agent.zip", "graph.png", "journey.gif"}
    printed = capsys.readouterr().out
    assert "12 hops" in printed
    assert "Random full targets" in printed


def test_a_plan_is_drawn_from_its_start_to_its_goal():
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
    counts.attempt([[0, 0], [1, 0]], [[1, 0], [1, 1]], True)
    planner = Planner(counts)
    axes = plot_plan(planner, planner.plan([0, 0], "door"))
    way = axes.lines[-1].get_xdata()
    assert len(way) == 3
    assert way[0] > way[1] > way[2] == 0.0  # what is still to go
    assert [text.get_text() for text in axes.texts] == ["start", "goal"]
    assert axes.get_title() == "2 hops, predicted success 0.44"


def test_a_plan_without_hops_is_not_drawn():
    counts = TransitionCounts(AttributeSpace(["key", "door"]))
    counts.record([0, 0], [1, 0])
    planner = Planner(counts)
    with pytest.raises(InvalidGraph, match="holds already"):
        plot_plan(planner, planner.plan([1, 0], "key"))


def test_a_film_strip_shows_every_picture_under_its_title():
    frames = [np.full((4, 4, 3), value, np.uint8) for value in (0, 100, 200)]
    figure = film_strip(frames, ["start", "hop 1", "goal"])
    assert [axes.get_title() for axes in figure.axes] == ["start", "hop 1", "goal"]
    assert [int(axes.images[0].get_array().max()) for axes in figure.axes] == [0, 100, 200]
    with pytest.raises(InvalidData, match="3 pictures and 1 titles"):
        film_strip(frames, ["start"])
