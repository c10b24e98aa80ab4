"""Rooms worked out by hand, for the tests of the grid worlds."""

from __future__ import annotations

import numpy as np

from gym_attrplan.envs.grids import Rooms

SIZE = 6
"""Side of the rooms below: 4 × 4 cells inside the wall."""


def cell(x: int, y: int) -> int:
    """The number of the cell in column x and row y; the first cell inside the wall is (1, 1)."""
    return y * SIZE + x


def room(
    *,
    agent: tuple[int, int],
    objects: list[tuple[int, int]],
    states: list[int],
    walls: list[tuple[int, int]] | None = None,
) -> Rooms:
    """One room, from columns and rows."""
    return Rooms(
        np.array([cell(*agent)]),
        np.array([[cell(*one) for one in objects]]),
        np.array([sorted(cell(*one) for one in walls or [])], np.int64).reshape(1, -1),
        np.array([states]),
    )
