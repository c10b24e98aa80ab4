"""Graphs with plans to choose from: kept as ``*.graph.json``, drawn on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidData
from gym_attrplan.files import replacing
from gym_attrplan.graph import Plan, Planner
from gym_attrplan.graph.drawing import GraphDrawing
from gym_attrplan.graph.figures import draw_network, draw_way
from gym_attrplan.report.svg import page_axes, to_svg

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent


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
    planner = agent if isinstance(agent, Planner) else agent.navigator.planner
    plans = {}
    for start, goal in tasks:
        words = planner.counts.space.describe(planner.counts.space.goal(goal))
        plan = planner.plan(start, goal)
        if plan is None:
            raise InvalidData(f"there is no plan for {words!r}: explore longer, or ask for less.")
        plans[words] = plan
    data = graph_data(planner, title, plans, max_nodes=max_nodes)
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        part.write(json.dumps(data).encode())


def graph_data(
    planner: Planner, title: str, plans: Mapping[str, Plan], *, max_nodes: int = 300
) -> dict[str, Any]:
    """A graph and plans, by the words of their goals, as plain data."""
    drawing = GraphDrawing.of(
        planner, ways=[plan.vectors for plan in plans.values()], max_nodes=max_nodes
    )
    share = np.sqrt(drawing.visits / max(drawing.visits.max(), 1.0))
    return {
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
        "plans": [
            {
                "goal": goal,
                "nodes": drawing.way(plan).tolist(),
                "probs": [round(prob, 3) for prob in plan.edge_probs.tolist()],
                "changes": plan.hops,
            }
            for goal, plan in plans.items()
        ],
    }


def graph_svg(graph: Mapping[str, Any], group: str) -> str:
    """A graph as an element of the page, with its plans as panels of a group."""
    ax = page_axes(6.4, 4.4)
    places, sizes = (np.array([node[i] for node in graph["nodes"]]) for i in (slice(2), 2))
    ends = np.array([edge[:2] for edge in graph["edges"]], np.int64).reshape(-1, 2)
    probs = np.array([edge[2] for edge in graph["edges"]])
    draw_network(places, ends, probs=probs, visits=sizes**2, ax=ax)
    ax.collections[-1].set_gid("nodes")
    for i, plan in enumerate(graph["plans"]):
        if plan["nodes"]:
            draw_way(ax, places[plan["nodes"]], gid=f"panel {group}:{i}")
    return to_svg(ax, graph["title"], {"nodes": [node[3] for node in graph["nodes"]]})
