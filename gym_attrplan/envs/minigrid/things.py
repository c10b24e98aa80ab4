"""Things: numbers of everything that can lie in a cell, and tables of their properties."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidEnvironment

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.uint16]

UNSEEN, EMPTY = 0, 1
"""Numbers of a cell out of sight and of an empty one, as in MiniGrid's images."""

_MODULE = "minigrid.core.world_object"
_NO_KEY, _NO_LOCK = -1, -2


@dataclass(frozen=True)
class Tables:
    """Properties of things, for the rules; each array has an entry for each number.

    Attributes:
        looks: ``(n, 3)`` type, colour and state, as in an image.
        walkable: Whether the agent can step onto it.
        light: Whether it can be picked up.
        clear: Whether it can be seen through.
        goal: Whether stepping onto it succeeds.
        lava: Whether stepping onto it ends the episode.
        target: Whether it is the target of an end rule.
        opened: Whether it is an open door.
        toggled: Its number after it is toggled.
        unlocked: Its number after it is toggled with the right key in hand.
        lock: The colour of the key that it needs.
        key: The colour of the locks that it opens.
    """

    looks: npt.NDArray[np.uint8]
    walkable: BoolArray
    light: BoolArray
    clear: BoolArray
    goal: BoolArray
    lava: BoolArray
    target: BoolArray
    opened: BoolArray
    toggled: Numbers
    unlocked: Numbers
    lock: npt.NDArray[np.int8]
    key: npt.NDArray[np.int8]


class Things:
    """Catalogue of MiniGrid's objects: those with the same behaviour have the same number.

    Boxes are distinguished by their contents, doors by their state. The results of toggling
    are in the catalogue as well, so that no step of an episode adds to it.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._objects: list[Any] = [None, None]  # unseen, empty
        self._targets = [False, False]
        self._toggled = [UNSEEN, EMPTY]
        self._unlocked = [UNSEEN, EMPTY]
        self._tables: Tables | None = None
        self._asked: dict[Callable[[Any], Any], Array] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __getitem__(self, number: int) -> Any:
        """Return a MiniGrid object with this number; None for an empty cell."""
        return self._objects[number]

    def number(self, cell: Any, target: Any = None) -> int:
        """Return the number of a cell's content; ``target`` is the target object of an end rule.

        Raises:
            InvalidEnvironment: If the object is not one of MiniGrid's own.
        """
        if cell is None:
            return EMPTY
        inside = EMPTY if cell.contains is None else self.number(cell.contains, target)
        is_target = cell is target
        door = (cell.is_open, cell.is_locked) if cell.type == "door" else ()
        key = (type(cell), cell.color, inside, is_target, *door)
        known = self._numbers.get(key)
        return self._add(key, cell, inside, is_target) if known is None else known

    @property
    def tables(self) -> Tables:
        """Return the properties of all numbers so far."""
        if self._tables is None:
            self._tables = self._make_tables()
        return self._tables

    def ask(self, question: Callable[[Any], Any]) -> Array:
        """Return ``(n,)`` a function's value for each number, cached; None is an empty cell."""
        answers = self._asked.get(question)
        if answers is None or len(answers) != len(self):
            answers = np.array([question(thing) for thing in self._objects])
            self._asked[question] = answers
        return answers

    def _add(self, key: tuple[Any, ...], cell: Any, inside: int, is_target: bool) -> int:
        if type(cell).__module__ != _MODULE:
            raise InvalidEnvironment(
                f"the batch knows the objects of {_MODULE}; received {type(cell)}. Use MiniGrid's "
                "own environment: gym.make_vec(id, vectorization_mode='sync')."
            )
        number = self._numbers[key] = len(self._objects)
        self._objects.append(copy.copy(cell))
        self._targets.append(is_target)
        self._toggled.append(inside if cell.type == "box" else number)
        self._unlocked.append(number)
        self._tables = None
        if cell.type == "door":
            self._add_states(number, cell)
        return number

    def _add_states(self, number: int, door: Any) -> None:
        """Add the other states of a door; it opens and shuts, and with a key it stays unlocked."""
        other = copy.copy(door)
        other.is_open, other.is_locked = not door.is_open, False
        if door.is_locked:
            other.is_open = True
            self._unlocked[number] = self.number(other)
        else:
            self._toggled[number] = self._unlocked[number] = self.number(other)

    def _make_tables(self) -> Tables:
        from minigrid.core.constants import COLOR_TO_IDX

        things = self._objects[2:]
        kinds = np.array(["", "", *(thing.type for thing in things)])
        colors = np.array([0, 0, *(COLOR_TO_IDX[thing.color] for thing in things)], np.int8)
        locked = np.array([False, False, *(getattr(one, "is_locked", False) for one in things)])
        opened = np.array([False, False, *(getattr(one, "is_open", False) for one in things)])
        return Tables(
            looks=np.array(
                [(UNSEEN, 0, 0), (EMPTY, 0, 0), *(one.encode() for one in things)], np.uint8
            ),
            walkable=np.array([False, True, *(one.can_overlap() for one in things)]),
            light=np.array([False, False, *(one.can_pickup() for one in things)]),
            clear=np.array([False, True, *(one.see_behind() for one in things)]),
            goal=kinds == "goal",
            lava=kinds == "lava",
            target=np.array(self._targets),
            opened=opened,
            toggled=np.array(self._toggled, np.uint16),
            unlocked=np.array(self._unlocked, np.uint16),
            lock=np.where(locked, colors, _NO_LOCK).astype(np.int8),
            key=np.where(kinds == "key", colors, _NO_KEY).astype(np.int8),
        )
