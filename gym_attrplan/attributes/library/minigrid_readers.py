"""Readers of MiniGrid's attributes, with one rule for single environments and batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.library.floor_plan import FloorPlan

Array = npt.NDArray[Any]

OTHER_KEY = "other key"
"""Name of a carried key that fits no locked door."""


class Scene:
    """Parts of one environment that stay in place during an episode, computed once.

    Args:
        env: MiniGrid's environment.
        from_lock: Whether rooms without a goal square are numbered from the one behind the only
            locked door.

    Attributes:
        grid: Its grid.
        plan: Its rooms.
        rooms: The number of the room, by row and column; of a doorway, the higher one.
        before: The same with the lower one.
        doors: Its doors, in reading order.
    """

    def __init__(self, env: Any, *, from_lock: bool = False) -> None:
        self.grid = grid = env.grid
        kinds = np.array(["" if cell is None else cell.type for cell in grid.grid])
        locked = np.array([getattr(cell, "is_locked", False) for cell in grid.grid])
        shape = grid.height, grid.width
        lock = only_place(locked.reshape(shape)) if from_lock else None
        self.plan = FloorPlan(kinds.reshape(shape), env.agent_pos, lock)
        self.rooms: list[list[int]] = self.plan.rooms.tolist()
        self.before: list[list[int]] = self.plan.before.tolist()
        self.doors = [grid.get(*position) for position in self.plan.doors]


def only_place(where: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return column and row of the only marked cell; None if there are none or several."""
    rows, columns = np.nonzero(where)
    return (int(columns[0]), int(rows[0])) if len(rows) == 1 else None


class Batch(Protocol):
    """Protocol of a batch for readers; things are numbers of its catalogue."""

    carried: Array
    """``(n,)`` the thing that each agent carries."""
    front: Array
    """``(n,)`` the thing ahead of each agent."""
    beyond: Array
    """``(n, 3)`` the things beside the cell ahead: beyond it, to its right and to its left."""
    below: Array
    """``(n,)`` the thing in each agent's cell."""
    doors: Array
    """``(n, k)`` the doors, in reading order; other things if there are fewer."""
    rooms: Array
    """``(n,)`` the number of each agent's room."""

    def ask(self, question: Callable[[Any], int]) -> Array:
        """Return a function's value for every thing of the catalogue; None is nothing."""


class Reader(Protocol):
    """Protocol of the reader of an attribute, from MiniGrid's objects or from a batch of arrays."""

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in all environments of a batch."""


class Look(ABC):
    """Base class of readers whose value is the look of a thing, as a number.

    Args:
        names: A name for each value; the first is for nothing.
    """

    is_local = True
    """Whether only the things in the agent's room matter."""

    def __init__(self, names: Sequence[str]) -> None:
        self._values = {name: value for value, name in enumerate(names)}

    @abstractmethod
    def value(self, thing: Any) -> int:
        """Return the value if this is the thing; None is nothing."""


class ThingAt(Look):
    """Name of a thing in one place, as a number; 0 for nothing and for things without a name.

    Args:
        place: ``"carried"``, ``"front"`` or ``"below"``.
        names: A name for each value.
        colored: Kinds of things whose names begin with their colour.
    """

    def __init__(self, place: str, names: Sequence[str], colored: frozenset[str]) -> None:
        super().__init__(names)
        self._place = place
        self._colored = colored
        self.is_local = place != "below"

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        if self._place == "carried":
            return self.value(env.carrying)
        place = env.front_pos if self._place == "front" else env.agent_pos
        return self.value(scene.grid.get(*place))

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        values: Array = batch.ask(self.value)[getattr(batch, self._place)]
        return values

    def value(self, thing: Any) -> int:
        """Return the value if this thing is in the place."""
        if thing is None:
            return 0
        kind = thing.type
        return self._values.get(f"{thing.color} {kind}" if kind in self._colored else kind, 0)


class Carried(ThingAt):
    """Name of the carried thing, as a number; a key that fits no locked door is the ``OTHER_KEY``.

    Args:
        names: A name for each value.
        colored: Kinds of things whose names begin with their colour.
    """

    def __init__(self, names: Sequence[str], colored: frozenset[str]) -> None:
        super().__init__("carried", names, colored)
        self._key, self._other_key = (names.index(name) for name in ("key", OTHER_KEY))

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        value = super().one(env, scene)
        fits = value == self._key and _color(env.carrying) in map(_lock, scene.doors)
        return self._other_key if value == self._key and not fits else value

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        values = super().many(batch)
        locks = batch.ask(_lock)[batch.doors]
        fits = (locks == batch.ask(_color)[batch.carried][:, None]).any(axis=1)
        return np.where((values == self._key) & ~fits, self._other_key, values)


def _color(thing: Any) -> int:
    """Return the number of a thing's colour, -1 for nothing."""
    from minigrid.core.constants import COLOR_TO_IDX

    return -1 if thing is None else int(COLOR_TO_IDX[thing.color])


def _lock(thing: Any) -> int:
    """Return the number of the colour of a locked door, -1 for other things."""
    return _color(thing) if getattr(thing, "is_locked", False) else -1


class DoorState:
    """State of the first door of a colour: locked, closed or open; without a door, open.

    Args:
        color: None for any.
        n_states: 3, or 2 if doors are never locked.
    """

    def __init__(self, color: str | None, n_states: int) -> None:
        self._color, self._n_states = color, n_states

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        return self._value(next(filter(self._is_meant, scene.doors), None))

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
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
        most: Maximum number that is counted.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        return min(self._most, sum(map(self._is_locked, scene.doors)))

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        locked: Array = batch.ask(self._is_locked)[batch.doors].sum(axis=1)
        return np.minimum(self._most, locked)

    def _is_locked(self, thing: Any) -> bool:
        return bool(getattr(thing, "is_locked", False))


class Room:
    """Number of the agent's room.

    Args:
        n_rooms: Number of rooms; higher numbers count as the last.
    """

    def __init__(self, n_rooms: int) -> None:
        self._last = n_rooms - 1

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        column, row = env.agent_pos
        number: int = scene.rooms[row][column]
        return min(self._last, number)

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        return np.minimum(self._last, batch.rooms)
