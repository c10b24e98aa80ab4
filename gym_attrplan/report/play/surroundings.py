"""Surroundings: the graph around an episode, as options of an ECharts chart."""

from __future__ import annotations

import html
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.graph import Planner
from gym_attrplan.graph.drawing import GraphDrawing
from gym_attrplan.report.play.player import Player

MAX_NODES = 100
"""Descriptions drawn: the way and the plan, and what is fewest hops from them."""

MAX_EDGES = 250
"""Transitions drawn beside those of the way and the plan; the most probable ones."""

MAX_WAY = 40
"""Of a longer way the last descriptions are drawn."""

# Read on a light ground and on a dark one.
VISITED, AHEAD, OTHER = "#1590a8", "#dd7a2b", "#8d949e"


class Surroundings:
    """Draws the neighbourhood of a way, and keeps the picture still as long as it can.

    Only the neighbourhood is laid out, so that a graph of any size will do; and it is laid out
    anew only when the way or the plan leaves it.

    Args:
        planner: Knows the graph.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._drawing: GraphDrawing | None = None

    def chart(self, player: Player) -> dict[str, Any]:
        """The options of a chart of series type ``graph``; empty if nothing is known here."""
        way = self._nodes(np.array(player.visited[-MAX_WAY:]))
        ahead = [] if player.plan is None else self._nodes(player.plan.vectors)
        keep = list(dict.fromkeys([*ahead, *way]))[:MAX_NODES]
        if not keep:
            return {}
        if self._drawing is None or not set(keep) <= set(self._drawing.nodes.tolist()):
            ways = [self._planner.counts.index.vectors(keep)]
            self._drawing = GraphDrawing.of(self._planner, ways=ways, max_nodes=MAX_NODES)
        return _options(self._drawing, [one for one in way if one in keep], ahead)

    @property
    def n_hidden(self) -> int:
        """Descriptions left out."""
        return 0 if self._drawing is None else self._drawing.n_hidden

    def _nodes(self, vectors: npt.NDArray[Any]) -> list[int]:
        """The nodes of descriptions, without those that were never seen."""
        if not self._planner.counts.n_nodes:
            return []
        found = self._planner.counts.index.find(vectors)
        return [int(node) for node in found if node >= 0]


def _options(drawing: GraphDrawing, way: list[int], ahead: list[int]) -> dict[str, Any]:
    series = {
        "type": "graph",
        "layout": "none",
        "left": 24,
        "right": 24,
        "top": 26,
        "bottom": 28,
        "preserveAspect": "contain",
        "data": _points(drawing, way, ahead),
        "links": _lines(drawing, way, ahead),
        "emphasis": {"disabled": True},
    }
    return {
        "animation": False,
        "tooltip": {"confine": True, "extraCssText": "max-width:340px;white-space:normal"},
        "series": [series],
    }


def _points(drawing: GraphDrawing, way: list[int], ahead: list[int]) -> list[dict[str, Any]]:
    labels = _labels(drawing, way, ahead)
    points = []
    for node, place, words in zip(drawing.nodes, drawing.places, drawing.words, strict=True):
        colour = VISITED if node in way else AHEAD if node in ahead else OTHER
        size = 15 if node in labels else 9 if node in way or node in ahead else 5
        points.append(
            {
                "name": str(node),
                # A chart is more than twice as wide as it is high.
                "x": round(230 * float(place[0]), 1),
                "y": round(100 * float(place[1]), 1),
                "symbolSize": size,
                "itemStyle": {"color": colour, "opacity": 1 if size > 5 else 0.55},
                "tooltip": {"formatter": html.escape(words).replace("{", "&#123;")},
                "label": {"color": colour, "fontWeight": "bold", **labels.get(node, {})},
            }
        )
    return points


def _labels(drawing: GraphDrawing, way: list[int], ahead: list[int]) -> dict[int, dict[str, Any]]:
    """The words beside where one is and where the plan ends, away from the line between them."""
    here, ends = [*ahead[:1], *way[-1:]][0], {}
    if len(ahead) > 1:
        ends = {here: ("here", ahead[1]), ahead[-1]: ("goal", ahead[-2])}
    elif len(way) > 1:
        ends = {here: ("here", way[-2])}
    else:
        ends = {here: ("here", here)}
    height = dict(zip(drawing.nodes.tolist(), drawing.places[:, 1].tolist(), strict=True))
    return {
        node: {
            "show": True,
            "formatter": words,
            "position": "bottom" if height[node] > height[other] else "top",
        }
        for node, (words, other) in ends.items()
    }


def _lines(drawing: GraphDrawing, way: list[int], ahead: list[int]) -> list[dict[str, Any]]:
    """Every pair of neighbours once, then the way and the plan on top."""
    order = np.argsort(-drawing.probs, kind="stable")
    pairs = drawing.nodes[np.sort(drawing.edges[order], axis=1)].tolist()
    others = list(dict.fromkeys((a, b) for a, b in pairs if a != b))[:MAX_EDGES]
    drawn = [
        (others, OTHER, 1, 0.22),
        (pairwise(way), VISITED, 3, 1),
        (pairwise(ahead), AHEAD, 3, 1),
    ]
    return [
        {
            "source": str(source),
            "target": str(target),
            "lineStyle": {"color": colour, "width": width, "opacity": opacity},
            "tooltip": {"show": False},
        }
        for lines, colour, width, opacity in drawn
        for source, target in lines
    ]
