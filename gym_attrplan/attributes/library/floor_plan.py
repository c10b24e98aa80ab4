"""FloorPlan: the rooms, doors and goals of one MiniGrid layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.sparse import coo_array, csgraph

BoolArray = npt.NDArray[np.bool_]

_SIDES = ((0, 1), (0, -1), (1, 0), (-1, 0))


class FloorPlan:
    """What stays in place while an episode lasts.

    Rooms are what doorways part: doors, open or not, and gaps one cell wide in walls or lava. They
    are numbered by the fewest doorways to a goal square; without one in reading order. A doorway
    belongs to the room with the higher number beside it: who stands there is not through yet.

    Args:
        kinds: ``(height, width)`` MiniGrid's name for what lies in each cell; any text for nothing.
        start: Column and row from which rooms must be within reach to count.

    Attributes:
        doors: Column and row of each door, in reading order.
        goals: Column and row of each goal square.
        rooms: ``(height, width)`` the number of the room at each cell.
        n_rooms: One more than the highest number of a room.
    """

    def __init__(self, kinds: npt.NDArray[np.str_], start: tuple[int, int]) -> None:
        # A wall around it all: a door may stand at the very edge, and neighbours are looked at.
        kinds = np.pad(kinds, 1, constant_values="wall")
        self.doors = _positions(kinds == "door")
        self.goals = _positions(kinds == "goal")
        blocked, doors = np.isin(kinds, ("wall", "lava")), kinds == "door"
        doorways = doors | _gaps(blocked | doors)
        regions, n_regions = ndimage.label(~blocked & ~doorways)
        numbers = self._numbers(regions, n_regions, doorways, start)
        rooms = numbers[regions]
        for row, column in zip(*np.nonzero(doorways), strict=True):
            rooms[row, column] = max(numbers[regions[row + r, column + c]] for r, c in _SIDES)
        self.rooms: npt.NDArray[np.int64] = np.maximum(rooms, 0)[1:-1, 1:-1]
        self.n_rooms = int(rooms.max()) + 1

    def _numbers(
        self,
        regions: npt.NDArray[np.integer[Any]],
        n_regions: int,
        doorways: BoolArray,
        start: tuple[int, int],
    ) -> npt.NDArray[np.int64]:
        """``(n_regions + 1,)`` the number of each region; -1 for walls and what nobody reaches."""
        pairs = [
            (int(regions[row + r, column + c]), int(regions[row + s, column + d]))
            for row, column in zip(*np.nonzero(doorways), strict=True)
            for r, c in _SIDES
            for s, d in _SIDES
        ]
        ends = np.array([pair for pair in pairs if 0 not in pair], np.int64).reshape(-1, 2).T
        shape = (n_regions + 1, n_regions + 1)
        ways = coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=shape).tocsr()
        numbers = np.full(n_regions + 1, -1)
        _, part = csgraph.connected_components(ways, directed=False)
        reached = part == part[_region_at(regions, start)]
        reached[0] = False
        goals = [_region_at(regions, goal) for goal in self.goals]
        goals = [goal for goal in goals if reached[goal]]
        if not goals:
            numbers[reached] = np.arange(reached.sum())
            return numbers
        far = csgraph.dijkstra(ways, indices=goals, unweighted=True, min_only=True)
        numbers[reached] = far[reached].astype(np.int64)
        return numbers


def _positions(where: BoolArray) -> list[tuple[int, int]]:
    """Column and row of each marked cell, in reading order, without the wall around it all."""
    rows, columns = np.nonzero(where)
    return list(zip((columns - 1).tolist(), (rows - 1).tolist(), strict=True))


def _region_at(regions: npt.NDArray[np.integer[Any]], position: tuple[int, int]) -> int:
    """The region at a column and row; beside it for one that stands in a doorway."""
    column, row = int(position[0]) + 1, int(position[1]) + 1  # past the wall around it all
    near = [regions[row, column], *(regions[row + r, column + c] for r, c in _SIDES)]
    return int(next((region for region in near if region), 0))


def _gaps(closed: BoolArray) -> BoolArray:
    """Cells one can pass between two walls, with room to turn aside before and behind them."""
    gaps = np.zeros_like(closed)
    for walls, view in ((closed, gaps), (closed.T, gaps.T)):
        narrow = walls[:, :-2] & walls[:, 2:]  # walls to the left and to the right
        passable, wide = ~walls[:, 1:-1], ~walls[:, 1:-1] & ~narrow
        view[1:-1, 1:-1] |= (passable & narrow)[1:-1] & wide[:-2] & wide[2:]
    return gaps
