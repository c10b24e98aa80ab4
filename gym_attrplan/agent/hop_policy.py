"""HopPolicy: acts towards the targets that the navigator sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.agent.retries import PATIENCE, searching_actions, wandering_actions
from gym_attrplan.agent.trail import CAME_FROM
from gym_attrplan.algorithms.memory import BEGUN, HIDDEN
from gym_attrplan.attributes import FREE

Observations = dict[str, npt.NDArray[Any]]


class HopPolicy:
    """Acts towards the targets of a journey, with the learned policy.

    The memory of a recurrent policy is a part of the journey.

    Args:
        low_level: The policy that hops: an SB3 algorithm or an inverse learner.
        explorer: The policy that acts if there is no target.
        options: Whether actions are sampled, and whether others are tried after a failure.
        draw: Whether those are sampled from the policy, instead of being the least tried ones.
        is_random: Whether chance decides about the effects of actions. Then samples of actions are
            drawn from the policy itself, never from a flatter distribution.
    """

    def __init__(
        self,
        low_level: Any,
        explorer: Any,
        options: PlannerOptions,
        *,
        draw: bool,
        is_random: bool = False,
    ) -> None:
        self._low_level = low_level
        self._explorer = explorer
        self._options = options
        self._draw = draw
        self._is_random = is_random

    def act(
        self, observations: Observations, journey: Journey, *, deterministic: bool
    ) -> npt.NDArray[Any]:
        """Return the ``(n, …)`` actions to take.

        Args:
            observations: ``{key: (n, …)}``.
            journey: The targets of all rows; actions that are tried are recorded in it, and what a
                recurrent policy remembers.
            deterministic: Whether to take the most probable actions; no effect if
                ``sample_actions`` is set.
        """
        space: spaces.Space[Any] = self._low_level.action_space
        actions = np.zeros((len(journey.goals), *(space.shape or ())), space.dtype)
        if journey.actions is not None:
            actions[journey.foreseen] = journey.actions[journey.foreseen]
        wanted = self._seen(observations, journey)
        lost = np.flatnonzero(journey.lost)
        hopping = np.flatnonzero(~journey.foreseen & ~journey.lost)
        if len(hopping):
            rows = {key: part[hopping] for key, part in wanted.items()}
            actions[hopping] = self._hop(rows, journey, hopping, deterministic)
        if len(lost):
            rows = {key: part[lost] for key, part in wanted.items()}
            if deterministic:
                actions[lost] = wandering_actions(self._explorer, rows, journey, lost)
            else:
                actions[lost] = self._explorer.predict(rows, deterministic=False)[0]
        if HIDDEN in wanted:
            journey.hidden = self._low_level.policy.remember(wanted)
        return actions

    def _seen(self, observations: Observations, journey: Journey) -> Observations:
        """Return what the policy sees: its own goals, the way it came, and what it remembers."""
        targets = np.where(journey.lost[:, None], FREE, journey.targets)
        seen = {**observations, "desired_goal": targets.astype(journey.targets.dtype)}
        keys = self._low_level.observation_space.spaces
        if CAME_FROM in keys:
            seen[CAME_FROM] = journey.trail.seen()
        if BEGUN in keys:
            begin = self._low_level.policy.begin
            seen[HIDDEN] = begin(len(targets)) if journey.hidden is None else journey.hidden
        return seen

    def _hop(
        self,
        observations: Observations,
        journey: Journey,
        envs: npt.NDArray[np.int64],
        deterministic: bool,
    ) -> npt.NDArray[Any]:
        deterministic = deterministic and not self._options.sample_actions
        if deterministic and self._options.retry_cost:
            return searching_actions(
                self._low_level,
                observations,
                journey,
                envs,
                draw=self._draw,
                patience=np.inf if self._is_random else PATIENCE,
            )
        actions: npt.NDArray[Any] = self._low_level.predict(
            observations, deterministic=deterministic
        )[0]
        return actions
