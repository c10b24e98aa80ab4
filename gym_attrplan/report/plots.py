"""Figures of agents and their episodes, drawn with matplotlib: each on ``ax``, which it returns."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import DependencyNotInstalled, InvalidData, InvalidGraph
from gym_attrplan.graph import Plan, Planner
from gym_attrplan.report.calibration import Trials
from gym_attrplan.report.drawing import GraphDrawing, planner_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gym_attrplan.agent import AttributePlannerAgent

PLAN_COLOUR = "#c2410c"


def plot_graph(
    agent: AttributePlannerAgent | Planner,
    *,
    plan: Plan | None = None,
    max_nodes: int = 300,
    ax: Axes | None = None,
) -> Axes:
    """The attribute graph: neighbours lie together, and darker edges work more often.

    Args:
        agent: Whose graph to draw.
        plan: A plan to draw through it.
        max_nodes: Most nodes to draw: the plan's, or the most visited one, and what is near.
        ax: Where to draw; new axes by default.

    Raises:
        InvalidGraph: If the graph is empty.
        InvalidOption: If the plan has more nodes than may be drawn.
        DependencyNotInstalled: If matplotlib is missing.
    """
    from matplotlib.collections import LineCollection

    drawing = GraphDrawing.of(
        agent, keep=() if plan is None else plan.nodes.tolist(), max_nodes=max_nodes
    )
    ax = ax if ax is not None else _new_axes()
    lines = drawing.places[drawing.edges]
    ax.add_collection(
        LineCollection(list(lines), cmap="Greys", array=0.1 + 0.6 * drawing.probs, linewidths=0.5)
    ).set_clim(0.0, 1.0)
    sizes = 6.0 + 60.0 * np.sqrt(drawing.visits / max(drawing.visits.max(), 1.0))
    x, y = drawing.places.T
    ax.scatter(x, y, s=sizes, color="#475569", linewidths=0, zorder=2)
    if plan is not None:
        way = drawing.places[drawing.rows(plan.nodes)]
        ax.plot(*way.T, color=PLAN_COLOUR, linewidth=2, marker="o", zorder=3)
        _name_ends(ax, way)
    n, n_all = len(drawing.nodes), len(drawing.nodes) + drawing.n_hidden
    part = f"{n:,}" if n == n_all else f"{n:,} of {n_all:,}"
    ax.set_title(f"{part} attribute sets, {len(drawing.edges):,} transitions")
    ax.set_axis_off()
    return ax


def plot_plan(
    agent: AttributePlannerAgent | Planner, plan: Plan, *, ax: Axes | None = None
) -> Axes:
    """The graph as layers of equal distance to the plan's end, with the plan drawn through it.

    Args:
        agent: Whose graph to draw.
        plan: A plan of at least one hop.
        ax: Where to draw; new axes by default.

    Raises:
        InvalidGraph: If the plan has no hop.
        DependencyNotInstalled: If matplotlib is missing.
    """
    if len(plan) == 0:
        raise InvalidGraph("there is nothing to draw: the plan has no hop, its goal holds already.")
    ax, planner = ax if ax is not None else _new_axes(), planner_of(agent)
    places = _layered(planner.distances(plan.vectors[-1]))
    edges = planner.counts.edges()
    reached = np.isfinite(places).all(axis=1)
    drawn = reached[edges.source] & reached[edges.target]
    ends = places[np.stack([edges.source[drawn], edges.target[drawn]], axis=1)]
    ax.plot(*ends.transpose(2, 1, 0), color="0.85", linewidth=0.4, zorder=1)
    ax.scatter(places[reached, 0], places[reached, 1], s=12, color="0.55", zorder=2)
    way = places[plan.nodes]
    ax.plot(*way.T, color=PLAN_COLOUR, linewidth=2, marker="o", zorder=3)
    _name_ends(ax, way)
    ax.set_title(f"{len(plan)} hops, predicted success {plan.success_prob:.2f}")
    ax.set_xlabel("cost still to go")
    ax.invert_xaxis()
    ax.set_yticks([])
    return ax


def plot_learning(log: str | Path | Mapping[str, npt.ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Success against steps: an agent's own log, or curves of several learners.

    Args:
        log: A ``progress.csv`` or its folder, which SB3's ``configure(folder, ["csv"])`` as the
            agent's logger writes; or name → ``(n, 2)`` steps and success from 0 to 1, with half
            the range over seeds as a third column if it is known.
        ax: Where to draw; new axes by default.

    Raises:
        InvalidData: If there is no success in the log, or a curve has another shape.
        DependencyNotInstalled: If matplotlib is missing.
    """
    curves = log if isinstance(log, Mapping) else {"hops that arrive": _hop_success(Path(log))}
    rows = {name: np.asarray(curve, np.float64) for name, curve in curves.items()}
    for name, row in rows.items():
        if row.ndim != 2 or row.shape[1] not in (2, 3) or not len(row):
            raise InvalidData(
                f"a curve is (n, 2) or (n, 3), with n above 0; {name!r} is {row.shape}."
            )
    ax = ax if ax is not None else _new_axes()
    for name, row in rows.items():
        steps, success = row[:, 0], 100 * row[:, 1]
        (line,) = ax.plot(steps, success, label=name, linewidth=1.8)
        if row.shape[1] == 3:
            half = 100 * row[:, 2]
            colour = line.get_color()
            ax.fill_between(steps, success - half, success + half, color=colour, alpha=0.15)
    ax.set(xlabel="environment steps", ylabel="success, %", ylim=(0, 101))
    ax.legend(frameon=False)
    return ax


