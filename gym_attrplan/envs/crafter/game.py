"""Game: Crafter's own environment, whose images are drawn only if they are observed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import crafter
import numpy as np
import numpy.typing as npt
from crafter import constants, engine

ACTIONS: tuple[str, ...] = tuple(constants.actions)
ACHIEVEMENTS: tuple[str, ...] = tuple(constants.achievements)
ITEMS: tuple[str, ...] = tuple(constants.items)
MATERIALS: tuple[str, ...] = ("unknown", *constants.materials)

_PLAYER = 1  # the number of the first object that Crafter adds to a map
_FAR = 18  # distance from which on Crafter leaves objects alone: twice the side of the view
_CHUNK = (12, 12)  # Crafter balances the number of creatures in areas of this size
_VISIBLE = (9, 7)  # columns and rows of the image that show the map

Image = npt.NDArray[np.uint8]


class InOrder(dict[Any, None]):
    """Set of objects in the order in which they were added."""

    def add(self, thing: Any) -> None:
        """Add an object."""
        self[thing] = None

    def remove(self, thing: Any) -> None:
        """Remove an object."""
        del self[thing]


class NearWorld(engine.World):  # type: ignore[misc]  # published without type information
    """Crafter's map, reproducible, which lists only the objects near the player.

    Crafter updates and draws no others, but computes the distance of each in every step. It draws
    the creatures to remove from sets, whose order depends on memory addresses.
    """

    def reset(self, seed: int | None = None) -> None:
        """Begin an empty map."""
        super().reset(seed)
        self._chunks: defaultdict[Any, InOrder] = defaultdict(InOrder)

    @property
    def objects(self) -> list[Any]:
        """Objects at most 18 rows and columns from the player, in Crafter's order."""
        x, y = self._objects[_PLAYER].pos.tolist()
        near = self._obj_map[max(x - _FAR, 0) : x + _FAR + 1, max(y - _FAR, 0) : y + _FAR + 1]
        return [self._objects[i] for i in np.sort(near[near > 0]).tolist()]


class Game(crafter.Env):  # type: ignore[misc]  # published without type information
    """Crafter's game: its rules, its random numbers and, if wanted, its images.

    Args:
        draws: Whether every step draws the image. Drawing takes most of a step's time, and at night
            it draws random numbers, so games that draw differ from games that do not.
    """

    def __init__(self, *, draws: bool) -> None:
        super().__init__(length=None, seed=0)
        self._draws = draws
        self._sem_view = _no_map
        world = NearWorld(self._area, constants.materials, _CHUNK)
        self._world: Any = world
        self._local_view: Any = engine.LocalView(world, self._textures, _VISIBLE)

    def begin(self, seed: int, episode: int) -> Image | None:
        """Begin the episode of this number of ``crafter.Env(seed=seed)``, counted from 0."""
        self._seed, self._episode = seed, episode
        image: Image | None = self.reset()
        return image

    @property
    def world(self) -> Any:
        """Crafter's map of materials and objects."""
        return self._world

    @property
    def player(self) -> Any:
        """Crafter's player."""
        return self._player

    def draw(self, side: int) -> Image:
        """Return an image of ``side`` × ``side`` pixels; the game goes on as if never drawn."""
        random = self._world.random
        before = random.get_state()
        image: Image = self.render((side, side))
        random.set_state(before)
        return image

    def _obs(self) -> Image | None:
        return self.render() if self._draws else None


def _no_map() -> None:
    """Replace Crafter's map of everything, which costs time and which no observation shows."""
