"""MiniGrid in batches: its layouts, rules and views as arrays, many environments at once.

Nothing here imports MiniGrid before an environment is made.
"""

from gym_attrplan.envs.minigrid.batched import MiniGridVectorEnv
from gym_attrplan.envs.minigrid.factories import minigrid_vec

__all__ = ["MiniGridVectorEnv", "minigrid_vec"]
