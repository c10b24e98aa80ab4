"""DirectPolicy: the hop policy sent straight to the goal, to show what planning adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.hop_policy import HopPolicy
from gym_attrplan.agent.inputs import Observation
from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.members import nearest_member
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.attributes import GoalLike


class DirectPolicy:
    """An agent's hop policy without its planner: the whole goal is the one change it is asked for.

    Args:
        agent: Whose hop policy acts.
    """

    def __init__(self, agent: AttributePlannerAgent) -> None:
        self._agent = agent
        options = PlannerOptions(retry_cost=0.0)
        self._policy = HopPolicy(agent.low_level, agent.explorer, options, draw=False)

    def predict(
        self,
        observation: Observation,
        state: Journey | None = None,
        episode_start: npt.ArrayLike | None = None,
        deterministic: bool = False,
        *,
        goal: GoalLike,
    ) -> tuple[npt.NDArray[Any], Journey]:
        """As ``AttributePlannerAgent.predict``, for one environment."""
        agent = self._agent
        batch, _ = agent.as_batch(observation)
        here = batch["achieved_goal"]
        wanted = nearest_member(agent.attribute_space.goal_set(goal), here[0])[None]
        begun = np.broadcast_to(np.asarray(episode_start, np.bool_), 1)
        journey, _ = Journey.resume(state, here, wanted, begun, retry_cost=0.0)
        journey.goals, journey.targets = wanted, wanted.copy()
        return self._policy.act(batch, journey, deterministic=deterministic)[0], journey
