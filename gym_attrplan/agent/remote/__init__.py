"""Many machines: environments and practice in Ray's workers. Nothing here imports ray by itself."""

from gym_attrplan.agent.remote.vec_env import RayVecEnv

__all__ = ["RayVecEnv"]
