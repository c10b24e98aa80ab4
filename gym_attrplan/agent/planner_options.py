"""PlannerOptions: how an agent plans and follows its plans, and the two presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_type_hints

import numpy as np

from gym_attrplan.error import InvalidGraph, InvalidOption
from gym_attrplan.graph import ESTIMATORS
from gym_attrplan.models.restoring import is_a


@dataclass(frozen=True)
class PlannerOptions:
    """How the agent plans and follows its plans; each part can be switched by itself.

    Attributes:
        estimator: Edge probabilities: ``success_ratio`` (the paper's c_π), ``exploration_share``
            (the paper's ablation without c_π), ``beta_mean`` or ``beta_lower``.
        first_edge: Whether the success model judges the first hop to a neighbour from the state at
            hand. Where hops ask for changes it would have the agent put off what it is asked for:
            from elsewhere, where the state is not known yet, everything looks better.
        memory: Whether nodes visited and edges failed within an episode become more costly.
        sample_actions: Whether actions are always sampled from π, whatever ``deterministic`` says.
        retry_cost: What an action costs for each time it was tried in the same situation of the
            episode, in nats; for policies with discrete actions, followed deterministically. Where
            actions are a continuum, any cost but 0 has a hop that failed tried with sampled ones;
            where hops ask for changes, it has actions drawn wherever the same was seen before.
        unreachable: What to do about a goal the graph does not reach: head for the reachable
            node that meets most of it (``nearest``), or let the explorer act (``explore``).
        forward: Whether the forward model, where there is one, picks the action whose foreseen
            outcome is nearest to the goal; π acts where it sees no way.
        edges: What the graph is made of: what was counted (``table``), what the forward model
            believes possible (``model``), or ``both``; without a forward model the table.
        step_cost: Cost of a hop beside its improbability, in nats; None for 1 where actions are a
            continuum, else 0.001. With a continuum of actions a failed hop is tried again from
            another state: the cost is time, and 1/p tries cost about 1 - log p. With few actions
            the same action would mostly fail again.
        max_seconds: How long a search through descriptions that were never seen may take; then the
            nearest one found is headed for.
    """

    estimator: str = "beta_mean"
    first_edge: bool = True
    memory: bool = True
    sample_actions: bool = False
    retry_cost: float = 4.0
    unreachable: Literal["nearest", "explore"] = "nearest"
    forward: bool = True
    edges: Literal["table", "model", "both"] = "both"
    step_cost: float | None = None
    max_seconds: float = 10.0

    def __post_init__(self) -> None:
        """Say what is wrong now, not when the first plan is made."""
        for name, hint in get_type_hints(type(self)).items():
            if not is_a(value := getattr(self, name), hint):
                raise InvalidOption(f"{name} is {hint}; received {value!r:.100}.")
        if self.estimator not in ESTIMATORS:
            raise InvalidOption(
                f"estimator is one of {list(ESTIMATORS)}; received {self.estimator!r:.100}."
            )
        for name in ("retry_cost", "step_cost"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < np.inf:
                raise InvalidOption(f"{name} is a number from 0; received {value!r:.100}.")
        if not 0 < self.max_seconds < np.inf:
            raise InvalidOption(f"max_seconds is above 0; received {self.max_seconds!r:.100}.")


PLANNERS = {
    "robust": PlannerOptions(),
    "paper": PlannerOptions(
        estimator="success_ratio",
        first_edge=False,
        memory=False,
        sample_actions=True,
        retry_cost=0.0,
        forward=False,
        edges="table",
        step_cost=1e-3,
    ),
}
"""The default, better than the paper's; and the paper's, to the letter."""


_OF_NEIGHBOURS = ("estimator", "first_edge", "forward", "edges", "step_cost")
"""What there is to choose only where edges join whole descriptions."""


def checked_options(planner: str | PlannerOptions, *, hops: str = "neighbours") -> PlannerOptions:
    """The options that a name stands for, or the options themselves.

    Args:
        planner: The name or the options.
        hops: What the agent's hops are asked for.

    Raises:
        InvalidGraph: If there is no planner of that name.
        InvalidOption: If an option means nothing for such hops.
    """
    if isinstance(planner, PlannerOptions):
        for name in _OF_NEIGHBOURS if hops == "changes" else ():
            if (value := getattr(planner, name)) != getattr(PLANNERS["robust"], name):
                raise InvalidOption(
                    f"{name}={value!r} weighs edges between whole descriptions, and this agent's "
                    "hops ask for changes: make it with hops='neighbours' or planner='paper'."
                )
        return planner
    if planner not in PLANNERS:
        raise InvalidGraph(
            f"planner is one of {list(PLANNERS)} or PlannerOptions; received {planner!r}."
        )
    return checked_options(PLANNERS[planner], hops=hops)
