"""Pictures as files: a PNG has its title and caption in it, as text."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from gym_attrplan.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def save_picture(ax: Axes, file: str | Path, *, title: str, caption: str = "") -> None:
    """Write the figure of an axes as a PNG that knows its words.

    Args:
        ax: Any axes of the figure, such as ``film_strip`` returns.
        file: Ends in ``.png``.
        title: What it shows.
        caption: What to see in it.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None  # axes that were drawn on have one
    words = {"Title": title, "Description": caption}
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        figure.savefig(part, dpi=150, bbox_inches="tight", metadata=words, format="png")


def data_address(content: bytes, kind: str) -> str:
    """Content as an address that holds it all, such as ``data:image/png;base64,…``."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
