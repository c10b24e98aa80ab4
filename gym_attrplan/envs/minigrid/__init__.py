"""MiniGrid in batches: its layouts, rules and views as arrays, a hundred environments at a time.

Nothing here imports MiniGrid before an environment is made.
"""

from gym_attrplan.envs.minigrid.batched import MiniGridVectorEnv

__all__ = ["MiniGridVectorEnv"]
