"""Objects in a room and their images, drawn with MiniGrid's own renderer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from minigrid.core.grid import Grid
from minigrid.core.world_object import Wall, WorldObj

from gym_attrplan.envs.grids.drawing import (
    Image,
    Rgb,
    Shape,
    box,
    circle,
    fill,
    polygon,
    stroke,
    write,
)
from gym_attrplan.envs.grids.rules import COLORS, CraftingRules, SwitchesRules

PALETTE: dict[str, Rgb] = {
    "red": (225, 60, 50),
    "green": (70, 190, 80),
    "blue": (60, 110, 235),
    "yellow": (245, 210, 50),
    "purple": (165, 85, 215),
    "orange": (245, 145, 40),
    "cyan": (70, 210, 220),
    "white": (240, 240, 240),
}
_BROWN, _TAN, _STONE, _STEEL = (130, 82, 45), (215, 170, 105), (150, 150, 150), (165, 190, 215)
_DARK, _MADE, _SHADOW = (30, 30, 34), (90, 220, 110), (80, 52, 30)

ICONS: dict[str, list[tuple[Shape, Rgb]]] = {
    "wood": [
        (stroke((0.28, 0.5), (0.72, 0.5), 0.2), _BROWN),
        (circle((0.72, 0.5), 0.2), _TAN),
        (circle((0.72, 0.5), 0.1), _BROWN),
    ],
    "stone": [
        (circle((0.38, 0.6), 0.24), (120, 120, 125)),
        (circle((0.6, 0.52), 0.27), _STONE),
        (circle((0.66, 0.42), 0.1), (190, 190, 190)),
    ],
    "iron": [
        (box(0.2, 0.8, 0.5, 0.74), (110, 135, 165)),
        (polygon((0.3, 0.32), (0.7, 0.32), (0.8, 0.5), (0.2, 0.5)), _STEEL),
    ],
    "axe": [
        (stroke((0.3, 0.82), (0.62, 0.22), 0.055), _BROWN),
        (polygon((0.5, 0.14), (0.86, 0.3), (0.62, 0.62)), _STEEL),
    ],
    "sword": [
        (stroke((0.4, 0.6), (0.8, 0.2), 0.065), _STEEL),
        (stroke((0.3, 0.5), (0.5, 0.7), 0.05), (220, 180, 60)),
        (stroke((0.22, 0.78), (0.36, 0.64), 0.06), _BROWN),
    ],
    "plank": [
        (box(0.16, 0.84, 0.2, 0.36), _TAN),
        (box(0.16, 0.84, 0.42, 0.58), (190, 145, 85)),
        (box(0.16, 0.84, 0.64, 0.8), _TAN),
    ],
}


class RoomObject(WorldObj):
    """Object that an agent can stand on. ``number`` is its index among the room's objects.

    Args:
        number: Counted from 0.
    """

    kind: int
    """Type number beyond MiniGrid's own, since tiles are cached by type, colour and state."""

    def __init__(self, number: int) -> None:
        super().__init__("floor", "grey")  # MiniGrid's name for objects that can be walked over
        self.number = number

    def can_overlap(self) -> bool:
        """Return True: agents act on the object in their cell."""
        return True

    @property
    @abstractmethod
    def symbol(self) -> str:
        """Two letters for the text form."""


class Switch(RoomObject):
    """A plate with a lamp that shows the switch's colour.

    Args:
        number: Counted from 0.
        color: Number of its colour.
        n_colors: Number of colours.
    """

    kind = 20

    def __init__(self, number: int, color: int, n_colors: int) -> None:
        super().__init__(number)
        self.color_number = color
        self._n_colors = n_colors

    def toggle(self, env: Any, pos: tuple[int, int]) -> bool:
        """Switch to the next colour."""
        self.color_number = (self.color_number + 1) % self._n_colors
        return True

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's triple: type, colour, state."""
        return self.kind, self.color_number, self.number

    @property
    def symbol(self) -> str:
        """Number and the colour's first letter: ``1r``."""
        return f"{self.number + 1}{COLORS[self.color_number][0]}"

    def render(self, img: Image) -> Image:
        """Draw the switch; its coloured rim stays visible under the agent."""
        color = PALETTE[COLORS[self.color_number]]
        fill(img, box(0.05, 0.97, 0.05, 0.97), color)
        fill(img, box(0.13, 0.89, 0.13, 0.89), _DARK)
        fill(img, circle((0.51, 0.51), 0.34), color)
        write(img, str(self.number + 1), (0.51, 0.51), 0.42, _DARK)
        return img


class Resource(RoomObject):
    """Resource that lies on the floor until it is grabbed.

    Args:
        number: Counted from 0.
        name: Its name.
    """

    kind = 21

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number)
        self.name = name

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's triple: type, icon, state."""
        return self.kind, _icon_number(self.number, self.name), 0

    @property
    def symbol(self) -> str:
        """The name's first two letters: ``wo``."""
        return self.name[:2]

    def render(self, img: Image) -> Image:
        """Draw the icon."""
        _draw_icon(img, self.number, self.name)
        return img


