"""Pictures of an environment as a page shows them: a data URL, or text."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

MAX_SIDE = 512
"""Larger pictures are made smaller: they are sent many times a second."""

FEW_COLOURS = 256
"""Pictures with so many colours or fewer are drawings, which PNG keeps sharp and small."""


@dataclass(frozen=True)
class Picture:
    """Either ``url``, a data URL of an image, or ``text``."""

    url: str = ""
    text: str = ""


def as_picture(drawn: Any) -> Picture:
    """What ``render`` gave, an array ``(height, width, 3)`` or a text, for a page.

    Example:
        >>> as_picture(np.zeros((2, 2, 3), np.uint8)).url[:22]
        'data:image/png;base64,'
        >>> as_picture("key, not door").text
        'key, not door'
    """
    if not isinstance(drawn, np.ndarray):
        return Picture(text=str(drawn))
    image = Image.fromarray(np.asarray(drawn, np.uint8)[..., :3])
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    written = io.BytesIO()
    if image.getcolors(FEW_COLOURS) is None:
        kind = "jpeg"
        image.save(written, kind, quality=88)
    else:
        kind = "png"
        image.save(written, kind, compress_level=3)
    return Picture(f"data:image/{kind};base64,{base64.b64encode(written.getvalue()).decode()}")
