"""Figures say what they are given, on the axes they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gym_attrplan.error import InvalidData
from gym_attrplan.report import (
    Trials,
    film_strip,
    plot_learning,
    plot_reliability,
    try_edges,
)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_figure_is_drawn_on_the_axes_given():
    _, ax = plt.subplots()
    trials = Trials(np.array([0.5]), np.array([True]))
    frame = np.zeros((4, 4, 3), np.uint8)
    assert plot_learning({"ours": [[0, 0], [10, 1]]}, ax=ax) is ax
    assert plot_reliability(trials, ax=ax) is ax
    assert film_strip([frame], ["start"], ax=ax) is ax
    assert plt.get_fignums() == [1]


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
@pytest.mark.parametrize("which", ["counter_agent", "neighbour_agent"])
def test_the_reliability_of_an_agents_hops_is_drawn(which, request, seed):
    agent = request.getfixturevalue(which)
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
