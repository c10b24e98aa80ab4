"""Figures of plans and graphs, drawn with matplotlib from plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import DependencyNotInstalled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray: TypeAlias = npt.NDArray[np.float64]

PLAN_COLOUR = "#a8480a"
NODE_COLOUR = "#6d6a62"
GROUND, INK, RULE = "#fbfaf7", "#1f1e1b", "#e2ded4"


def load_matplotlib() -> None:
    """Import matplotlib.

    Raises:
        DependencyNotInstalled: If it is missing.
    """
    try:
        import matplotlib  # noqa: F401  here only to see whether it can be
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            'figures need matplotlib: pip install "gym_attrplan[viz]".'
        ) from error


def new_axes(figsize: tuple[float, float] = (8, 5)) -> Any:
    """Return the axes of a new figure.

    Raises:
        DependencyNotInstalled: If matplotlib is missing.
    """
    load_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def draw_hops(
    title: str, hops: Sequence[str], probs: Sequence[float], *, ax: Axes | None = None
) -> Axes:
    """Draw a plan from top to bottom: nodes, and the change and probability of each hop.

    Args:
        title: Title of the figure.
        hops: The change of each hop.
        probs: The probability of each hop, which is the length of its bar.
        ax: Axes to draw on; new ones by default.
    """
    n = len(hops)
    ax = ax if ax is not None else new_axes((6.5, 1.2 + 0.38 * n))
    middle = np.arange(n) + 0.5
    ax.barh(middle, probs, height=0.7, color=PLAN_COLOUR, alpha=0.18)
    for y, words, prob in zip(middle, hops, probs, strict=True):
        ax.text(0.015, y, _shortened(words), va="center", fontsize=9)
        ax.text(1.02, y, f"{prob:.2f}", va="center", fontsize=9)
    ax.plot([-0.05] * (n + 1), range(n + 1), color=PLAN_COLOUR, marker="o", linewidth=2)
    ax.text(-0.1, 0, "start" if n else "goal", ha="right", va="center", fontsize=9)
    if n:
        ax.text(-0.1, n, "goal", ha="right", va="center", fontsize=9)
    ax.set(xlim=(-0.25, 1.15), ylim=(n + 0.4, -0.4))
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_axis_off()
    return ax


def draw_network(
    places: FloatArray,
    edges: npt.NDArray[np.int64],
    *,
    probs: FloatArray,
    visits: FloatArray,
    ax: Axes | None = None,
) -> Axes:
    """Draw nodes, larger with more visits, and edges, darker with a higher probability.

    Args:
        places: ``(n, 2)`` positions of the nodes, from 0 to 1.
        edges: ``(m, 2)`` rows of ``places``.
        probs: ``(m,)`` probabilities of the edges.
        visits: ``(n,)`` visits of the nodes.
        ax: Axes to draw on; new ones by default.
    """
    ax = ax if ax is not None else new_axes()
    # One line object for each tenth of probability, with gaps between its edges: thousands of
    # edges are drawn, and stored in a page, as a few lines.
    tenths = np.ceil(probs * 10).astype(int)
    thin = np.clip(500 / max(len(edges), 1), 0.3, 1.0)
    for tenth in np.unique(tenths):
        ends = places[edges[tenths == tenth]]
        gaps = np.full((len(ends), 1, 2), np.nan)
        x, y = np.concatenate([ends, gaps], axis=1).reshape(-1, 2).T
        alpha = thin * (0.1 + 0.06 * tenth)
        ax.plot(x, y, color=NODE_COLOUR, alpha=alpha, linewidth=0.6, zorder=1)
    sizes = 6.0 + 60.0 * np.sqrt(visits / max(visits.max(initial=0.0), 1.0))
    ax.scatter(places[:, 0], places[:, 1], s=sizes, color=NODE_COLOUR, linewidths=0, zorder=2)
    ax.set_axis_off()
    return ax


def draw_way(ax: Axes, places: FloatArray, *, gid: str | None = None) -> None:
    """Draw a plan through a graph, from ``start`` to ``goal``, with the id ``gid``."""
    ax.plot(*places.T, color=PLAN_COLOUR, linewidth=2, marker="o", gid=gid)
    for place, word in ((places[0], "start"), (places[-1], "goal")):
        ax.annotate(
            word,
            tuple(place),
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
            color=INK,
            bbox={"boxstyle": "round,pad=0.15", "fc": GROUND, "ec": "none", "alpha": 0.8},
            gid=gid,
        )


def _shortened(words: str, most: int = 70) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
