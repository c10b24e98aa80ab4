"""Graphs made by hand or by hypothesis, and the slow, obvious answers they are held to."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import TransitionCounts

FOUR_BITS = AttributeSpace(["a", "b", "c", "d"])


def bits(node: int) -> list[int]:
    """Vector of four bits; ``a`` is the lowest."""
    return [(node >> i) & 1 for i in range(4)]


def graph_of(edges: dict[tuple[int, int], tuple[int, int]], n_nodes: int = 0) -> TransitionCounts:
    """Counts with ``{(from, to): (attempts, successes)}``; node i has the vector ``bits(i)``."""
    counts = TransitionCounts(FOUR_BITS)
    for node in range(n_nodes):
        counts.index.add(bits(node))
    if edges:
        sources, targets = np.array([[bits(node) for node in ends] for ends in edges]).swapaxes(
            0, 1
        )
        counts.record(sources, targets)
        attempts, successes = np.array(list(edges.values())).T
        which = np.repeat(np.arange(len(edges)), attempts)
        turn = np.arange(len(which)) - np.repeat(np.cumsum(attempts) - attempts, attempts)
        counts.attempt(sources[which], targets[which], turn < successes[which])
    return counts


def as_dict(counts: TransitionCounts) -> dict[tuple[tuple[int, ...], tuple[int, ...]], tuple]:
    """Everything counted, by vectors, so that node numbers do not matter."""
    edges = counts.edges()
    vectors = [tuple(vector) for vector in counts.index.vectors(np.arange(counts.n_nodes)).tolist()]
    columns = (edges.source, edges.target, edges.visits, edges.attempts, edges.successes)
    return {
        (vectors[source], vectors[target]): tuple(numbers)
        for source, target, *numbers in zip(*(column.tolist() for column in columns), strict=True)
    }


def node_edges(max_nodes: int = 12, max_edges: int = 40):
    """``{(from, to): (attempts, successes)}`` without loops."""
    node = st.integers(0, max_nodes - 1)
    pair = st.tuples(node, node).filter(lambda ends: ends[0] != ends[1])
    outcome = st.integers(0, 4).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
    return st.dictionaries(pair, outcome, min_size=1, max_size=max_edges)


def transitions(max_size: int = 30):
    """Lists of (from, to) nodes, loops included."""
    return st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=max_size)


def partial_goals():
    """Goals over four bits, -1 for free."""
    return st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4)


def brute_force(n_nodes: int, costs: dict[tuple[int, int], float]) -> np.ndarray:
    """Floyd–Warshall: the cost of the cheapest path between every two nodes."""
    distance = np.full((n_nodes, n_nodes), np.inf)
    np.fill_diagonal(distance, 0.0)
    for (source, target), cost in costs.items():
        distance[source, target] = min(distance[source, target], cost)
    for via, source, target in itertools.product(range(n_nodes), repeat=3):
        around = distance[source, via] + distance[via, target]
        distance[source, target] = min(distance[source, target], around)
    return distance
