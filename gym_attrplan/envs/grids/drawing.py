"""Shapes and letters on images.

MiniGrid fills shapes pixel by pixel in Python, which takes a tenth of a second per tile; these
functions fill the whole image at once. The font comes with pygame, which MiniGrid requires.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pygame
import pygame.freetype

Image = npt.NDArray[np.uint8]
Rgb = tuple[int, int, int]
Floats = npt.NDArray[np.float64]
Shape = Callable[[Floats, Floats], npt.NDArray[np.bool_]]
"""Function that tells which points (x, y) lie inside; an image extends from 0 to 1."""
Point = tuple[float, float]


def circle(center: Point, radius: float) -> Shape:
    """Return a disc."""
    return lambda x, y: np.hypot(x - center[0], y - center[1]) <= radius


def box(left: float, right: float, top: float, bottom: float) -> Shape:
    """Return a rectangle."""
    return lambda x, y: (x >= left) & (x <= right) & (y >= top) & (y <= bottom)


def stroke(start: Point, end: Point, radius: float) -> Shape:
    """Return a thick line with round ends."""
    dx, dy = end[0] - start[0], end[1] - start[1]

    def inside(x: Floats, y: Floats) -> npt.NDArray[np.bool_]:
        along = ((x - start[0]) * dx + (y - start[1]) * dy) / (dx * dx + dy * dy)
        along = np.clip(along, 0.0, 1.0)
        near: npt.NDArray[np.bool_] = (
            np.hypot(x - start[0] - along * dx, y - start[1] - along * dy) <= radius
        )
        return near

    return inside


def polygon(*corners: Point) -> Shape:
    """Return a convex polygon, with its corners clockwise in the image."""

    def inside(x: Floats, y: Floats) -> npt.NDArray[np.bool_]:
        sides = zip(corners, corners[1:] + corners[:1], strict=True)
        within = [(bx - ax) * (y - ay) >= (by - ay) * (x - ax) for (ax, ay), (bx, by) in sides]
        return np.asarray(np.logical_and.reduce(within))

    return inside


def fill(img: Image, shape: Shape, color: Rgb) -> None:
    """Draw a shape into an image, in place."""
    rows, columns = img.shape[:2]
    y, x = np.mgrid[:rows, :columns] + 0.5
    img[shape(x / columns, y / rows)] = color


@lru_cache(maxsize=512)
def _ink(text: str, height: int) -> tuple[Floats, int]:
    """Return the coverage of each pixel, 0 to 1, and the number of rows above the baseline."""
    pygame.freetype.init()
    font: Any = pygame.freetype.Font(None)
    # Capitals are about 0.7 of the font's size high.
    surface, outline = font.render(text, fgcolor=(255, 255, 255), size=max(height / 0.7, 1.0))
    return pygame.surfarray.array_alpha(surface).T / 255.0, outline.y


def write(
    img: Image, text: str, at: Point, height: float, color: Rgb, *, left: bool = False
) -> None:
    """Write text into an image, in place; parts outside are cut off.

    Args:
        img: ``(rows, columns, 3)`` uint8.
        text: One line.
        at: Position from left and top, as shares of the image's height: the centre of
            its capitals, or the middle of its left edge.
        height: Height of the capitals, as a share of the image's height.
        color: Red, green, blue.
        left: Whether ``at`` is the left edge.
    """
    ink, above = _ink(text, round(height * len(img)))
    x = round(at[0] * len(img) - (0 if left else ink.shape[1] / 2))
    y = round((at[1] + height / 2) * len(img)) - above
    ink = ink[max(-y, 0) :, max(-x, 0) :]
    patch = img[max(y, 0) :, max(x, 0) :][: ink.shape[0], : ink.shape[1]]
    cover = ink[: patch.shape[0], : patch.shape[1], None]
    patch[:] = (patch * (1 - cover) + np.array(color) * cover).round().astype(np.uint8)
