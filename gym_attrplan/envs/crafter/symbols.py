"""SymbolView: what Crafter's image shows, as symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.crafter.game import ITEMS, Game

THINGS = (
    "nothing",
    "player-left",
    "player-right",
    "player-up",
    "player-down",
    "player-sleep",
    "cow",
    "zombie",
    "skeleton",
    "arrow-left",
    "arrow-right",
    "arrow-up",
    "arrow-down",
    "plant",
    "plant-ripe",
)
"""Objects by the names of their textures."""

N_ROWS, N_COLUMNS = 7, 9
_REACH = np.array([N_COLUMNS // 2, N_ROWS // 2])
_FACING = {(-1, 0): 0, (1, 0): 1, (0, -1): 2, (0, 1): 3}
_NUMBERS = {name: number for number, name in enumerate(THINGS)}
_MAX_COUNT = 9

Symbols = dict[str, Any]


class SymbolView:
    """Observations of symbols instead of pixels: the 9 × 7 cells of the image, and the inventory.

    - ``view``: ``(7, 9, 2)`` the material and the object in each cell, numbers of
      :data:`~gym_attrplan.envs.crafter.game.MATERIALS` and :data:`THINGS`. Cells outside the map
      are 0, and at night cells in which the image has more noise than picture.
    - ``inventory``: 16 numbers from 0 to 9, in the order of
      :data:`~gym_attrplan.envs.crafter.game.ITEMS`.
    - ``facing``: left, right, up or down.
    - ``sleeping``: 0 or 1.
    - ``daylight``: from 0 to 1.
    """

    space = spaces.Dict(
        {
            "view": spaces.Box(0, 255, (N_ROWS, N_COLUMNS, 2), np.uint8),
            "inventory": spaces.MultiDiscrete([_MAX_COUNT + 1] * len(ITEMS)),
            "facing": spaces.Discrete(len(_FACING)),
            "sleeping": spaces.Discrete(2),
            "daylight": spaces.Box(0.0, 1.0, (1,), np.float32),
        }
    )

    def __init__(self) -> None:
        x, y = (2.0 * (np.arange(n) + 0.5) / n - 1.0 for n in (N_COLUMNS, N_ROWS))
        # Crafter's image has more noise further from the centre.
        self._vignette = 1.0 - np.exp(-2.0 * (x[:, None] ** 2 + y**2))

    def observe(self, game: Game) -> Symbols:
        """Return the observation of the current state."""
        player = game.player
        daylight = float(game.world.daylight)
        return {
            "view": self._view(game.world, player.pos, daylight),
            "inventory": np.fromiter(player.inventory.values(), np.int64, len(ITEMS)),
            "facing": _FACING[tuple(player.facing)],
            "sleeping": int(player.sleeping),
            "daylight": np.array([daylight], np.float32),
        }

    def _view(self, world: Any, center: Any, daylight: float) -> npt.NDArray[np.uint8]:
        cells = np.zeros((N_COLUMNS, N_ROWS, 2), np.uint8)
        first, last = np.maximum(center - _REACH, 0), np.minimum(center + _REACH + 1, world.area)
        there = slice(first[0], last[0]), slice(first[1], last[1])
        start = first - center + _REACH
        end = start + last - first
        shown = cells[start[0] : end[0], start[1] : end[1]]
        shown[:, :, 0] = world._mat_map[there]
        numbers = world._obj_map[there]
        for x, y in np.argwhere(numbers).tolist():
            shown[x, y, 1] = _NUMBERS[world._objects[numbers[x, y]].texture]
        if daylight < 0.5:
            cells[self._is_dark(daylight)] = 0
        return cells.transpose(1, 0, 2)

    def _is_dark(self, daylight: float) -> npt.NDArray[np.bool_]:
        """Return ``(9, 7)`` the cells in which the image has more noise than picture.

        Crafter's image is the picture by day and, with the share of the night, a picture that is
        half tint and half mixed with noise.
        """
        noise = (1.0 - 2.0 * daylight) * self._vignette
        half_night = 0.5 * (1.0 - daylight)
        dark: npt.NDArray[np.bool_] = half_night * noise > daylight + half_night * (1.0 - noise)
        return dark
