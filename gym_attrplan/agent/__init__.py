"""The agent, and what ties environments, graph and learning algorithms together."""

from gym_attrplan.agent.vec_env import VectorEnvAdapter

__all__ = ["VectorEnvAdapter"]
