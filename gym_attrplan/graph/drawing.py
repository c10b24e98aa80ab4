"""GraphDrawing: layout and labels of the nodes of an attribute graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from gym_attrplan.error import InvalidOption
from gym_attrplan.graph.edges import EdgeTable
from gym_attrplan.graph.figures import draw_network, draw_way
from gym_attrplan.graph.plan import Plan
from gym_attrplan.graph.planner import Planner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]

N_MOVES = 150
"""Number of iterations of the layout, after the spectral layout."""


@dataclass(frozen=True, eq=False)
class GraphDrawing:
    """Part of a graph, laid out so that neighbours are close together.

    Args:
        nodes: ``(n,)`` numbers of the nodes.
        places: ``(n, 2)`` positions, each from 0 to 1.
        vectors: ``(n, n_attributes)`` each node's attributes.
        words: The same as text.
        visits: ``(n,)`` visits by exploration.
        edges: ``(m, 2)`` source and target of each edge, as rows of ``nodes``.
        probs: ``(m,)`` the planner's probability of each edge.
        n_hidden: Number of nodes left out.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> from gym_attrplan.graph import TransitionCounts
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
        >>> drawing = GraphDrawing.of(Planner(counts))
        >>> drawing.words
        ('not key, not door', 'key, not door', 'key, door')
        >>> drawing.edges.tolist()
        [[0, 1], [1, 2]]
    """

    nodes: IntArray
    places: FloatArray
    vectors: npt.NDArray[np.integer[Any]]
    words: tuple[str, ...]
    visits: FloatArray
    edges: IntArray
    probs: FloatArray
    n_hidden: int

    @classmethod
    def of(
        cls,
        planner: Planner,
        *,
        ways: Sequence[npt.NDArray[np.integer[Any]]] = (),
        max_nodes: int = 300,
    ) -> GraphDrawing:
        """Lay out a planner's graph.

        Args:
            planner: The planner.
            ways: ``(n, n_attributes)`` descriptions that are always drawn, such as a plan's;
                without any, the most visited one.
            max_nodes: Maximum number of nodes: those, and the nearest by number of edges; of
                equally near ones the most visited.

        Raises:
            InvalidGraph: If the graph is empty.
            InvalidOption: If the ways have more than ``max_nodes`` nodes.
        """
        counts, edges, probs = planner.counts, planner.counts.edges(), planner.edge_probs()
        passed = [counts.index.find(way) for way in ways]
        wanted = np.unique(np.concatenate([[-1], *passed]))[1:]  # -1 is an unknown description
        if len(wanted) > max_nodes:
            raise InvalidOption(
                f"max_nodes={max_nodes} is less than the {len(wanted)} nodes of plans and ways: "
                "allow more."
            )
        visits = np.zeros(counts.n_nodes)
        for ends in (edges.source, edges.target):
            visits += np.bincount(ends, edges.visits, counts.n_nodes)
        first = wanted if len(wanted) else np.array([visits.argmax()])
        hops = _hops_from(first, edges)
        nodes = np.sort(np.lexsort((-visits, hops))[:max_nodes])
        row = np.full(counts.n_nodes, -1, np.int64)
        row[nodes] = np.arange(len(nodes))
        vectors = counts.index.vectors(nodes)
        pairs = np.stack([row[edges.source], row[edges.target]], axis=1)
        drawn = (pairs >= 0).all(axis=1)
        return cls(
            nodes=nodes,
            places=lay_out(len(nodes), pairs[drawn]),
            vectors=vectors,
            words=tuple(map(counts.space.describe, vectors)),
            visits=visits[nodes],
            edges=pairs[drawn],
            probs=np.array(probs[drawn]),
            n_hidden=counts.n_nodes - len(nodes),
        )

    def way(self, plan: Plan) -> IntArray:
        """Return rows of ``nodes`` on a plan; imagined descriptions have none."""
        same = (plan.vectors[:, None] == self.vectors).all(axis=2)
        rows: IntArray = same.argmax(axis=1)[same.any(axis=1)]
        return rows

    def plot(self, plan: Plan | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the graph: neighbours are close together, and darker edges work more often.

        Args:
            plan: A plan to draw through it.
            ax: Axes to draw on; new ones by default.

        Raises:
            DependencyNotInstalled: If matplotlib is missing.
        """
        ax = draw_network(self.places, self.edges, probs=self.probs, visits=self.visits, ax=ax)
        if plan is not None and len(self.way(plan)):
            draw_way(ax, self.places[self.way(plan)])
        ax.set_title(self.about, fontsize=10)
        return ax

    @property
    def about(self) -> str:
        """The size of the drawing, in words."""
        n, n_all = len(self.nodes), len(self.nodes) + self.n_hidden
        part = f"{n:,}" if n == n_all else f"{n:,} of {n_all:,}"
        return f"{part} descriptions, {len(self.edges):,} transitions"


def _hops_from(nodes: IntArray, edges: EdgeTable) -> FloatArray:
    """Return ``(n_nodes,)`` minimum numbers of edges, in either direction, from these nodes."""
    joined = sparse.csr_array(
        (np.ones(len(edges)), edges.target, edges.indptr), shape=(edges.n_nodes, edges.n_nodes)
    )
    hops: FloatArray = csgraph.dijkstra(
        joined, directed=False, indices=nodes, unweighted=True, min_only=True
    )
    return hops


def lay_out(n: int, edges: IntArray) -> FloatArray:
    """Return ``(n, 2)`` positions from 0 to 1, with joined nodes close together."""
    import networkx as nx

    if n < 3:
        return np.stack([np.linspace(0.0, 1.0, max(n, 1)), np.full(max(n, 1), 0.5)], axis=1)[:n]
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges.tolist())
    rng = np.random.default_rng(0)  # separates nodes at equal positions, reproducibly
    first = {
        i: place + rng.normal(scale=1e-3, size=2) for i, place in nx.spectral_layout(graph).items()
    }
    found = nx.spring_layout(graph, pos=first, iterations=N_MOVES, seed=0)
    places = np.array([found[i] for i in range(n)])
    low, high = places.min(axis=0), places.max(axis=0)
    square: FloatArray = (places - low) / np.maximum(high - low, 1e-9)
    return square
