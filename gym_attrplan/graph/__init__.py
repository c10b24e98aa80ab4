"""The transition graph: counts, edge probabilities and plans."""

from gym_attrplan.graph.counts import TransitionCounts
from gym_attrplan.graph.edges import EdgeTable
from gym_attrplan.graph.estimators import (
    ESTIMATORS,
    Estimator,
    beta_lower,
    beta_mean,
    exploration_share,
    success_ratio,
)
from gym_attrplan.graph.explain import EdgeReport, Explanation, explain
from gym_attrplan.graph.index import KeyTable, NodeIndex
from gym_attrplan.graph.memory import EpisodeMemory
from gym_attrplan.graph.plan import Plan
from gym_attrplan.graph.planner import Planner

__all__ = [
    "ESTIMATORS",
    "EdgeReport",
    "EdgeTable",
    "EpisodeMemory",
    "Estimator",
    "Explanation",
    "KeyTable",
    "NodeIndex",
    "Plan",
    "Planner",
    "TransitionCounts",
    "beta_lower",
    "beta_mean",
    "explain",
    "exploration_share",
    "success_ratio",
]
