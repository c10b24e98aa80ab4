"""GridAttributes: attributes of one environment, read from MiniGrid's grid."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.library.minigrid_readers import Look, Reader, Scene
from gym_attrplan.attributes.space import AttributeSpace

Named = dict[str, tuple[int | list[str], Reader]]


class GridAttributes:
    """Base class of attribute functions that read MiniGrid's objects.

    Args:
        table: The attributes: their values, and what reads them.
        scene: The parts of an episode that stay in place.
        from_lock: As for :class:`~gym_attrplan.attributes.library.minigrid_readers.Scene`.
        changing: Whether each episode has other things, so that only some values are possible.
    """

    def __init__(self, table: Named, scene: Scene, *, from_lock: bool, changing: bool) -> None:
        self.attribute_space = AttributeSpace({name: size for name, (size, _) in table.items()})
        self.readers = [reader for _, reader in table.values()]
        self.from_lock = from_lock
        self._scene = scene
        if changing:
            self.possible = self._possible

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """Return the current values of all attributes."""
        raw, scene = env.unwrapped, self._scene_of(env)
        return [reader.one(raw, scene) for reader in self.readers]

    def _possible(self, env: Any, /) -> npt.NDArray[np.bool_]:
        """Return ``(n_attributes, n_values)`` the values that the things in the room allow."""
        raw, scene = env.unwrapped, self._scene_of(env)
        (column, row), width = raw.agent_pos, raw.grid.width
        here = scene.rooms[row][column]
        around, elsewhere = [None, raw.carrying], [None]
        for i, thing in enumerate(raw.grid.grid):
            if thing is not None and thing.type != "wall":
                y, x = divmod(i, width)
                is_near = here in (scene.rooms[y][x], scene.before[y][x])
                states = [state for one in things_in([thing]) for state in _states(one)]
                (around if is_near else elsewhere).extend([thing, *states])
        possible = np.ones((len(self.readers), int(self.attribute_space.sizes.max())), np.bool_)
        for i, reader in enumerate(self.readers):
            if isinstance(reader, Look):
                things = around if reader.is_local else around + elsewhere
                possible[i] = False
                possible[i, [reader.value(thing) for thing in things]] = True
        return possible

    def _scene_of(self, env: Any) -> Scene:
        """Return the scene; walls and doors keep their places in an episode."""
        raw = env.unwrapped
        if self._scene.grid is not raw.grid:
            self._scene = Scene(raw, from_lock=self.from_lock)
        return self._scene


def things_in(cells: Iterable[Any]) -> list[Any]:
    """Return the things that the agent can act on, in the open or in a box."""
    things = []
    for cell in cells:
        while cell is not None:
            if cell.can_pickup() or cell.type == "door":
                things.append(cell)
            cell = cell.contains
    return things


def _states(thing: Any) -> list[Any]:
    """Return a thing, and a door also as it is when it was toggled."""
    if thing.type != "door":
        return [thing]
    other = copy.copy(thing)
    other.is_open, other.is_locked = not thing.is_open, False
    return [copy.copy(thing), other]
