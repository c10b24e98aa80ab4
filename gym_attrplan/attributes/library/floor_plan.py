"""FloorPlan: the rooms, doors and goals of one MiniGrid layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

BoolArray = npt.NDArray[np.bool_]
Regions = npt.NDArray[np.integer[Any]]

_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


class FloorPlan:
    """Parts of a layout that stay in place during an episode.

    Rooms are separated by doorways: doors, open or not, and gaps one cell wide in walls or lava.
    They are numbered by the minimum number of doorways to a goal square, or without one to the room
    behind the lock, or in reading order. A doorway belongs to the adjacent room with the higher
    number, since an agent there is not through yet. So does lava, since an agent in it has come no
    nearer to the goal.

    Args:
        kinds: ``(height, width)`` MiniGrid's names of the cells' contents; any text for nothing.
        start: Column and row from which rooms must be reachable to count.
        lock: Column and row of the only locked door; None to number rooms without it.

    Attributes:
        doors: Column and row of each door, in reading order.
        goals: Column and row of each goal square.
        rooms: ``(height, width)`` the number of the room at each cell.
        before: The same, but a doorway belongs to the adjacent room with the lower number.
        n_rooms: One more than the highest number of a room.
        first: What room 0 is: the room of the ``goal`` or the ``locked`` one; None for just the
            first in reading order.
    """

    def __init__(
        self,
        kinds: npt.NDArray[np.str_],
        start: tuple[int, int],
        lock: tuple[int, int] | None = None,
    ) -> None:
        # A wall around the grid: a door may be at its edge, and neighbours are read.
        kinds = np.pad(kinds, 1, constant_values="wall")
        blocked, doors = (kinds == "wall") | (kinds == "lava"), kinds == "door"
        self.doors = _positions(doors)
        self.goals = _positions(kinds == "goal")
        doorways = doors | _gaps(blocked | doors)
        regions, n_regions = ndimage.label(~blocked & ~doorways)
        beside = _beside(regions, doorways)
        numbers = self._numbers(regions, n_regions, beside, start, lock)
        rooms = numbers[regions]
        before = rooms.copy()
        for doorway, near in beside.items():
            rooms[doorway] = max((numbers[region] for region in near), default=-1)
            before[doorway] = min((numbers[region] for region in near), default=-1)
        for place, near in _beside(rooms + 1, kinds == "lava").items():
            rooms[place] = max(near, default=int(rooms.max()) + 1) - 1
        self.rooms: npt.NDArray[np.int64] = np.maximum(rooms, 0)[1:-1, 1:-1]
        self.before: npt.NDArray[np.int64] = np.maximum(before, 0)[1:-1, 1:-1]
        self.n_rooms = int(rooms.max()) + 1

    def _numbers(
        self,
        regions: Regions,
        n_regions: int,
        beside: dict[tuple[int, int], set[int]],
        start: tuple[int, int],
        lock: tuple[int, int] | None,
    ) -> npt.NDArray[np.int64]:
        """Return ``(n_regions + 1,)`` numbers of regions; -1 for walls and unreachable regions."""
        numbers = np.full(n_regions + 1, -1)
        joined, here = list(beside.values()), {_region_at(regions, start)} - {0}
        reached = _doorways_from(here, joined)
        goals = {_region_at(regions, goal) for goal in self.goals} & reached.keys()
        self.first = "goal" if goals else None
        if lock is not None and not goals:
            door = lock[1] + 1, lock[0] + 1  # past the added wall
            others = [near for doorway, near in beside.items() if doorway != door]
            goals = beside[door] - _doorways_from(here, others).keys()
            self.first = "locked" if goals else None
        away = _doorways_from(goals, joined)
        for order, region in enumerate(sorted(reached)):
            numbers[region] = away[region] if goals else order
        return numbers


def _beside(regions: Regions, doorways: BoolArray) -> dict[tuple[int, int], set[int]]:
    """Return the regions beside each doorway."""
    places = zip(*(axis.tolist() for axis in np.nonzero(doorways)), strict=True)
    return {
        (row, column): {int(regions[row + r, column + c]) for r, c in _SIDES} - {0}
        for row, column in places
    }


def _doorways_from(sources: set[int], joined: list[set[int]]) -> dict[int, int]:
    """Return the minimum number of doorways from the sources to each reachable region."""
    far, front = dict.fromkeys(sources, 0), sources
    while front:
        beyond = set().union(*(near for near in joined if near & front)) - far.keys()
        far.update(dict.fromkeys(beyond, max(far.values()) + 1))
        front = beyond
    return far


def _positions(where: BoolArray) -> list[tuple[int, int]]:
    """Return column and row of each marked cell, in reading order, without the added wall."""
    rows, columns = np.nonzero(where)
    return list(zip((columns - 1).tolist(), (rows - 1).tolist(), strict=True))


def _region_at(regions: Regions, position: tuple[int, int]) -> int:
    """Return the region at a column and row; in a doorway, the region beside it."""
    column, row = int(position[0]) + 1, int(position[1]) + 1  # past the added wall
    near = [regions[row, column], *(regions[row + r, column + c] for r, c in _SIDES)]
    return int(next((region for region in near if region), 0))


def _gaps(closed: BoolArray) -> BoolArray:
    """Return passable cells between two walls, with free space before and behind them."""
    gaps = np.zeros_like(closed)
    for walls, view in ((closed, gaps), (closed.T, gaps.T)):
        narrow = walls[:, :-2] & walls[:, 2:]  # walls to the left and to the right
        passable, wide = ~walls[:, 1:-1], ~walls[:, 1:-1] & ~narrow
        view[1:-1, 1:-1] |= (passable & narrow)[1:-1] & wide[:-2] & wide[2:]
    return gaps
