"""What is learned from experience by supervision: how likely a hop is, and what actions lead to."""

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
"""Attempts below which no success model is fitted: the table then knows as much."""

MAX_IMAGINED = 2_000_000
"""Pairs of a state and an action from which the forward model draws its graph."""


def new_success_model(
    observation_space: spaces.Dict, low_level: Any, *, device: str, seed: int | None
) -> SuccessModel:
    """One with a trunk of the same kind as the hop policy's.

    Args:
        observation_space: What is seen.
        low_level: What hops.
        device: As in SB3.
        seed: Of its weights.
    """
    inverse = isinstance(low_level, InverseLearner)
    kwargs = policy_defaults(observation_space) if inverse else low_level.policy_kwargs
    return SuccessModel(
        observation_space,
        features_extractor_class=kwargs["features_extractor_class"],
        features_extractor_kwargs=kwargs.get("features_extractor_kwargs"),
        device=device,
        seed=seed or 0,
    )


def fit_success_model(model: SuccessModel, attempts: AttemptBuffer) -> None:
    """Learn q(s, hop) from the newest attempts."""
    batch_size = max(512, len(attempts) // 128)
    model.fit(attempts.observations, attempts.reached, batch_size=batch_size)


def imagine(
    learner: InverseLearner, examples: ExampleBuffer, rng: np.random.Generator
) -> TransitionCounts:
    """Fit the models of what actions do, and have one draw its graph from states that were seen."""
    learner.fit_forward()
    learner.fit_next_state()
    imagination = Foresight(learner.forward, n_candidates=64, rng=rng)
    n_states = MAX_IMAGINED // imagination.n_actions
    chosen = rng.permutation(len(examples))[:n_states]
    states = {key: part[chosen] for key, part in examples.observations.items()}
    states["achieved_goal"] = examples.rows["before"][chosen]
    return imagination.imagine(states)


def foresight(low_level: Any) -> Foresight | None:
    """What picks actions by where they lead, if there is a fitted forward model."""
    if not isinstance(low_level, InverseLearner) or not low_level.forward.is_fitted:
        return None
    return Foresight(low_level.forward)


def lookahead(
    low_level: Any, foresight: Foresight | None, *, max_seconds: float
) -> Lookahead | None:
    """What imagines several actions, if there is a fitted model of what is seen next."""
    if foresight is None or low_level.next_state is None or not low_level.next_state.is_fitted:
        return None
    return Lookahead(foresight, low_level.next_state, max_seconds=max_seconds)


def planning_graph(
    counts: TransitionCounts, imagined: TransitionCounts | None, edges: str
) -> TransitionCounts:
    """What a planner's edges are made of: what was counted, what was imagined, or both."""
    if imagined is None or edges == "table":
        return counts
    if edges == "model":
        return imagined
    both = TransitionCounts(counts.space)
    both.merge(counts)
    both.merge(imagined)
    return both
