"""The agent: environments, graph and learning algorithms combined."""

from gym_attrplan.agent.copies import CopiesVecEnv
from gym_attrplan.agent.planner_agent import AttributePlannerAgent
from gym_attrplan.agent.planner_options import PLANNERS, PlannerOptions
from gym_attrplan.agent.vec_env import VectorEnvAdapter

__all__ = [
    "PLANNERS",
    "AttributePlannerAgent",
    "CopiesVecEnv",
    "PlannerOptions",
    "VectorEnvAdapter",
]
