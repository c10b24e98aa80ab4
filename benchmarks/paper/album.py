"""Pictures and graphs that runs leave beside their figures, for the page to show."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from gym_attrplan.error import InvalidData
from gym_attrplan.report.album import data_address

GRAPH_KEYS = ("title", "nodes", "edges", "plans", "n_hidden")


@dataclass(frozen=True)
class Picture:
    """A picture as the page shows it: title, words below it, and a ``data:`` address."""

    title: str
    caption: str
    address: str


def read_pictures(folder: Path) -> list[Picture]:
    """The pictures of a folder and of its ``pictures/``, by name."""
    return [_picture(file) for file in _files_of(folder, "*.png")]


def read_graphs(folder: Path) -> list[dict[str, Any]]:
    """The graphs of a folder and of its ``pictures/``, by name.

    Raises:
        InvalidData: If a file is not what ``save_graph`` writes.
    """
    graphs = []
    for file in _files_of(folder, "*.graph.json"):
        try:
            graph = json.loads(file.read_text(encoding="utf-8"))
            missing = [key for key in GRAPH_KEYS if key not in graph]
        except (json.JSONDecodeError, TypeError) as error:
            raise InvalidData(
                f"{file} is no JSON: {error}. Write it again, or remove it."
            ) from error
        if missing:
            raise InvalidData(f"{file} lacks {missing}: only save_graph writes such files.")
        graphs.append(graph)
    return graphs


def _files_of(folder: Path, pattern: str) -> list[Path]:
    """The files that match a pattern in a folder and in its ``pictures/``."""
    return [*sorted(folder.glob(pattern)), *sorted((folder / "pictures").glob(pattern))]


def _picture(file: Path) -> Picture:
    with Image.open(file) as image:
        words = {key: str(value) for key, value in image.info.items()}
    title = words.get("Title") or file.stem.replace("_", " ").replace("-", " ")
    return Picture(
        title, words.get("Description", ""), data_address(file.read_bytes(), "image/png")
    )
