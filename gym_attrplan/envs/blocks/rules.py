"""The rules of the block environment in numpy: states, moves, attributes, random starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidEnvironment, did_you_mean

COLORS = ("red", "green", "blue", "yellow", "purple", "white")
"""Colours of blocks, and their names."""

RELATIONS = ("left_of", "in_front_of", "on")

SIDE = 0.04
"""Side of a block, in metres."""

PITCH = 0.09
"""Distance between the centres of neighbouring cells, in metres."""

MAX_SHIFT = 0.008
"""Maximum distance of a dropped block from its cell's centre, in metres."""

MAX_TURN = np.radians(15)
"""Maximum turn of a dropped block, in radians."""

_MAX_TABLE = 1_000_000
"""Maximum number of (state, action) pairs in a table; with more, moves are computed each time."""

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.floating[Any]]
Attributes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class BlocksRules:
    """Rules for coloured blocks on a square grid of cells, in stacks of any height.

    Cells are numbered in reading order of an image: row by row, the farthest row first, each from
    left to right. A block's height is the number of blocks below it. A state's number encodes
    the cells and heights of all blocks. Every method takes whole batches of states.

    Args:
        n_blocks: Number of blocks, 2 to 6.
        grid: Number of cells along a side, 2 to 6.
        colors: Colours to use, the first ``n_blocks`` of them.

    Raises:
        InvalidEnvironment: On a number out of range, or a colour that is unknown or given twice.

    Example:
        >>> rules = BlocksRules()
        >>> rules.n_states, rules.n_actions, len(rules.attributes)
        (11880, 36, 36)
        >>> start = rules.encode([[0, 2, 6, 8]], [[0, 0, 0, 0]])
        >>> after = rules.move(start, rules.action("red", 2))
        >>> cells, heights = rules.decode(after)
        >>> cells.tolist(), heights.tolist()
        ([[2, 2, 6, 8]], [[1, 0, 0, 0]])
        >>> rules.attributes[24], rules.evaluate(after)[0, 24]
        ('on(red, green)', np.int8(1))
    """

    n_blocks: int = 4
    grid: int = 3
    colors: Sequence[str] = COLORS

    def __post_init__(self) -> None:
        for name, most in (("n_blocks", len(COLORS)), ("grid", 6)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or not 2 <= value <= most:
                raise InvalidEnvironment(f"{name} must be 2 to {most}; received {value!r}.")
        given = tuple(self.colors) if not isinstance(self.colors, str) else (self.colors,)
        for color in given:
            if color not in COLORS:
                raise InvalidEnvironment(
                    f"no color named {color!r}. {did_you_mean(str(color), COLORS)}"
                )
        if len(set(given)) != len(given) or len(given) < self.n_blocks:
            raise InvalidEnvironment(
                f"{self.n_blocks} blocks need as many different colors; received {given}."
            )
        object.__setattr__(self, "colors", given[: self.n_blocks])

    # --- sizes and names --------------------------------------------------------------------

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.grid**2

    @property
    def n_actions(self) -> int:
        """Number of actions, one for each block and cell."""
        return self.n_blocks * self.n_cells

    @property
    def n_states(self) -> int:
        """Number of states: block i can be at the bottom of any cell or on one of i others."""
        return math.prod(range(self.n_cells, self.n_cells + self.n_blocks))

    @cached_property
    def pairs(self) -> IntArray:
        """``(n_pairs, 2)`` the ordered pairs of blocks, in the order of the attributes."""
        return np.array(list(permutations(range(self.n_blocks), 2)))

    @property
    def attributes(self) -> list[str]:
        """Names of the binary attributes: each relation of each ordered pair of blocks."""
        pairs = list(permutations(self.colors, 2))
        return [f"{relation}({a}, {b})" for relation in RELATIONS for a, b in pairs]

    def action(self, color: str, cell: int) -> int:
        """Return the number of the action that puts a block onto a cell.

        Raises:
            InvalidEnvironment: If no block has that colour, or if there is no such cell.
        """
        if color not in self.colors or not 0 <= cell < self.n_cells:
            raise InvalidEnvironment(
                f"blocks are {self.colors} and cells 0 to {self.n_cells - 1}; "
                f"received {color!r}, {cell!r}."
            )
        return self.colors.index(color) * self.n_cells + cell

    # --- states -----------------------------------------------------------------------------

    def encode(self, cells: npt.ArrayLike, heights: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Encode ``(n, n_blocks)`` cells and heights as ``(n,)`` state numbers.

        Block i's digit is the support it finds when the blocks before it are in place: one of them,
        or the bottom of a cell.
        """
        cells, heights = np.asarray(cells), np.asarray(heights)
        states, weight = np.zeros(len(cells), np.int64), 1
        for i in range(self.n_blocks):
            digits = cells[:, i]
            nearest = np.full(len(cells), -1)
            for j in range(i):
                nearer = (cells[:, j] == cells[:, i]) & (heights[:, j] < heights[:, i])
                nearer &= heights[:, j] > nearest
                nearest = np.where(nearer, heights[:, j], nearest)
                digits = np.where(nearer, self.n_cells + j, digits)
            states += weight * digits
            weight *= self.n_cells + i
        return states

    def decode(self, states: IntArray) -> tuple[IntArray, IntArray]:
        """Decode ``(n,)`` state numbers to ``(n, n_blocks)`` cells and heights."""
        rest = states.astype(np.int64)
        rows = np.arange(len(rest))
        cells = np.zeros((len(rest), self.n_blocks), np.int64)
        heights = np.zeros_like(cells)
        for i in range(self.n_blocks):
            rest, digits = np.divmod(rest, self.n_cells + i)
            stacked = digits >= self.n_cells
            below = np.where(stacked, digits - self.n_cells, 0)
            cells[:, i] = np.where(stacked, cells[rows, below], digits)
            heights[:, i] = np.where(stacked, heights[rows, below] + 1, 0)
            above = heights[:, :i] >= heights[:, i, None]
            heights[:, :i] += (cells[:, :i] == cells[:, i, None]) & above
        return cells, heights

    def check_states(self, states: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
        """Return given state numbers as ``(n,)`` int64, after checking them.

        Raises:
            InvalidEnvironment: If there are not n of them, or if one is not a state's number.
        """
        array = np.asarray(states)
        whole = array.dtype.kind in "iu" and array.shape == (n,)
        if not whole or array.min(initial=0) < 0 or array.max(initial=0) >= self.n_states:
            raise InvalidEnvironment(
                f"needed: {n} states, whole numbers from 0 to {self.n_states - 1}; received "
                f"{states!r}. BlocksRules.encode gives the numbers."
            )
        return array.astype(np.int64)

    def move(self, states: IntArray, actions: IntArray | int) -> npt.NDArray[np.int64]:
        """Return ``(n,)`` states after ``(n,)`` actions, ``block * n_cells + cell`` each.

        A block with another one on it does not move.
        """
        if self._has_tables:
            moved: npt.NDArray[np.int64] = _tables(self)[0][states, actions]
            return moved
        return self._move(states, np.asarray(actions))

    def random_starts(self, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return ``(n,)`` states of blocks dropped in random order on random cells."""
        cells = rng.integers(self.n_cells, size=(n, self.n_blocks))
        turns = rng.random((n, self.n_blocks))
        heights = np.zeros_like(cells)
        for a, b in self.pairs.tolist():
            heights[:, a] += (cells[:, a] == cells[:, b]) & (turns[:, b] < turns[:, a])
        return self.encode(cells, heights)

    # --- attributes -------------------------------------------------------------------------

    def evaluate(self, states: IntArray) -> Attributes:
        """Return ``(n, n_attributes)`` attributes of states."""
        if self._has_tables:
            values: Attributes = _tables(self)[1][states]
            return values
        return self._evaluate(states)

    def read(self, positions: npt.ArrayLike) -> Attributes:
        """Return ``(n, n_attributes)`` attributes of blocks at ``(n, n_blocks, 3)`` positions.

        A block is left of or in front of another if their centres are more than half a pitch apart
        in that direction. It is on another if its horizontal distance is less than a side, and it
        is higher by a side, plus or minus half a side.
        """
        places = np.moveaxis(np.asarray(positions), -1, 0)
        dx, dy, dz = places[..., self.pairs[:, 0]] - places[..., self.pairs[:, 1]]
        above = (np.abs(dx) < SIDE) & (np.abs(dy) < SIDE) & (np.abs(dz - SIDE) < SIDE / 2)
        relations = (dx < -PITCH / 2, dy < -PITCH / 2, above)
        return np.concatenate(relations, axis=-1).astype(np.int8)

    # --- places -----------------------------------------------------------------------------

    def centers(self, cells: npt.ArrayLike, heights: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return ``(..., 3)`` centres of resting blocks, in metres.

        The origin is the middle of the table's top; x points to the right, y away from the camera
        and z up.
        """
        rows, columns = np.divmod(np.asarray(cells), self.grid)
        middle = (self.grid - 1) / 2
        z = (np.asarray(heights) + 0.5) * SIDE
        return np.stack([(columns - middle) * PITCH, (middle - rows) * PITCH, z], axis=-1)

    def locate(self, positions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return ``(n,)`` states of blocks that rest at ``(n, n_blocks, 3)`` positions."""
        x, y, z = np.moveaxis(np.asarray(positions), -1, 0)
        middle, last = (self.grid - 1) / 2, self.grid - 1
        columns = np.clip(np.rint(x / PITCH + middle), 0, last).astype(np.int64)
        rows = np.clip(np.rint(middle - y / PITCH), 0, last).astype(np.int64)
        return self.encode(rows * self.grid + columns, np.rint(z / SIDE - 0.5).astype(np.int64))

    # --- helpers ----------------------------------------------------------------------------

    @property
    def _has_tables(self) -> bool:
        return self.n_states * self.n_actions <= _MAX_TABLE

    def _move(self, states: IntArray, actions: IntArray) -> npt.NDArray[np.int64]:
        states, actions = np.broadcast_arrays(states, actions)
        cells, heights = self.decode(states)
        blocks, targets = np.divmod(actions, self.n_cells)
        rows = np.arange(len(states))
        mine, height = cells[rows, blocks], heights[rows, blocks]
        covered = ((cells == mine[:, None]) & (heights > height[:, None])).any(axis=1)
        others = np.arange(self.n_blocks) != blocks[:, None]
        stack = ((cells == targets[:, None]) & others).sum(axis=1)
        cells[rows, blocks] = np.where(covered, mine, targets)
        heights[rows, blocks] = np.where(covered, height, stack)
        return self.encode(cells, heights)

    def _evaluate(self, states: IntArray) -> Attributes:
        cells, heights = self.decode(states)
        (a, b), (rows, columns) = self.pairs.T, np.divmod(cells, self.grid)
        above = (cells[:, a] == cells[:, b]) & (heights[:, a] == heights[:, b] + 1)
        relations = (columns[:, a] < columns[:, b], rows[:, a] > rows[:, b], above)
        return np.concatenate(relations, axis=1).astype(np.int8)


@lru_cache(maxsize=8)
def _tables(rules: BlocksRules) -> tuple[npt.NDArray[np.int64], Attributes]:
    """``(n_states, n_actions)`` next states and ``(n_states, n_attributes)`` attributes."""
    every = np.arange(rules.n_states)
    states = np.repeat(every, rules.n_actions)
    actions = np.tile(np.arange(rules.n_actions), rules.n_states)
    moved = rules._move(states, actions).reshape(rules.n_states, rules.n_actions)
    return moved, rules._evaluate(every)


def draw_jitter(
    shape: tuple[int, ...], jitter: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Draw ``(*shape, 3)`` offsets of drops along x and y (metres), and turns (radians).

    With ``jitter=1`` a drop is up to 8 mm off, in any direction, and turned by up to 15 degrees.
    Every stack still stands, as no block's centre is then near the edge of the one below.
    """
    shifts = MAX_SHIFT * np.sqrt(rng.random(shape))
    ways = rng.uniform(-np.pi, np.pi, shape)
    turns = rng.uniform(-MAX_TURN, MAX_TURN, shape)
    return jitter * np.stack([shifts * np.cos(ways), shifts * np.sin(ways), turns], axis=-1)
