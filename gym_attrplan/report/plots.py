"""Figures of agents and their episodes, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import DependencyNotInstalled, InvalidData, InvalidGraph
from gym_attrplan.graph import Plan, Planner

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_plan(planner: Planner, plan: Plan, *, axes: Axes | None = None) -> Axes:
    """The graph as layers of equal distance to the plan's end, with the plan drawn through it.

    Args:
        planner: Whose graph to draw.
        plan: A plan of at least one hop.
        axes: Where to draw; new axes by default.

    Raises:
        InvalidGraph: If the plan has no hop.
        DependencyNotInstalled: If matplotlib is missing.
    """
    if len(plan) == 0:
        raise InvalidGraph("there is nothing to draw: the plan has no hop, its goal holds already.")
    axes = axes if axes is not None else _new_axes()
    places = _layered(planner.distances(plan.vectors[-1]))
    edges = planner.counts.edges()
    reached = np.isfinite(places).all(axis=1)
    drawn = reached[edges.source] & reached[edges.target]
    ends = places[np.stack([edges.source[drawn], edges.target[drawn]], axis=1)]
    axes.plot(*ends.transpose(2, 1, 0), color="0.85", linewidth=0.4, zorder=1)
    axes.scatter(places[reached, 0], places[reached, 1], s=12, color="0.55", zorder=2)
    way = places[plan.nodes]
    axes.plot(*way.T, color="tab:red", linewidth=2, marker="o", zorder=3)
    for place, word in ((way[0], "start"), (way[-1], "goal")):
        axes.annotate(word, place, xytext=(0, 8), textcoords="offset points", ha="center")
    axes.set_title(f"{len(plan)} hops, predicted success {plan.success_prob:.2f}")
    axes.set_xlabel("cost still to go")
    axes.invert_xaxis()
    axes.set_yticks([])
    return axes


def film_strip(frames: Sequence[npt.NDArray[Any]], titles: Sequence[str]) -> Figure:
    """Pictures of an episode side by side, each under its title: start, hops, goal.

    Args:
        frames: ``(height, width, 3)`` uint8 each.
        titles: One for each picture.

    Raises:
        InvalidData: If there are no pictures, or not as many titles.
        DependencyNotInstalled: If matplotlib is missing.
    """
    if not len(frames) or len(frames) != len(titles):
        raise InvalidData(
            f"a strip needs a title for each picture; received {len(frames)} pictures and "
            f"{len(titles)} titles."
        )
    size = (1.8 * len(frames), 2.1)
    figure, all_axes = _pyplot().subplots(
        1, len(frames), figsize=size, layout="constrained", squeeze=False
    )
    for axes, frame, title in zip(all_axes[0], frames, titles, strict=True):
        axes.imshow(frame)
        axes.set_title(title, fontsize=8)
        axes.axis("off")
    strip: Figure = figure
    return strip


def _new_axes() -> Any:
    return _pyplot().subplots(figsize=(8, 5), layout="constrained")[1]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            'figures need matplotlib: pip install "gym_attrplan[viz]".'
        ) from error
    return plt


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
