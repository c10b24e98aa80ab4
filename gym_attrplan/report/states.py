"""Pictures of the states that a finding of ``find_missing`` tells apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.missing import Missing
from gym_attrplan.report.plots import film_strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TILE = 24
"""Side of a drawn cell of MiniGrid, in pixels."""


def draw_states(missing: Missing) -> Axes | None:
    """Draw states of both kinds side by side; None if observations are no views of MiniGrid.

    Args:
        missing: A finding.

    Raises:
        DependencyNotInstalled: If matplotlib is missing.
    """
    frames, titles = [], []
    for states, answer in zip(missing.shown, ("yes", "no"), strict=True):
        views = views_of(states)
        frames += views
        titles += [answer] * len(views)
    if not frames:
        return None
    ax = film_strip(frames, titles)
    ax.set_title(f"{missing.hop}: {missing.asked}?", fontsize=9, pad=16)
    return ax


def views_of(states: Mapping[str, Any]) -> list[npt.NDArray[np.uint8]]:
    """Return MiniGrid's drawings of its views; none of other observations."""
    views = np.asarray(states.get("image", ()))
    if views.ndim != 4 or views.shape[3] != 3:
        return []
    try:
        from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT
        from minigrid.core.grid import Grid
    except ImportError:
        return []
    known = (list(IDX_TO_OBJECT), list(IDX_TO_COLOR), range(4))
    if not all(np.isin(views[..., i], list(values)).all() for i, values in enumerate(known)):
        return []
    drawn = []
    for view in views:
        grid, seen = Grid.decode(view.astype(np.uint8))
        place = (view.shape[0] // 2, view.shape[1] - 1)
        drawn.append(grid.render(_TILE, place, agent_dir=3, highlight_mask=seen))
    return drawn
