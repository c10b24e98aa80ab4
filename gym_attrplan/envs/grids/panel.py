"""GridAttributeWrapper: attribute wrapper of the grid environments that draws the goal."""

from __future__ import annotations

from typing import Any

import numpy as np
from minigrid.core.constants import TILE_PIXELS
from minigrid.core.grid import Grid

from gym_attrplan.attributes import FREE
from gym_attrplan.envs.goals import TaskWrapper
from gym_attrplan.envs.grids.drawing import Image, write

_PAPER, _INK, _FAINT, _MET, _OPEN = (
    (248, 247, 243),
    (40, 40, 44),
    (150, 150, 155),
    (205, 238, 208),
    (252, 226, 200),
)
_ROW = TILE_PIXELS + 4
_WIDTH = 5 * TILE_PIXELS + 24


class GridAttributeWrapper(TaskWrapper):
    """:class:`TaskWrapper` of the grid environments, which draws the goal beside the room."""

    def render(self) -> Any:
        """Return the room with the goal, as an image or a text depending on the render mode."""
        shown: Any = self.env.render()
        if isinstance(shown, str):
            return f"{shown}\n{self._text()}"
        return None if shown is None else _beside(shown, self._panel())

    def _text(self) -> str:
        space = self.attribute_space
        now = space.describe(self._evaluate(self._last_observation))
        return f"goal: {space.describe(self._goal)}\n now: {now}"

    def _panel(self) -> Image:
        """Draw a row for each attribute: its name, its value, the goal's value."""
        achieved = self._evaluate(self._last_observation)
        rows = [_heading()]
        for i, name in enumerate(self.attribute_space.names):
            rows.append(self._row(i, name, int(achieved[i]), int(self._goal[i])))
        return np.concatenate(rows)

    def _row(self, number: int, name: str, now: int, goal: int) -> Image:
        row = np.full((_ROW, _WIDTH, 3), _PAPER, np.uint8)
        if goal != FREE:
            row[1:-1, 4:-4] = _MET if now == goal else _OPEN
        write(row, name, (0.3, 0.5), 0.26, _FAINT if goal == FREE else _INK, left=True)
        self._show(row, _column(2), number, now)
        self._show(row, _column(1), number, goal)
        return row

    def _show(self, row: Image, middle: int, number: int, value: int) -> None:
        """Draw an attribute's value: its tile, or a word if it has none."""
        tile = None if value == FREE else self.env.get_wrapper_attr("attribute_tile")(number, value)
        if tile is None:
            write(row, "any" if value == FREE else "no", (middle / _ROW, 0.5), 0.22, _FAINT)
            return
        left, top = middle - TILE_PIXELS // 2, (_ROW - TILE_PIXELS) // 2
        row[top : top + TILE_PIXELS, left : left + TILE_PIXELS] = Grid.render_tile(tile)


def _column(from_right: int) -> int:
    """Return the centre of a column of tiles."""
    return _WIDTH - 8 - round((from_right - 0.5) * (TILE_PIXELS + 10))


def _heading() -> Image:
    row = np.full((_ROW, _WIDTH, 3), _PAPER, np.uint8)
    write(row, "now", (_column(2) / _ROW, 0.55), 0.26, _INK)
    write(row, "goal", (_column(1) / _ROW, 0.55), 0.26, _INK)
    return row


def _beside(room: Image, panel: Image) -> Image:
    """Join two images side by side."""
    height = max(len(room), len(panel))
    sheet = np.full((height, room.shape[1] + panel.shape[1], 3), _PAPER, np.uint8)
    sheet[: len(room), : room.shape[1]] = room
    sheet[: len(panel), room.shape[1] :] = panel
    return sheet
