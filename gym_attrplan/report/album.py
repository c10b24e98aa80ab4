"""Pictures and graphs that runs leave beside their figures, for the page to show.

A picture carries its words in itself, as PNG text; a graph is a ``*.graph.json``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidData
from gym_attrplan.graph import Plan, Planner
from gym_attrplan.graph.plan import describe_change
from gym_attrplan.report.drawing import GraphDrawing, planner_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gym_attrplan.agent import AttributePlannerAgent

GRAPH_KEYS = ("title", "nodes", "edges", "plans", "n_hidden")


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
    with _whole(Path(file)) as part:
        figure.savefig(part, dpi=150, bbox_inches="tight", metadata=words, format="png")


def save_graph(
    agent: AttributePlannerAgent | Planner,
    file: str | Path,
    *,
    title: str,
    tasks: Sequence[tuple[int | npt.ArrayLike, GoalLike]],
    max_nodes: int = 300,
) -> None:
    """Write an agent's graph, with plans for the reader to choose from.

    Args:
        agent: Whose graph.
        file: Ends in ``.graph.json``.
        title: What it shows.
        tasks: Starts and goals to plan for.
        max_nodes: Most nodes to draw.

    Raises:
        InvalidData: If there is no plan for a task.
    """
    planner = planner_of(agent)
    plans = [_plan_for(planner, start, goal) for start, goal in tasks]
    kept = [node for _, plan in plans for node in plan.nodes.tolist()]
    drawing = GraphDrawing.of(planner, keep=kept, max_nodes=max_nodes)
    share = np.sqrt(drawing.visits / max(drawing.visits.max(), 1.0))
    data = {
        "title": title,
        "n_hidden": drawing.n_hidden,
        "nodes": [
            [round(x, 4), round(y, 4), round(float(size), 3), words]
            for (x, y), size, words in zip(drawing.places, share, drawing.words, strict=True)
        ],
        "edges": [
            [*pair, round(prob, 3)]
            for pair, prob in zip(drawing.edges.tolist(), drawing.probs.tolist(), strict=True)
        ],
        "plans": [_plan_data(words, plan, drawing) for words, plan in plans],
    }
    with _whole(Path(file)) as part:
        part.write_text(json.dumps(data), encoding="utf-8")


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """A file to write to, which gets its name when it is complete: never half a picture."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    yield part
    part.replace(file)


def _plan_for(planner: Planner, start: int | npt.ArrayLike, goal: GoalLike) -> tuple[str, Plan]:
    words = planner.counts.space.describe(planner.counts.space.goal(goal))
    plan = planner.plan(start, goal)
    if plan is None:
        raise InvalidData(f"there is no plan for {words!r}: explore longer, or ask for less.")
    return words, plan


def _plan_data(words: str, plan: Plan, drawing: GraphDrawing) -> dict[str, Any]:
    hops = pairwise(plan.vectors)
    return {
        "goal": words,
        "nodes": drawing.rows(plan.nodes).tolist(),
        "probs": [round(prob, 3) for prob in plan.edge_probs.tolist()],
        "changes": [describe_change(plan.space, before, after) for before, after in hops],
    }


def read_pictures(folder: Path) -> list[Picture]:
    """The pictures of a folder and of its ``pictures/``, by name."""
    return [_picture(file) for file in _files(folder, "*.png")]


def read_graphs(folder: Path) -> list[dict[str, Any]]:
    """The graphs of a folder and of its ``pictures/``, by name.

    Raises:
        InvalidData: If a file is not what :func:`save_graph` writes.
    """
    graphs = []
    for file in _files(folder, "*.graph.json"):
        try:
            graph = json.loads(file.read_text(encoding="utf-8"))
            missing = [key for key in GRAPH_KEYS if key not in graph]
        except (json.JSONDecodeError, TypeError) as error:
            raise InvalidData(
                f"{file} is no JSON: {error}. Write it anew, or remove it."
            ) from error
        if missing:
            raise InvalidData(f"{file} lacks {missing}: only save_graph writes such files.")
        graphs.append(graph)
    return graphs


def _files(folder: Path, pattern: str) -> list[Path]:
    return [*sorted(folder.glob(pattern)), *sorted((folder / "pictures").glob(pattern))]


def _picture(file: Path) -> Picture:
    from PIL import Image

    with Image.open(file) as image:
        words = {key: str(value) for key, value in image.info.items()}
    data = base64.b64encode(file.read_bytes()).decode()
    title = words.get("Title") or file.stem.replace("_", " ").replace("-", " ")
    return Picture(title, words.get("Description", ""), f"data:image/png;base64,{data}")