class Table(Resource):
    """Table for crafting one product; its rim lights up while the product is in the inventory.

    Args:
        number: Counted from 0.
        name: The product.
        made: Whether the product is in the inventory.
    """

    kind = 22

    def __init__(self, number: int, name: str, *, made: bool = False) -> None:
        super().__init__(number, name)
        self.made = made

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's triple: type, icon, state."""
        return self.kind, _icon_number(self.number, self.name), int(self.made)

    @property
    def symbol(self) -> str:
        """The name's first two letters in upper case: ``AX``."""
        return self.name[:2].upper()

    def render(self, img: Image) -> Image:
        """Draw a table top with the product on it, as a shadow until it is made."""
        fill(img, box(0.06, 0.96, 0.06, 0.96), _MADE if self.made else (70, 45, 28))
        fill(img, box(0.14, 0.88, 0.14, 0.88), (160, 112, 66))
        before = img.copy()
        edge = int(0.16 * len(img))
        _draw_icon(img[edge:-edge, edge:-edge], self.number, self.name)
        if not self.made:
            shadow = (img != before).any(axis=2)
            img[shadow] = 0.3 * img[shadow] + 0.7 * np.array(_SHADOW)
        return img


def _draw_icon(img: Image, number: int, name: str) -> None:
    """Draw the item's own icon, or a coloured disc with its first letter if it has none."""
    for shape, color in ICONS.get(name, ()):
        fill(img, shape, color)
    if name not in ICONS:
        fill(img, circle((0.5, 0.5), 0.36), PALETTE[COLORS[number % len(COLORS)]])
        write(img, name[0].upper(), (0.5, 0.5), 0.45, _DARK)


_icon_numbers: dict[tuple[int, str], int] = {}


def _icon_number(number: int, name: str) -> int:
    """Return one number for each icon in this process, by which MiniGrid caches tiles."""
    key = (0, name) if name in ICONS else (number % len(COLORS), name[0].upper())
    return _icon_numbers.setdefault(key, len(_icon_numbers))


# --- rooms as tile numbers ------------------------------------------------------------------

EMPTY_TILE, WALL_TILE = -2, -1
"""Tiles of every room; a game's own tiles are numbered from 0."""


def object_tiles(rules: SwitchesRules | CraftingRules) -> tuple[RoomObject | None, ...]:
    """Return all tiles of all objects.

    Switch i in colour c is tile ``n_colors * i + c``; item i is tile ``2 * i`` while it is not in
    the inventory, and tile ``2 * i + 1`` while it is.
    """
    if isinstance(rules, SwitchesRules):
        n_colors = rules.n_colors
        return tuple(
            Switch(i, color, n_colors) for i in range(rules.n_switches) for color in range(n_colors)
        )
    tiles: list[RoomObject | None] = []
    for i, name in enumerate(rules.resources):
        tiles += [Resource(i, name), None]
    for i, name in enumerate(rules.recipes, start=len(rules.resources)):
        tiles += [Table(i, name), Table(i, name, made=True)]
    return tuple(tiles)


class Atlas:
    """Cache of MiniGrid's tiles, alone and with an agent, for drawing many rooms at once.

    Args:
        tiles: A game's own tiles.
        tile_size: Side of a cell, in pixels.
    """

    def __init__(self, tiles: Sequence[RoomObject | None], tile_size: int) -> None:
        self._looks = [*tiles, None, Wall()]  # EMPTY_TILE and WALL_TILE count from the end
        self._tile_size = tile_size
        self._pictures = np.zeros((5, len(self._looks), tile_size, tile_size, 3), np.uint8)
        self._drawn = np.zeros(self._pictures.shape[:2], np.bool_)

    def draw(
        self,
        tiles: npt.NDArray[np.int64],
        agents: npt.NDArray[np.int64],
        facing: npt.NDArray[np.int64],
    ) -> Image:
        """``(n, size * size)`` tiles and the agents on them → ``(n, height, width, 3)`` uint8."""
        n, side, tile_size = len(tiles), int(np.sqrt(tiles.shape[1])), self._tile_size
        rows = np.arange(n)
        self._draw_missing(tiles, 1 + facing, tiles[rows, agents])
        shown = self._pictures[0][tiles]
        shown[rows, agents] = self._pictures[1 + facing, tiles[rows, agents]]
        rooms = shown.reshape(n, side, side, tile_size, tile_size, 3).transpose(0, 1, 3, 2, 4, 5)
        return np.ascontiguousarray(rooms).reshape(n, side * tile_size, side * tile_size, 3)

    def _draw_missing(
        self,
        tiles: npt.NDArray[np.int64],
        turned: npt.NDArray[np.int64],
        below: npt.NDArray[np.int64],
    ) -> None:
        """Let MiniGrid draw tiles that are not cached yet: one with an agent takes 50 ms."""
        needed = np.zeros_like(self._drawn)
        needed[0, tiles] = needed[turned, below] = True
        for agent, look in np.argwhere(needed & ~self._drawn).tolist():
            facing = agent - 1 if agent else None
            self._pictures[agent, look] = Grid.render_tile(
                self._looks[look], facing, tile_size=self._tile_size
            )
        self._drawn |= needed
