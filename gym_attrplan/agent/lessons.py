"""What the agent learns from its own experience beside its policies: who succeeds, what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.low_level import policy_defaults
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.models import SuccessModel

if TYPE_CHECKING:
    from gym_attrplan.agent.planner_agent import AttributePlannerAgent

MIN_ATTEMPTS = 200
"""Attempts below which no success model is fitted: the table then knows as much."""

MAX_IMAGINED = 2_000_000
"""Pairs of a state and an action from which the forward model draws its graph."""


def fit_success_model(agent: AttributePlannerAgent) -> None:
    """Learn q(s, ρ') from the newest attempts; with too few of them the table is used alone."""
    attempts = agent.attempts
    if len(attempts) < MIN_ATTEMPTS or not agent.planner_options.first_edge:
        return
    if agent.success_model is None:
        agent.success_model = new_success_model(agent)
    batch_size = max(512, len(attempts) // 128)
    agent.success_model.fit(attempts.observations, attempts.reached, batch_size=batch_size)
    agent._navigator = None


def new_success_model(agent: AttributePlannerAgent) -> SuccessModel:
    """One with a trunk of the same kind as the hop policy's."""
    inverse = agent.options.is_inverse
    kwargs = policy_defaults(agent.observation_space) if inverse else agent.low_level.policy_kwargs
    return SuccessModel(
        agent.observation_space,
        features_extractor_class=kwargs["features_extractor_class"],
        features_extractor_kwargs=kwargs.get("features_extractor_kwargs"),
        device=agent.options.device,
        seed=agent.options.seed or 0,
    )


def imagine(agent: AttributePlannerAgent) -> None:
    """Fit the forward model, and draw its own graph from states that were seen."""
    if agent.examples is None or len(agent.examples) < MIN_ATTEMPTS:
        return
    agent.low_level.fit_forward()
    imagination = Foresight(agent.low_level.forward, n_candidates=64, rng=agent.rng)
    n_states = MAX_IMAGINED // imagination.n_actions
    chosen = agent.rng.permutation(len(agent.examples))[:n_states]
    states = {key: part[chosen] for key, part in agent.examples.observations.items()}
    states["achieved_goal"] = agent.examples.rows["before"][chosen]
    agent.imagined = imagination.imagine(states)
    agent._navigator = None


def foresight(agent: AttributePlannerAgent) -> Foresight | None:
    """What picks actions by where they lead, if there is a fitted forward model."""
    if not agent.options.is_inverse or not agent.low_level.forward.is_fitted:
        return None
    return Foresight(agent.low_level.forward)


def planning_graph(agent: AttributePlannerAgent) -> TransitionCounts:
    """What the planner's edges are made of."""
    edges = agent.planner_options.edges
    if agent.imagined is None or edges == "table":
        return agent.counts
    if edges == "model":
        return agent.imagined
    both = TransitionCounts(agent.attribute_space)
    both.merge(agent.counts)
    both.merge(agent.imagined)
    return both
