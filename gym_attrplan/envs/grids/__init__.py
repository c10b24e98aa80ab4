"""Grid environments: random rooms whose switches or inventory are the attributes.

Nothing here imports MiniGrid: the rules, words, tasks and batched environments need only numpy, and
:mod:`~gym_attrplan.envs.grids.factories` loads MiniGrid when an environment is made.
"""

from gym_attrplan.envs.grids.batched import CraftingVectorEnv, SwitchesVectorEnv
from gym_attrplan.envs.grids.layout import Layout, Rooms
from gym_attrplan.envs.grids.rules import CraftingRules, SwitchesRules
from gym_attrplan.envs.grids.tasks import HaveItem, SwitchTargets
from gym_attrplan.envs.grids.words import Vocabulary

__all__ = [
    "CraftingRules",
    "CraftingVectorEnv",
    "HaveItem",
    "Layout",
    "Rooms",
    "SwitchTargets",
    "SwitchesRules",
    "SwitchesVectorEnv",
    "Vocabulary",
]
