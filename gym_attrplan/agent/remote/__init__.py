"""Environments and practice in Ray's workers on many machines. Nothing here imports ray."""

from gym_attrplan.agent.remote.vec_env import RayVecEnv

__all__ = ["RayVecEnv"]
