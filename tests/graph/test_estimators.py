from functools import partial

import numpy as np
import pytest
from graph_cases import graph_of, node_edges
from hypothesis import given

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import (
    ESTIMATORS,
    EdgeTable,
    beta_lower,
    beta_mean,
    exploration_share,
    success_ratio,
)


def table(visits, attempts, successes):
    """Edges out of node 0, and one more node for each target."""
    n = len(visits)
    return EdgeTable(
        indptr=np.array([0] + [n] * (n + 1), np.int32),
        target=np.arange(1, n + 1, dtype=np.int32),
        visits=np.array(visits, np.float64),
        attempts=np.array(attempts, np.float32),
        successes=np.array(successes, np.float32),
    )


EDGES = table(visits=[6, 1, 1, 0, 0], attempts=[0, 1, 3, 2, 4], successes=[0, 1, 1, 0, 2])


def test_success_ratio_by_hand():
    assert success_ratio(EDGES).tolist() == [0, 1, 1 / 3, 0, 0.5]


def test_exploration_share_by_hand():
    assert exploration_share(EDGES).tolist() == [0.75, 0.125, 0.125, 0, 0]


def test_beta_mean_by_hand():
    # The fourth edge was tried twice and never seen to happen: no edge at all.
    assert beta_mean(EDGES) == pytest.approx([1 / 2, 2 / 3, 2 / 5, 0, 3 / 6])
    assert beta_mean(EDGES, a=1, b=3) == pytest.approx([1 / 4, 2 / 5, 2 / 7, 0, 3 / 8])


def test_beta_lower_by_hand():
    # Beta(1, 1): F(x) = x. Beta(2, 1): F(x) = x².
    lower = beta_lower(EDGES, level=0.1)
    assert lower[:2] == pytest.approx([0.1, 0.1**0.5])
    assert lower[3] == 0
    # Beta(1, b): F(x) = 1 - (1 - x)^b, at the first edge with b = 3.
    assert beta_lower(EDGES, a=1, b=3, level=0.5)[0] == pytest.approx(1 - 0.5 ** (1 / 3))


def test_shares_are_taken_among_the_edges_of_one_node():
    edges = graph_of({(0, 1): (0, 0), (0, 2): (0, 0), (1, 2): (0, 0)}, n_nodes=3).edges()
    assert exploration_share(edges).tolist() == [0.5, 0.5, 1.0]


@given(node_edges())
def test_every_estimator_gives_probabilities_and_the_lower_bound_is_below_the_mean(case):
    edges = graph_of(case).edges()
    for estimator in ESTIMATORS.values():
        probs = estimator(edges)
        assert probs.shape == (len(edges),)
        assert probs.dtype == np.float64
        assert ((probs >= 0) & (probs <= 1)).all()
    assert (beta_lower(edges) < beta_mean(edges)).all()


@pytest.mark.parametrize("edges", [table([], [], []), table([0], [0], [0])])
def test_no_edges_and_edges_without_evidence_have_no_probability(edges):
    for estimator in ESTIMATORS.values():
        assert estimator(edges).tolist() == [0.0] * len(edges)


@pytest.mark.parametrize(
    "estimator",
    [
        partial(beta_mean, a=0),
        partial(beta_mean, b=np.nan),
        partial(beta_lower, a=-1),
        partial(beta_lower, level=0),
        partial(beta_lower, level=1.5),
    ],
)
def test_parameters_out_of_range_are_refused(estimator):
    with pytest.raises(InvalidGraph):
        estimator(EDGES)
