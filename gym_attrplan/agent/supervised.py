"""Supervised models: success probabilities of hops, and outcomes of actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.agent.lookahead import Lookahead
from gym_attrplan.agent.low_level import policy_defaults
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.models import SuccessModel

MIN_ATTEMPTS = 200
"""Minimum number of attempts for a success model; with fewer the table is as good."""

MAX_IMAGINED = 2_000_000
"""Maximum number of pairs of state and action for the forward model's graph."""


def new_success_model(
    observation_space: spaces.Dict,
    low_level: Any,
    *,
    names: list[str],
    device: str,
    seed: int | None,
) -> SuccessModel:
    """Return a success model with a trunk of the same kind as the hop policy's.

    Args:
        observation_space: The observation space.
        low_level: The policy that hops.
        names: The attributes' :meth:`~gym_attrplan.AttributeSpace.value_names`.
        device: As in SB3.
        seed: Seed of its weights.
    """
    inverse = isinstance(low_level, InverseLearner)
    kwargs = policy_defaults(observation_space, names) if inverse else low_level.policy_kwargs
    return SuccessModel(
        observation_space,
        features_extractor_class=kwargs["features_extractor_class"],
        features_extractor_kwargs=kwargs.get("features_extractor_kwargs"),
        device=device,
        seed=seed or 0,
    )


def fit_success_model(model: SuccessModel, attempts: AttemptBuffer) -> None:
    """Fit q(s, hop) to the recent attempts."""
    batch_size = max(512, len(attempts) // 128)
    model.fit(attempts.observations, attempts.reached, batch_size=batch_size)


def imagine(
    learner: InverseLearner, examples: ExampleBuffer, rng: np.random.Generator
) -> TransitionCounts:
    """Fit the models of single actions, and build the forward model's graph from seen states."""
    learner.fit_forward()
    learner.fit_next_state()
    imagination = Foresight(learner.forward, n_candidates=64, rng=rng)
    n_states = MAX_IMAGINED // imagination.n_actions
    chosen = rng.permutation(len(examples))[:n_states]
    states = {key: part[chosen] for key, part in examples.observations.items()}
    states["achieved_goal"] = examples.rows["before"][chosen]
    return imagination.imagine(states)


def foresight(low_level: Any) -> Foresight | None:
    """Return the foresight of a fitted forward model, if there is one."""
    if not isinstance(low_level, InverseLearner) or not low_level.forward.is_fitted:
        return None
    return Foresight(low_level.forward)


def lookahead(
    low_level: Any, foresight: Foresight | None, *, max_seconds: float
) -> Lookahead | None:
    """Return the lookahead of a fitted model of the next observation, if there is one."""
    if foresight is None or low_level.next_state is None or not low_level.next_state.is_fitted:
        return None
    return Lookahead(foresight, low_level.next_state, max_seconds=max_seconds)


def planning_graph(
    counts: TransitionCounts, imagined: TransitionCounts | None, edges: str
) -> TransitionCounts:
    """Return the planner's graph: counted transitions, predicted ones, or both."""
    if imagined is None or edges == "table":
        return counts
    if edges == "model":
        return imagined
    both = TransitionCounts(counts.space)
    both.merge(counts)
    both.merge(imagined)
    return both
