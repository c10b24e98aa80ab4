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
from gym_attrplan.graph import EdgeTable, Planner

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]

N_MOVES = 150
"""Times that all nodes move a little away from each other and towards their neighbours."""


def planner_of(agent: AttributePlannerAgent | Planner) -> Planner:
    """What an agent plans with; a planner is its own."""
    return agent if isinstance(agent, Planner) else agent.navigator.planner


@dataclass(frozen=True, eq=False)
class GraphDrawing:
    """A part of a graph, laid out so that neighbours lie together.

    Args:
        nodes: ``(n,)`` numbers of the nodes drawn.
        places: ``(n, 2)`` where, each from 0 to 1.
        words: Each node's attributes.
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
    words: tuple[str, ...]
    visits: FloatArray
    edges: IntArray
    probs: FloatArray
    n_hidden: int

    @classmethod
    def of(
        cls,
        agent: AttributePlannerAgent | Planner,
        *,
        keep: Sequence[int] = (),
        max_nodes: int = 300,
    ) -> GraphDrawing:
        """Draw what an agent plans over.

        Args:
            agent: The agent, or its planner.
            keep: Nodes to draw in any case, such as a plan's; by default the most visited one.
            max_nodes: Most nodes to draw: those, and what is fewest edges from them; of equally
                near ones the most visited.

        Raises:
            InvalidOption: If more nodes are to be kept than drawn.
        """
        planner = planner_of(agent)
        counts, edges, probs = planner.counts, planner.counts.edges(), planner.edge_probs()
        wanted = np.unique(np.asarray(keep, np.int64))
        if len(wanted) > max_nodes:
            raise InvalidOption(f"max_nodes={max_nodes} is less than the {len(wanted)} to be kept.")
        visits = np.zeros(counts.n_nodes)
        for ends in (edges.source, edges.target):
            visits += np.bincount(ends, edges.visits, counts.n_nodes)
        first = wanted if len(wanted) else np.array([visits.argmax()])
        hops = _hops_from(first, edges)
        nodes = np.sort(np.lexsort((-visits, hops))[:max_nodes])
        row = np.full(counts.n_nodes, -1, np.int64)
        row[nodes] = np.arange(len(nodes))
        pairs = np.stack([row[edges.source], row[edges.target]], axis=1)
        drawn = (pairs >= 0).all(axis=1)
        return cls(
            nodes=nodes,
            places=lay_out(len(nodes), pairs[drawn]),
            words=tuple(map(counts.space.describe, counts.index.vectors(nodes))),
            visits=visits[nodes],
            edges=pairs[drawn],
            probs=np.array(probs[drawn]),
            n_hidden=counts.n_nodes - len(nodes),
        )

    def rows(self, nodes: npt.ArrayLike) -> IntArray:
        """Where nodes, all of them drawn, stand in ``nodes``."""
        return np.searchsorted(self.nodes, nodes)


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
    """``(n, 2)`` places from 0 to 1 at which joined nodes are close and others are not.

    Begins with the graph's two slowest vibrations, which know its overall shape, and then lets
    springs work (Fruchterman and Reingold), which part what the former heap up.
    """
    if n < 3:
        return np.stack([np.linspace(0.0, 1.0, max(n, 1)), np.full(max(n, 1), 0.5)], axis=1)[:n]
    joined = np.zeros((n, n))
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    np.fill_diagonal(joined, 0.0)
    _, waves = np.linalg.eigh(np.diag(joined.sum(axis=1)) - joined)
    rng = np.random.default_rng(0)  # parts nodes that lie on each other, the same way every time
    places = _in_unit_square(waves[:, 1:3]) + rng.normal(scale=1e-3, size=(n, 2))
    ideal = 1.0 / np.sqrt(n)
    for heat in np.linspace(0.08, 0.002, N_MOVES):
        places += _moves(places, joined, ideal, heat)
    return _in_unit_square(places)


def _moves(places: FloatArray, joined: FloatArray, ideal: float, heat: float) -> FloatArray:
    apart = places[:, None] - places[None]
    distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
    force = (ideal / distance) ** 2 - joined * distance / ideal
    push: Any = np.einsum("ij,ijk->ik", force, apart)
    push -= places - places.mean(axis=0)  # what nothing joins would drift away
    size = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-12)
    moves: FloatArray = push / size * np.minimum(size, heat)
    return moves


def _in_unit_square(places: FloatArray) -> FloatArray:
    low, high = places.min(axis=0), places.max(axis=0)
    square: FloatArray = (places - low) / np.maximum(high - low, 1e-9)
    return square
