"""Estimators of the probability that the policy, at an edge's source, reaches its target.

Each is a function from an :class:`~gym_attrplan.graph.EdgeTable` to ``(n_edges,)`` float64. An
edge that was never seen, by exploration or by an attempt, has probability 0: a prior alone makes no
edge. Set other parameters with ``functools.partial``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.edges import EdgeTable

Probs: TypeAlias = npt.NDArray[np.float64]
Estimator: TypeAlias = Callable[[EdgeTable], Probs]


def success_ratio(edges: EdgeTable) -> Probs:
    """Return successes over attempts, 0 without attempts: the paper's c_π.

    One success in one attempt gives probability 1, unlike with :func:`beta_mean`.
    """
    ratio = np.zeros(len(edges))
    tried = edges.attempts > 0
    np.divide(edges.successes, edges.attempts, out=ratio, where=tried, dtype=np.float64)
    return ratio


def exploration_share(edges: EdgeTable) -> Probs:
    """Return the edge's share of its source's visits: the paper's ablation without c_π."""
    leaving = np.bincount(edges.source, weights=edges.visits, minlength=edges.n_nodes)
    share = np.zeros(len(edges))
    np.divide(edges.visits, leaving[edges.source], out=share, where=edges.visits > 0)
    return np.minimum(share, 1.0)  # a sum may round below its only term


def beta_mean(edges: EdgeTable, a: float = 1.0, b: float = 1.0) -> Probs:
    """Return the posterior mean after the attempts, from a Beta(a, b) prior.

    Args:
        edges: The counts.
        a: Prior number of successes, above 0.
        b: Prior number of failures, above 0.
    """
    a, b = _checked_prior(a, b)
    successes, attempts = edges.successes.astype(np.float64), edges.attempts.astype(np.float64)
    return _where_seen(edges, (successes + a) / (attempts + (a + b)))


def beta_lower(edges: EdgeTable, a: float = 1.0, b: float = 1.0, level: float = 0.1) -> Probs:
    """Return the ``level`` quantile of the posterior, a cautious lower bound.

    It prefers edges that are known to work to edges that may work.

    Args:
        edges: The counts.
        a: Prior number of successes, above 0.
        b: Prior number of failures, above 0.
        level: Between 0 and 1; lower is more cautious.
    """
    a, b = _checked_prior(a, b)
    if not 0.0 < level < 1.0:
        raise InvalidGraph(f"a quantile's level is between 0 and 1; received {level}.")
    # Millions of edges share a few outcomes, and the quantile is slow: compute it once for each.
    outcomes = np.stack([edges.successes, edges.attempts], axis=1).view(np.uint64)[:, 0]
    distinct, which = np.unique(outcomes, return_inverse=True)
    successes, attempts = distinct[:, None].view(np.float32).T.astype(np.float64)
    quantile = special.betaincinv(a + successes, b + attempts - successes, level)
    return _where_seen(edges, quantile[which])


ESTIMATORS: dict[str, Estimator] = {
    "success_ratio": success_ratio,
    "exploration_share": exploration_share,
    "beta_mean": beta_mean,
    "beta_lower": beta_lower,
}
"""The estimators by name, for ``Planner(counts, estimator=...)``."""


def _where_seen(edges: EdgeTable, probs: Probs) -> Probs:
    return np.where((edges.visits > 0) | (edges.successes > 0), probs, 0.0)


def _checked_prior(a: float, b: float) -> tuple[float, float]:
    if not (0.0 < a < np.inf and 0.0 < b < np.inf):
        raise InvalidGraph(f"a Beta prior has a and b above 0; received a={a}, b={b}.")
    return float(a), float(b)
