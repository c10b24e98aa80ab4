"""Readers of BabyAI's attributes, beside those of MiniGrid's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gym_attrplan.attributes.library.minigrid_readers import Array, Batch, Look, Scene, ThingAt

NOTHING = "nothing"


def look(thing: Any) -> str:
    """Return colour and type of a thing, as missions name it."""
    return f"{thing.color} {thing.type}"


class LookAt(ThingAt):
    """Look of the thing ahead or in hand, as a number; 0 for nothing and for things without a name.

    An open door is ``open red door`` if there is such a name, else ``red door``.

    Args:
        place: ``"front"`` or ``"carried"``.
        names: A name for each value.
    """

    def __init__(self, place: str, names: Sequence[str]) -> None:
        super().__init__(place, names, frozenset())

    def value(self, thing: Any) -> int:
        """Return the value if this thing is in the place."""
        if thing is None:
            return 0
        closed = self._values.get(look(thing), 0)
        is_open = getattr(thing, "is_open", False)
        return self._values.get(f"open {look(thing)}", closed) if is_open else closed


class LookBeside(Look):
    """Look of a thing beside the cell ahead, if that cell is empty and a thing can be put there.

    It is the thing beyond that cell, or else to its right, or else to its left. 0 for nothing, and
    if something is ahead.

    Args:
        names: A name for each value.
    """

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        column, row = env.front_pos
        if scene.grid.get(column, row) is not None:
            return 0
        (ahead_x, ahead_y), (right_x, right_y) = env.dir_vec, env.right_vec
        steps = (ahead_x, ahead_y), (right_x, right_y), (-right_x, -right_y)
        values = (self.value(scene.grid.get(column + x, row + y)) for x, y in steps)
        return next(filter(None, values), 0)

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        values = batch.ask(self.value)[batch.beyond]
        first = values[np.arange(len(values)), (values > 0).argmax(axis=1)]
        return np.where(batch.ask(_is_nothing)[batch.front], first, 0)

    def value(self, thing: Any) -> int:
        """Return the value if this thing lies there."""
        return 0 if thing is None else self._values.get(look(thing), 0)


def _is_nothing(thing: Any) -> bool:
    return thing is None


class LockedDoor(Look):
    """Look of the first locked door in reading order, as a number; 0 for none.

    Args:
        names: A name for each value.
    """

    is_local = False

    def one(self, env: Any, scene: Scene, /) -> int:
        """Return the value in one environment."""
        return next(filter(None, map(self.value, scene.doors)), 0)

    def many(self, batch: Batch, /) -> Array:
        """Return ``(n,)`` values in a batch."""
        values = batch.ask(self.value)[batch.doors]
        first: Array = values[np.arange(len(values)), (values > 0).argmax(axis=1)]
        return first

    def value(self, thing: Any) -> int:
        """Return the value if this is the first door that is locked."""
        return self._values.get(look(thing), 0) if getattr(thing, "is_locked", False) else 0
