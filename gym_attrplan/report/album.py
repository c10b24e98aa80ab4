"""Pictures that runs leave beside their figures, for the page to show.

A picture carries its words in itself, as PNG text.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gym_attrplan.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Picture:
    """A picture as the page shows it: title, words below it, and a ``data:`` address."""

    title: str
    caption: str
    address: str


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


def read_pictures(folder: Path) -> list[Picture]:
    """The pictures of a folder and of its ``pictures/``, by name."""
    return [_picture(file) for file in files_of(folder, "*.png")]


def files_of(folder: Path, pattern: str) -> list[Path]:
    """What fits a pattern in a folder and in its ``pictures/``."""
    return [*sorted(folder.glob(pattern)), *sorted((folder / "pictures").glob(pattern))]


def data_address(content: bytes, kind: str) -> str:
    """Content as an address that holds it all, such as ``data:image/png;base64,…``."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _picture(file: Path) -> Picture:
    from PIL import Image

    with Image.open(file) as image:
        words = {key: str(value) for key, value in image.info.items()}
    title = words.get("Title") or file.stem.replace("_", " ").replace("-", " ")
    return Picture(
        title, words.get("Description", ""), data_address(file.read_bytes(), "image/png")
    )
