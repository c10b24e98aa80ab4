"""Layout: generation of random solvable rooms, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidEnvironment

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MIN_SIZE = 4
"""Minimum side of a room: a surrounding wall and 2 × 2 cells."""

_N_AHEAD = 256
"""Number of rooms that a pool generates at a time, so that each costs microseconds."""

_PROBES = 200
"""Number of rooms drawn to check whether a layout has solvable ones."""


@dataclass(frozen=True, eq=False)
class Rooms:
    """Rooms at the start of an episode.

    A cell's number is ``row * size + column``, including the surrounding wall.

    Attributes:
        agents: ``(n,)`` cells.
        objects: ``(n, n_objects)`` cells.
        walls: ``(n, n_walls)`` cells of the obstacles, ascending.
        states: ``(n, n_objects)`` the initial attributes: each switch's colour, or whether each
            item is in the inventory.
    """

    agents: IntArray
    objects: IntArray
    walls: IntArray
    states: IntArray

    def __len__(self) -> int:
        return len(self.agents)

    def __getitem__(self, rows: Any) -> Rooms:
        """Return the chosen rooms; one number gives a batch of one."""
        chosen = np.atleast_1d(rows)
        return Rooms(*(part[chosen] for part in self._parts()))

    def put(self, rows: BoolArray, others: Rooms) -> None:
        """Replace the marked rooms by others, in place."""
        for part, other in zip(self._parts(), others._parts(), strict=True):
            part[rows] = other

    @classmethod
    def stack(cls, rooms: Sequence[Rooms]) -> Rooms:
        """Join the rooms of several batches to one batch."""
        parts = zip(*(one._parts() for one in rooms), strict=True)
        return cls(*(np.concatenate(part) for part in parts))

    def _parts(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        return self.agents, self.objects, self.walls, self.states


@dataclass(frozen=True)
class Layout:
    """Contents of a room, and the generator of random rooms.

    Args:
        size: Side of the square room, including its surrounding wall.
        n_objects: Number of objects, each in a cell of its own.
        n_walls: Number of obstacles.
        n_states: Number of states of each object, drawn at random.

    Raises:
        InvalidEnvironment: If the room is too small for its contents, or too full to be solvable.

    Example:
        >>> rooms = Layout(size=8, n_objects=4, n_walls=4).generate(1000, np.random.default_rng(0))
        >>> rooms.objects.shape
        (1000, 4)
    """

    size: int
    n_objects: int
    n_walls: int
    n_states: int = 1

    def __post_init__(self) -> None:
        if self.size < MIN_SIZE:
            raise InvalidEnvironment(
                f"size counts the surrounding wall and must be at least {MIN_SIZE}; "
                f"received {self.size}."
            )
        if self.n_walls < 0:
            raise InvalidEnvironment(f"n_walls must be at least 0; received {self.n_walls}.")
        n_free = (self.size - 2) ** 2
        if self._n_placed > n_free:
            raise InvalidEnvironment(
                f"size={self.size} leaves {n_free} cells inside the wall, too few for the agent, "
                f"{self.n_objects} objects and {self.n_walls} obstacles. Raise size, or lower the "
                "number of objects or n_walls."
            )
        cells = self._draw_cells(_PROBES, np.random.default_rng(0))
        if not self._solvable(cells).any():
            raise InvalidEnvironment(
                f"{self.n_walls} obstacles cut a room of size={self.size} apart: none of {_PROBES} "
                "rooms drawn was solvable. Raise size or lower n_walls."
            )

    def check(self, rooms: Rooms, n: int) -> None:
        """Check that given rooms fit this layout.

        Raises:
            InvalidEnvironment: If there are not n of them, or if their contents differ.
        """
        held = rooms.objects.shape[1:] + rooms.walls.shape[1:]
        if len(rooms) != n or held != (self.n_objects, self.n_walls):
            raise InvalidEnvironment(
                f"needed: {n} rooms with {self.n_objects} objects and {self.n_walls} obstacles; "
                f"received {len(rooms)} with {held[0]} and {held[1]}."
            )

    def generate(self, n: int, rng: np.random.Generator) -> Rooms:
        """Generate random rooms in which the agent can walk to every object."""
        cells = self._draw_cells(n, rng)
        # Some rooms of the layout are solvable, so this ends: each round leaves fewer to redraw.
        while len(cut_off := np.flatnonzero(~self._solvable(cells))):
            cells[cut_off] = self._draw_cells(len(cut_off), rng)
        states = rng.integers(self.n_states, size=(n, self.n_objects))
        objects, walls = np.split(cells[:, 1:], [self.n_objects], axis=1)
        return Rooms(cells[:, 0].copy(), objects.copy(), np.sort(walls, axis=1), states)

    @property
    def _n_placed(self) -> int:
        return 1 + self.n_objects + self.n_walls

    def _draw_cells(self, n: int, rng: np.random.Generator) -> IntArray:
        """Draw ``(n, 1 + n_objects + n_walls)`` different cells per row: agent, objects, walls."""
        rows, columns = np.divmod(np.arange((self.size - 2) ** 2), self.size - 2)
        inside = (rows + 1) * self.size + columns + 1
        return rng.permuted(np.tile(inside, (n, 1)), axis=1)[:, : self._n_placed]

    def _solvable(self, cells: IntArray) -> BoolArray:
        """Return whether the agent can walk to every object; objects do not block the way."""
        agents, objects, walls = np.split(cells, [1, 1 + self.n_objects], axis=1)
        reached = self._walk(agents, self.wall_map(walls))
        solvable: BoolArray = np.asarray(np.take_along_axis(reached, objects, axis=1).all(axis=1))
        return solvable

    def wall_map(self, walls: IntArray) -> BoolArray:
        """Return ``(n, size * size)`` whether each cell is wall, including the surrounding wall."""
        surrounding = np.ones((self.size, self.size), np.bool_)
        surrounding[1:-1, 1:-1] = False
        walled = np.tile(surrounding.ravel(), (len(walls), 1))
        np.put_along_axis(walled, walls, True, axis=1)
        return walled

    def _walk(self, starts: IntArray, walled: BoolArray) -> BoolArray:
        """Return the reachable cells, by spreading to neighbours until nothing is added."""
        reached = np.zeros_like(walled)
        np.put_along_axis(reached, starts, True, axis=1)
        free, n_reached = ~walled, 0
        while n_reached != (n_reached := int(reached.sum())):
            # The surrounding wall is closed, so a step in cell numbers never wraps around a row.
            for step in (1, self.size):
                reached[:, step:] |= reached[:, :-step] & free[:, step:]
                reached[:, :-step] |= reached[:, step:] & free[:, :-step]
        return reached


class RoomPool:
    """Random rooms, generated many at a time and returned a few at a time.

    Args:
        layout: The layout of the rooms.
        rng: Generator of the rooms.
    """

    def __init__(self, layout: Layout, rng: np.random.Generator) -> None:
        self._layout = layout
        self._rng = rng
        self._ahead = layout.generate(0, rng)

    def take(self, n: int) -> Rooms:
        """Return the next n rooms, each only once."""
        if n > len(self._ahead):
            fresh = self._layout.generate(max(n, _N_AHEAD), self._rng)
            self._ahead = Rooms.stack([self._ahead, fresh])
        taken = self._ahead[np.arange(n)]
        self._ahead = self._ahead[np.arange(n, len(self._ahead))]
        return taken
