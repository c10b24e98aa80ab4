"""PlannerOptions: how an agent plans and follows its plans, and two presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_type_hints

import numpy as np

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph, InvalidOption
from gym_attrplan.graph import ESTIMATORS
from gym_attrplan.models.restoring import is_a


@dataclass(frozen=True)
class PlannerOptions:
    """Options for planning and for following plans, each independent of the others.

    Attributes:
        estimator: Edge probabilities: ``success_ratio`` (the paper's c_π), ``exploration_share``
            (the paper's ablation without c_π), ``beta_mean`` or ``beta_lower``.
        first_edge: Whether the success model predicts the probability of the first hop to a
            neighbour from the current state. With hops that ask for changes the agent would
            postpone difficult changes: later hops, whose state is unknown, look easier.
        memory: Whether visited nodes and failed edges cost more within an episode.
        sample_actions: Whether actions are always sampled from π, regardless of
            ``deterministic``.
        retry_cost: Extra cost of an action, in nats, for each time it was tried in the same
            situation of the episode, for deterministic policies with discrete actions. With
            continuous actions, any cost above 0 means that a failed hop is retried with sampled
            actions. With hops that ask for changes, it means that actions are sampled when the same
            observation returns.
        unreachable: What to do if the graph does not reach a goal: head for the reachable node that
            meets most of it (``nearest``), or let the explorer act (``explore``).
        forward: Whether the forward model, if there is one, picks the action whose predicted
            outcome is nearest to the goal; π acts if there is no such action.
        edges: Source of the graph: the counted transitions (``table``), the forward model's
            predictions (``model``), or ``both``; without a forward model the table.
        step_cost: Cost of a hop beside its improbability, in nats; None for 1 with continuous
            actions, else 0.001. With continuous actions a failed hop is retried from
            another state, so the cost is time, and 1/p tries cost about 1 - log p. With few actions
            the same action would mostly fail again.
        max_seconds: Time limit, in seconds, of a search through descriptions that were never seen;
            after it, the agent heads for the nearest one found.
        ignore: Attributes that plans ignore unless the goal names them, with hops that ask for
            changes. Descriptions that differ only in them count as one, with more attempts. None
            finds them for each goal: those without which the success of hops is predicted at least
            as well (:func:`gym_attrplan.graph.abstraction.needless`), or, where descriptions have
            few attempts, those that no useful hop depends on
            (:class:`gym_attrplan.graph.dependence.Dependence`). ``()`` leaves out none, and each
            description counts its own attempts.
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
    ignore: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Raise errors now, not when the first plan is made."""
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
"""Presets: the default, which improves on the paper's planner, and the paper's own."""


_OF_NEIGHBOURS = ("estimator", "first_edge", "forward", "edges", "step_cost")
"""Options that apply only if edges join whole descriptions."""


def checked_options(planner: str | PlannerOptions, *, hops: str = "neighbours") -> PlannerOptions:
    """Return the options of a preset's name, or the given options, checked.

    Args:
        planner: The name or the options.
        hops: The goal of the agent's hops.

    Raises:
        InvalidGraph: If there is no preset of that name.
        InvalidOption: If an option does not apply to such hops.
    """
    if isinstance(planner, PlannerOptions):
        for name in _OF_NEIGHBOURS if hops == "changes" else ():
            if (value := getattr(planner, name)) != getattr(PLANNERS["robust"], name):
                raise InvalidOption(
                    f"{name}={value!r} weighs edges between whole descriptions, and this agent's "
                    "hops ask for changes: make it with hops='neighbours' or planner='paper'."
                )
        if planner.ignore and hops != "changes":
            raise InvalidOption(
                f"ignore={planner.ignore} needs hops that ask for changes; these ask for {hops}."
            )
        return planner
    if planner not in PLANNERS:
        raise InvalidGraph(
            f"planner is one of {list(PLANNERS)} or PlannerOptions; received {planner!r}."
        )
    return checked_options(PLANNERS[planner], hops=hops)


def check_ignored(options: PlannerOptions, space: AttributeSpace) -> None:
    """Check that the ignored attributes are some of an agent's attributes, not all.

    Raises:
        InvalidOption: If not.
    """
    if options.ignore is not None and not set(options.ignore) < set(space):
        raise InvalidOption(
            f"ignore names some of the attributes {list(space)}, not all; received "
            f"{list(options.ignore)}."
        )
