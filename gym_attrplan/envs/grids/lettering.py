"""Text on pictures, with the font that comes with pygame, which MiniGrid brings along."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pygame
import pygame.freetype

Image = npt.NDArray[np.uint8]


@lru_cache(maxsize=512)
def _ink(text: str, height: int) -> tuple[npt.NDArray[np.float64], int]:
    """How much of each pixel the text covers, 0 to 1, and how many rows are above the baseline."""
    pygame.freetype.init()
    font: Any = pygame.freetype.Font(None)
    # Capitals are about 0.7 of the font's size high.
    surface, box = font.render(text, fgcolor=(255, 255, 255), size=max(height / 0.7, 1.0))
    return pygame.surfarray.array_alpha(surface).T / 255.0, box.y


def write(
    img: Image,
    text: str,
    at: tuple[float, float],
    height: float,
    color: tuple[int, int, int],
    *,
    left: bool = False,
) -> None:
    """Write text into a picture, in place; what does not fit is cut off.

    Args:
        img: ``(rows, columns, 3)`` uint8.
        text: One line.
        at: Where it stands, from left and top, as shares of the picture's height: the middle of
            its capitals, or the middle of its left edge.
        height: Height of the capitals, as a share of the picture's height.
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