def plot_reliability(trials: Trials, *, n_bins: int = 10, ax: Axes | None = None) -> Axes:
    """Is a probability of 0.8 true in 80% of attempts? On the diagonal it is.

    Args:
        trials: What was predicted and what came of it: ``try_edges(agent)`` for single hops,
            ``try_plans(agent)`` for whole plans.
        n_bins: Groups of predictions; bars are their shares' 95% intervals.
        ax: Where to draw; new axes by default.

    Raises:
        DependencyNotInstalled: If matplotlib is missing.
    """
    ax = ax if ax is not None else _new_axes(figsize=(5, 5))
    bins = trials.bins(n_bins)
    predicted = [one.predicted for one in bins]
    achieved = np.array([one.achieved for one in bins])
    below, above = achieved - [one.low for one in bins], [one.high for one in bins] - achieved
    ax.plot([0, 1], [0, 1], color="0.75", linewidth=1, zorder=1)
    ax.errorbar(predicted, achieved, np.maximum([below, above], 0), fmt="none", ecolor="0.5")
    sizes = 20 + 200 * np.array([one.n for one in bins]) / len(trials)
    ax.scatter(predicted, achieved, s=sizes, color=PLAN_COLOUR, zorder=3)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ax.set(xlabel="predicted probability", ylabel="achieved share")
    ax.set_title(f"{len(trials):,} attempts, calibration error {trials.calibration_error:.3f}")
    return ax


def film_strip(
    frames: Sequence[npt.NDArray[Any]], titles: Sequence[str], *, ax: Axes | None = None
) -> Axes:
    """Pictures of an episode side by side, each under its title: start, hops, goal.

    Args:
        frames: ``(height, width, 3)`` uint8 each; all are drawn equally high.
        titles: One for each picture.
        ax: Where to draw; new axes by default.

    Raises:
        InvalidData: If there are no pictures, or not as many titles.
        DependencyNotInstalled: If matplotlib is missing.
    """
    if not len(frames) or len(frames) != len(titles):
        raise InvalidData(
            f"a strip needs a title for each picture; received {len(frames)} pictures and "
            f"{len(titles)} titles."
        )
    ax = ax if ax is not None else _new_axes(figsize=(1.8 * len(frames), 2.1))
    left = 0.0
    for frame, title in zip(frames, titles, strict=True):
        width = frame.shape[1] / frame.shape[0]
        ax.imshow(frame, extent=(left, left + width, 0.0, 1.0))
        ax.text(left + width / 2, 1.04, title, ha="center", va="bottom", fontsize=8)
        left += width + 0.06
    ax.set(xlim=(0.0, left - 0.06), ylim=(0.0, 1.16), aspect="equal")
    ax.set_axis_off()
    return ax


def _new_axes(figsize: tuple[float, float] = (8, 5)) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            'figures need matplotlib: pip install "gym_attrplan[viz]".'
        ) from error
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def _name_ends(ax: Axes, way: npt.NDArray[np.float64]) -> None:
    for place, word in ((way[0], "start"), (way[-1], "goal")):
        ax.annotate(
            word,
            place,
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
        )


def _hop_success(path: Path) -> list[tuple[float, float]]:
    """Steps and share of hops that arrived, from a log in SB3's CSV format."""
    file = path / "progress.csv" if path.is_dir() else path
    try:
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise InvalidData(f"{file} cannot be read: {error}.") from error
    steps, success = "time/total_timesteps", "hop/success"
    curve = [
        (float(row[steps]), float(row[success])) for row in rows if row.get(steps) and row[success]
    ]
    if not curve:
        raise InvalidData(
            f"{file} has no {success!r}. Call agent.set_logger(configure(folder, ['csv'])) before "
            "agent.learn(...)."
        )
    return curve


def _layered(distances: Any) -> Any:
    """``(n_nodes, 2)`` places: the distance, and one below the other where it is about equal."""
    places = np.full((len(distances), 2), np.nan)
    finite = np.flatnonzero(np.isfinite(distances))
    layers = np.round(distances[finite], 1)
    for layer in np.unique(layers):
        nodes = finite[layers == layer]
        places[nodes, 0] = distances[nodes]
        places[nodes, 1] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    return places
