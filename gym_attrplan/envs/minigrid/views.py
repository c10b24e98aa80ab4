"""Views: the agents' images, of the cells ahead of them or of the whole grid.

Visibility follows MiniGrid's ``process_vis``.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.minigrid.geometry import Geometry
from gym_attrplan.envs.minigrid.things import BoolArray, Numbers, Things
from gym_attrplan.error import InvalidEnvironment

Images = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]

_MAX_SIZE = 63
"""Maximum side of a view whose rows fit into an integer, a bit for each column."""

_MAX_TABLED = 9
"""Maximum side of a view whose rows have a table, of 4 to the power of the side entries."""

_AGENT, _RED = 10, 0
"""Type and colour of the agent in MiniGrid's view of the whole grid."""


class State(Protocol):
    """Protocol of the parts of a batch that a view shows."""

    cells: Numbers
    agents: IntArray
    directions: IntArray
    carried: Numbers

    @property
    def things(self) -> Things:
        """The catalogue of the numbers in ``cells`` and ``carried``."""


class View(Protocol):
    """Protocol of a view, which draws the images of a batch."""

    shape: tuple[int, int, int]

    def draw(self, state: State, rows: IntArray) -> Images:
        """Return ``(len(rows), *shape)`` type, colour and state of each cell, column first."""


class FullView:
    """View of the whole grid, as in MiniGrid's ``FullyObsWrapper``.

    Args:
        geometry: The numbers of the cells.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.shape = (geometry.width, geometry.height, 3)

    def draw(self, state: State, rows: IntArray) -> Images:
        """Return the images of these rows."""
        numbers = self._geometry.inner(state.cells[rows]).swapaxes(1, 2)
        images = state.things.tables.looks.take(numbers, axis=0)
        row, column = np.divmod(state.agents[rows], self._geometry.stride)
        agents = np.full((len(rows), 3), (_AGENT, _RED, 0), np.uint8)
        agents[:, 2] = state.directions[rows]
        edge = self._geometry.margin
        images[np.arange(len(rows)), column - edge, row - edge] = agents
        return images


class PartialView:
    """View of the square of cells ahead of an agent, which looks up from the bottom's middle.

    Args:
        geometry: The numbers of the cells.
        size: Side of the square.
        through_walls: Whether everything can be seen through.

    Raises:
        InvalidEnvironment: If the square is too large.
    """

    def __init__(self, geometry: Geometry, *, size: int, through_walls: bool) -> None:
        if size > _MAX_SIZE:
            raise InvalidEnvironment(
                f"agent_view_size is at most {_MAX_SIZE} in a batch; received {size}."
            )
        self.shape = (size, size, 3)
        self._area = geometry.area
        self._through_walls = through_walls
        forward: IntArray = np.array(geometry.steps)
        rightward: IntArray = np.roll(forward, -1)
        ahead = size - 1 - np.arange(size)
        aside = np.arange(size) - size // 2
        # (direction, column, row), as MiniGrid's images are indexed
        offsets: IntArray = (
            forward[:, None, None] * ahead + rightward[:, None, None] * aside[:, None]
        )
        self._offsets = offsets.reshape(4, -1)

    def draw(self, state: State, rows: IntArray) -> Images:
        """Return the images of these rows."""
        tables, size = state.things.tables, self.shape[0]
        places = rows * self._area + state.agents[rows]
        square = self._offsets.take(state.directions[rows], axis=0) + places[:, None]
        seen = state.cells.reshape(-1).take(square).reshape(-1, size, size)
        if not self._through_walls:
            seen *= _in_sight(tables.clear[seen])  # UNSEEN is 0
        seen[:, size // 2, size - 1] = state.carried[rows]  # MiniGrid shows it in the agent's cell
        return tables.looks.take(seen, axis=0)


def _in_sight(clear: BoolArray) -> BoolArray:
    """Return ``(n, size, size)`` visible cells, given those that can be seen through."""
    size = clear.shape[2]
    packed = np.packbits(clear, axis=1, bitorder="little")  # a bit for each column
    shifts = range(0, 8 * packed.shape[1], 8)
    rows = np.zeros((len(packed), size), np.uint64)
    for byte, shift in enumerate(shifts):
        rows |= packed[:, byte].astype(np.uint64) << shift
    seen = np.zeros_like(rows)
    light = np.full(len(rows), 1 << (size // 2), np.uint64)
    for row in reversed(range(size)):
        seen[:, row], light = _see_row(light, rows[:, row], size)
    as_bytes = np.stack([(seen >> shift) & 255 for shift in shifts], axis=1).astype(np.uint8)
    visible = np.unpackbits(as_bytes, axis=1, count=size, bitorder="little")
    return visible.view(np.bool_)


def _see_row(light: Bits, clear: Bits, size: int) -> tuple[Bits, Bits]:
    """Return the visible cells of a row, and those of the next row visible from it, as bits.

    Args:
        light: Cells of this row that the row before makes visible.
        clear: Cells that can be seen through.
        size: Number of columns.
    """
    if size > _MAX_TABLED:
        return _spread_in_row(light, clear, size)
    seen, onward = _row_tables(size)
    index = ((light << size) | clear).astype(np.int64)
    return seen.take(index), onward.take(index)


@cache
def _row_tables(size: int) -> tuple[Bits, Bits]:
    every = np.arange(1 << size, dtype=np.uint64)
    light, clear = np.repeat(every, 1 << size), np.tile(every, 1 << size)
    return _spread_in_row(light, clear, size)


def _spread_in_row(light: Bits, clear: Bits, size: int) -> tuple[Bits, Bits]:
    """Do MiniGrid's two sweeps: right, then left, each also lighting the next row."""
    every = np.uint64((1 << size) - 1)
    to_right = light.copy()
    for _ in range(size - 1):
        to_right |= (to_right & clear) << 1
    to_right &= every
    both = to_right.copy()
    for _ in range(size - 1):
        both |= (both & clear) >> 1
    through = both & clear
    onward: Bits = np.bitwise_and(through | (through >> 1) | ((to_right & clear) << 1), every)
    return both, onward
