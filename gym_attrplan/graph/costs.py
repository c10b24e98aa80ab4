"""Conversion of probabilities to costs: the sparse matrix of the shortest-path searches."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.edges import EdgeTable

Probs: TypeAlias = npt.NDArray[np.float64]


def checked_probs(probs: npt.ArrayLike, n: int, *, source: str) -> Probs:
    """Return probabilities as ``(n,)`` float64, checked to be from 0 to 1.

    Raises:
        InvalidGraph: On a wrong shape, a NaN or a number outside 0 … 1; the message names
            ``source``.
    """
    array = np.asarray(probs, np.float64)
    if array.shape != (n,):
        raise InvalidGraph(f"{source} must give {n} probabilities; received shape {array.shape}.")
    outside = ~((array >= 0.0) & (array <= 1.0))  # so that a NaN is outside
    if outside.any():
        raise InvalidGraph(
            f"{source} must give probabilities from 0 to 1; received {array[outside][0]} at edge "
            f"{int(np.flatnonzero(outside)[0])}."
        )
    return array


def edge_costs(probs: Probs, step_cost: float) -> npt.NDArray[np.float64]:
    """Return -log p + step cost: infinite where p is 0, above 0 everywhere."""
    with np.errstate(divide="ignore"):  # log 0 is infinite on purpose
        return step_cost - np.log(probs)


def cost_matrix(edges: EdgeTable, probs: Probs, step_cost: float) -> sparse.csr_array[Any]:
    """Return costs as a sparse ``(n_nodes, n_nodes)`` matrix, of edges with probability above 0.

    An infinite cost must not be an entry: csgraph would use such an edge.
    """
    usable = probs > 0.0
    costs = edge_costs(probs[usable], step_cost)
    before = np.concatenate([[0], np.cumsum(usable)]).astype(np.int32)
    shape = (edges.n_nodes, edges.n_nodes)
    return sparse.csr_array((costs, edges.target[usable], before[edges.indptr]), shape=shape)
