"""Images of the economy: the map, with stock, supply and progress towards the goal beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE
from gym_attrplan.envs.build_order.rules import (
    CENTRE,
    CENTRE_FOOTPRINT,
    MAP_SIZE,
    EconomyRules,
    Job,
    Kind,
)
from gym_attrplan.envs.build_order.state import State
from gym_attrplan.error import DependencyNotInstalled

try:
    import pygame
    import pygame.freetype
except ModuleNotFoundError as error:
    raise DependencyNotInstalled(
        f"images of the economy need pygame ({error}): pip install pygame."
    ) from error

Rgb = tuple[int, int, int]
Point = tuple[float, float]
PIXELS = 14
"""Number of pixels along a side of a cell."""

_WIDTH = 264
_COLUMNS = (154, 194, 234)
_GROUND, _GRID, _ORE, _ORE_EDGE = (58, 54, 50), (66, 62, 57), (86, 178, 226), (150, 214, 248)
_SCV, _CARGO, _WORK = (244, 196, 72), (120, 208, 255), (255, 244, 214)
_STEEL, _SCAFFOLD = (146, 152, 162), (96, 92, 88)
_PAPER, _INK, _FAINT = (248, 247, 243), (40, 40, 44), (150, 150, 155)
_MET, _OPEN, _MISSED = (205, 238, 208), (252, 226, 200), (246, 190, 190)
_COLORS: dict[str, Rgb] = {
    "depot": (196, 148, 84),
    "barracks": (178, 92, 84),
    "marine": (214, 74, 66),
    "engineering_bay": (112, 138, 190),
    "turret": (128, 168, 110),
}
_LETTERS = {"depot": "D", "barracks": "B", "engineering_bay": "E", "turret": "T"}


def draw(
    rules: EconomyRules, state: State, goal: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.uint8]:
    """Return the image ``(rows, columns, 3)`` of an economy, with its goal if one is given."""
    side = MAP_SIZE * PIXELS
    sheet = pygame.Surface((side + _WIDTH, side))
    sheet.fill(_PAPER)
    _draw_map(sheet.subsurface((0, 0, side, side)), rules, state)
    _Panel(sheet.subsurface((side, 0, _WIDTH, side))).draw(rules, state, goal)
    return np.ascontiguousarray(pygame.surfarray.array3d(sheet).swapaxes(0, 1))


def _draw_map(sheet: pygame.Surface, rules: EconomyRules, state: State) -> None:
    sheet.fill(_GROUND)
    for line in range(0, MAP_SIZE * PIXELS, 4 * PIXELS):
        pygame.draw.line(sheet, _GRID, (line, 0), (line, sheet.get_height()))
        pygame.draw.line(sheet, _GRID, (0, line), (sheet.get_width(), line))
    side = int(state.sides[0])
    for cell in rules.patches[side]:
        _draw_patch(sheet, _middle(cell))
    _draw_building(sheet, np.array([CENTRE, CENTRE]), CENTRE_FOOTPRINT, _STEEL, "CC", 1.0)
    builders = {int(at): slot for slot, at in enumerate(state.site[0]) if at >= 0}
    for site, number in enumerate(state.sites[0]):
        if number >= 0:
            product, share = rules.products[number], 1.0
            if not state.built[0, site]:
                share = 1 - float(state.left[0, builders[site]] / rules.steps[number])
            color, letter = _COLORS[product.name], _LETTERS[product.name]
            _draw_building(sheet, rules.sites[side, site], product.footprint, color, letter, share)
    _draw_training(sheet, rules, state)
    _draw_marines(sheet, rules, state)
    for slot in np.flatnonzero(state.present[0, : rules.n_scvs]):
        _draw_scv(sheet, state, int(slot))


def _draw_patch(sheet: pygame.Surface, at: Point) -> None:
    x, y, r = *at, 0.75 * PIXELS
    corners = [(x - r, y), (x - r / 2, y - r), (x + r / 2, y - r / 2), (x + r, y), (x, y + r)]
    pygame.draw.polygon(sheet, _ORE, corners)
    pygame.draw.lines(sheet, _ORE_EDGE, closed=True, points=corners)


def _draw_building(
    sheet: pygame.Surface,
    cell: npt.NDArray[Any],
    size: tuple[int, int],
    color: Rgb,
    letter: str,
    share: float,
) -> None:
    """Draw a building, or while it is built a scaffold that fills from below."""
    left, top = ((at - side // 2) * PIXELS for at, side in zip(cell.tolist(), size, strict=True))
    box = pygame.Rect(left + 1, top + 1, size[0] * PIXELS - 2, size[1] * PIXELS - 2)
    pygame.draw.rect(sheet, _SCAFFOLD, box, border_radius=3)
    done = box.copy()
    done.height = round(share * box.height)
    done.bottom = box.bottom
    pygame.draw.rect(sheet, color, done, border_radius=3)
    pygame.draw.rect(sheet, color, box, width=2, border_radius=3)
    _write(sheet, letter, box.center, 16, (255, 255, 255), middle=True)


def _draw_training(sheet: pygame.Surface, rules: EconomyRules, state: State) -> None:
    """Draw a bar over each building that trains."""
    for slot in np.flatnonzero(state.present[0] & (rules.kinds != Kind.SCV)):
        if state.jobs[0, slot] == Job.MAKING:
            share = 1 - float(state.left[0, slot] / rules.steps[state.making[0, slot]])
            x, y = _middle(state.cells[0, slot])
            box = pygame.Rect(x - 2 * PIXELS, y - 2 * PIXELS, 4 * PIXELS, 5)
            _draw_bar(sheet, box, share, _WORK, _GROUND)


def _draw_marines(sheet: pygame.Surface, rules: EconomyRules, state: State) -> None:
    """Draw finished marines in a row below the first barracks."""
    number = [one.name for one in rules.products].index("marine")
    x, y = _middle(state.cells[0, rules.first_slot(Kind.BARRACKS)])
    for i in range(int(state.done[0, number])):
        at = (x + (0.7 * i - 1.6) * PIXELS, y + 1.8 * PIXELS)
        pygame.draw.circle(sheet, _COLORS["marine"], at, 0.3 * PIXELS)


def _draw_scv(sheet: pygame.Surface, state: State, slot: int) -> None:
    # SCVs in one cell are drawn side by side.
    x, y = _middle(state.cells[0, slot])
    x, y = x + 3 * (slot % 3 - 1), y + 3 * (slot // 3 % 3 - 1)
    if state.jobs[0, slot] == Job.MAKING:
        x -= PIXELS  # beside the building's letter
    pygame.draw.circle(sheet, _GROUND, (x, y), 0.5 * PIXELS + 1)
    pygame.draw.circle(sheet, _SCV, (x, y), 0.5 * PIXELS)
    if state.cargo[0, slot]:
        pygame.draw.circle(sheet, _CARGO, (x + 3, y - 3), 3)
    if state.jobs[0, slot] in (Job.DRILLING, Job.MAKING):
        pygame.draw.circle(sheet, _WORK, (x, y), 0.5 * PIXELS + 2, width=2)


class _Panel:
    """Text beside the map, written line by line."""

    def __init__(self, sheet: pygame.Surface) -> None:
        self._sheet = sheet
        self._y = 16

    def draw(self, rules: EconomyRules, state: State, goal: npt.NDArray[Any] | None) -> None:
        """Draw stock and supply, then a row for each attribute."""
        used, given = (int(one[0]) for one in state.supply(rules))
        self._line(f"ore {int(state.ore[0])}")
        self._line(f"supply {used} / {given}")
        bar = pygame.Rect(16, self._y - 6, _WIDTH - 32, 8)
        _draw_bar(self._sheet, bar, used / given, (104, 156, 92), (226, 224, 216))
        self._y += 20
        columns = ("now", "done") if goal is None else ("now", "done", "goal")
        for title, x in zip(columns, _COLUMNS, strict=False):
            _write(self._sheet, title, (x, self._y), 13, _INK, middle=True)
        self._y += 20
        values = state.attributes()[0].tolist()
        done = ["", *state.done[0].tolist()]
        goals = [FREE] * len(values) if goal is None else goal.tolist()
        for name, now, ready, wanted in zip(rules.attributes, values, done, goals, strict=True):
            shown = "" if goal is None else "any" if wanted == FREE else str(wanted)
            self._row(name.replace("_", " "), (str(now), str(ready), shown), _tint(now, wanted))

    def _line(self, text: str) -> None:
        _write(self._sheet, text, (16, self._y), 16, _INK)
        self._y += 26

    def _row(self, name: str, texts: tuple[str, str, str], tint: Rgb | None) -> None:
        if tint is not None:
            pygame.draw.rect(self._sheet, tint, (8, self._y - 12, _WIDTH - 16, 24))
        _write(self._sheet, name, (16, self._y), 13, _INK if tint else _FAINT)
        for text, x in zip(texts, _COLUMNS, strict=True):
            _write(self._sheet, text, (x, self._y), 14, _INK, middle=True)
        self._y += 28


def _tint(now: int, wanted: int) -> Rgb | None:
    """Return green if met, orange if units are missing, red if too many, which cannot be undone."""
    if wanted == FREE:
        return None
    return _MET if now == wanted else _OPEN if now < wanted else _MISSED


def _draw_bar(
    sheet: pygame.Surface, box: pygame.Rect, share: float, color: Rgb, ground: Rgb
) -> None:
    pygame.draw.rect(sheet, ground, box)
    full = box.copy()
    full.width = round(min(share, 1.0) * box.width)
    pygame.draw.rect(sheet, color, full)


def _middle(cell: npt.NDArray[Any]) -> Point:
    x, y = cell.tolist()
    return (x + 0.5) * PIXELS, (y + 0.5) * PIXELS


def _write(
    sheet: pygame.Surface, text: str, at: Point, size: int, color: Rgb, *, middle: bool = False
) -> None:
    """Write text from a point on, or centred on it; the capitals are vertically centred."""
    pygame.freetype.init()
    surface, box = pygame.freetype.Font(None).render(text, fgcolor=color, size=size)
    left = at[0] - box.width / 2 if middle else at[0]
    sheet.blit(surface, (left, at[1] + 0.35 * size - box.y))
