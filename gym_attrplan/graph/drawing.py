"""GraphDrawing: where the nodes of an attribute graph lie on paper, and what they are called."""

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
"""Times that the nodes move, from where the spectral layout has put them."""


@dataclass(frozen=True, eq=False)
class GraphDrawing:
    """A part of a graph, laid out so that neighbours lie together.

    Args:
        nodes: ``(n,)`` numbers of the nodes drawn.
        places: ``(n, 2)`` where, each from 0 to 1.
        vectors: ``(n, n_attributes)`` each node's attributes.
        words: The same in words.
        visits: ``(n,)`` how often exploration went through each.
        edges: ``(m, 2)`` rows of ``nodes`` that are joined, source and target.
        probs: ``(m,)`` the planner's probability of each edge.
        n_hidden: Nodes left out.

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
        """Lay out what a planner plans over.

        Args:
            planner: Whose graph.
            ways: ``(n, n_attributes)`` descriptions that are drawn in any case, such as a plan's;
                without any, the most visited one.
            max_nodes: Most nodes to draw: those, and what is fewest edges from them; of equally
                near ones the most visited.

        Raises:
            InvalidGraph: If the graph is empty.
            InvalidOption: If the ways have more nodes than may be drawn.
        """
        counts, edges, probs = planner.counts, planner.counts.edges(), planner.edge_probs()
        passed = [counts.index.find(way) for way in ways]
        wanted = np.unique(np.concatenate([[-1], *passed]))[1:]  # -1 is what was never seen
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
        """Rows of ``nodes`` through which a plan leads; what it only imagines is not there."""
        same = (plan.vectors[:, None] == self.vectors).all(axis=2)
        rows: IntArray = same.argmax(axis=1)[same.any(axis=1)]
        return rows

    def plot(self, plan: Plan | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw it: neighbours lie together, and darker edges work more often.

        Args:
            plan: A plan to draw through it.
            ax: Where to draw; new axes by default.

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
        """How much is drawn, in words."""
        n, n_all = len(self.nodes), len(self.nodes) + self.n_hidden
        part = f"{n:,}" if n == n_all else f"{n:,} of {n_all:,}"
        return f"{part} descriptions, {len(self.edges):,} transitions"


def _hops_from(nodes: IntArray, edges: EdgeTable) -> FloatArray:
    """``(n_nodes,)`` fewest edges, in either direction, from any of these nodes."""
    joined = sparse.csr_array(
        (np.ones(len(edges)), edges.target, edges.indptr), shape=(edges.n_nodes, edges.n_nodes)
    )
    hops: FloatArray = csgraph.dijkstra(
        joined, directed=False, indices=nodes, unweighted=True, min_only=True
    )
    return hops


def lay_out(n: int, edges: IntArray) -> FloatArray:
    """``(n, 2)`` places from 0 to 1 at which joined nodes are close and others are not."""
    import networkx as nx

    if n < 3:
        return np.stack([np.linspace(0.0, 1.0, max(n, 1)), np.full(max(n, 1), 0.5)], axis=1)[:n]
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges.tolist())
    rng = np.random.default_rng(0)  # parts nodes that lie on each other, the same way every time
    first = {
        i: place + rng.normal(scale=1e-3, size=2) for i, place in nx.spectral_layout(graph).items()
    }
    found = nx.spring_layout(graph, pos=first, iterations=N_MOVES, seed=0)
    places = np.array([found[i] for i in range(n)])
    low, high = places.min(axis=0), places.max(axis=0)
    square: FloatArray = (places - low) / np.maximum(high - low, 1e-9)
    return square
