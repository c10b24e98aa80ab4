"""Readers: each attribute of MiniGrid's grids, of one environment and of a batch by one rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.library.floor_plan import FloorPlan

Array = npt.NDArray[Any]


class Scene:
    """What an episode of one environment keeps in place, found once.

    Args:
        environment: MiniGrid's environment.

    Attributes:
        grid: Its grid.
        plan: Its rooms.
        rooms: The number of the room, by row and column.
        doors: Its doors, in reading order.
    """

    def __init__(self, world: Any) -> None:
        self.grid = grid = world.grid
        kinds = np.array(["" if cell is None else cell.type for cell in grid.grid])
        self.plan = FloorPlan(kinds.reshape(grid.height, grid.width), world.agent_pos)
        self.rooms: list[list[int]] = self.plan.rooms.tolist()
        self.doors = [grid.get(*position) for position in self.plan.doors]


class Batch(Protocol):
    """What readers ask a batch for; things are numbers of its catalogue."""

    carried: Array
    """``(n,)`` what each agent holds."""
    front: Array
    """``(n,)`` what lies before it."""
    below: Array
    """``(n,)`` what lies where it stands."""
    doors: Array
    """``(n, k)`` the doors, in reading order; something else where there are fewer."""
    rooms: Array
    """``(n,)`` the number of the room where each agent is."""

    def ask(self, question: Callable[[Any], int]) -> Array:
        """A function's value for every thing of the catalogue; None stands for nothing."""


class Reader(Protocol):
    """An attribute's value, from MiniGrid's objects or from a batch of them in arrays."""

    def one(self, world: Any, scene: Scene, /) -> int:
        """The value in one environment."""

    def many(self, batch: Batch, /) -> Array:
        """``(n,)`` the values in all environments of a batch."""


class ThingAt:
    """The name of a thing in one place, as a number; 0 for nothing and for what has no name.

    Args:
        place: ``"carried"``, ``"front"`` or ``"below"``.
        names: A name for each value.
        colored: Kinds of things whose names begin with their colour.
    """

    def __init__(self, place: str, names: Sequence[str], colored: frozenset[str]) -> None:
        self._place = place
        self._values = {name: value for value, name in enumerate(names)}
        self._colored = colored

    def one(self, world: Any, scene: Scene, /) -> int:
        """The value in one environment."""
        if self._place == "carried":
            return self._value(world.carrying)
        place = world.front_pos if self._place == "front" else world.agent_pos
        return self._value(scene.grid.get(*place))

    def many(self, batch: Batch, /) -> Array:
        """``(n,)`` the values in a batch."""
        values: Array = batch.ask(self._value)[getattr(batch, self._place)]
        return values

    def _value(self, thing: Any) -> int:
        if thing is None:
            return 0
        kind = thing.type
        return self._values.get(f"{thing.color} {kind}" if kind in self._colored else kind, 0)


class DoorState:
    """Whether the first door of a colour is locked, closed or open; without one it is open.

    Args:
        color: None for any.
        n_states: 3, or 2 where doors are never locked.
    """

    def __init__(self, color: str | None, n_states: int) -> None:
        self._color, self._n_states = color, n_states

    def one(self, world: Any, scene: Scene, /) -> int:
        """The value in one environment."""
        return self._value(next(filter(self._is_meant, scene.doors), None))

    def many(self, batch: Batch, /) -> Array:
        """``(n,)`` the values in a batch."""
        doors = batch.doors
        first = batch.ask(self._is_meant)[doors].argmax(axis=1)
        values: Array = batch.ask(self._value)[doors[np.arange(len(doors)), first]]
        return values

    def _is_meant(self, thing: Any) -> bool:
        is_door = thing is not None and thing.type == "door"
        return is_door and self._color in (None, thing.color)

    def _value(self, thing: Any) -> int:
        if not self._is_meant(thing) or thing.is_open:
            return self._n_states - 1
        return max(0, self._n_states - (3 if thing.is_locked else 2))


class LockedDoors:
    """Number of locked doors.

    Args:
        most: More are not counted.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def one(self, world: Any, scene: Scene, /) -> int:
        """The value in one environment."""
        return min(self._most, sum(map(self._is_locked, scene.doors)))

    def many(self, batch: Batch, /) -> Array:
        """``(n,)`` the values in a batch."""
        locked: Array = batch.ask(self._is_locked)[batch.doors].sum(axis=1)
        return np.minimum(self._most, locked)

    def _is_locked(self, thing: Any) -> bool:
        return bool(getattr(thing, "is_locked", False))


class Room:
    """The number of the room where the agent is.

    Args:
        n_rooms: Rooms with higher numbers count as the last.
    """

    def __init__(self, n_rooms: int) -> None:
        self._last = n_rooms - 1

    def one(self, world: Any, scene: Scene, /) -> int:
        """The value in one environment."""
        column, row = world.agent_pos
        number: int = scene.rooms[row][column]
        return min(self._last, number)

    def many(self, batch: Batch, /) -> Array:
        """``(n,)`` the values in a batch."""
        return np.minimum(self._last, batch.rooms)
