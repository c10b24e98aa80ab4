"""Figures of training, calibration and episodes: each is drawn on ``ax``, which it returns."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidData
from gym_attrplan.graph.figures import NODE_COLOUR, PLAN_COLOUR, RULE, new_axes
from gym_attrplan.report.calibration import Trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ax = ax if ax is not None else new_axes()
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
    ax = ax if ax is not None else new_axes(figsize=(5, 5))
    bins = trials.bins(n_bins)
    predicted = [one.predicted for one in bins]
    achieved = np.array([one.achieved for one in bins])
    below, above = achieved - [one.low for one in bins], [one.high for one in bins] - achieved
    ax.plot([0, 1], [0, 1], color=RULE, linewidth=1.5, zorder=1)
    ax.errorbar(predicted, achieved, np.maximum([below, above], 0), fmt="none", ecolor=NODE_COLOUR)
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
    ax = ax if ax is not None else new_axes(figsize=(1.8 * len(frames), 2.1))
    left = 0.0
    for frame, title in zip(frames, titles, strict=True):
        width = frame.shape[1] / frame.shape[0]
        ax.imshow(frame, extent=(left, left + width, 0.0, 1.0))
        ax.text(left + width / 2, 1.04, title, ha="center", va="bottom", fontsize=8)
        left += width + 0.06
    ax.set(xlim=(0.0, left - 0.06), ylim=(0.0, 1.16), aspect="equal")
    ax.set_axis_off()
    return ax


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
