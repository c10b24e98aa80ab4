"""Block environments: coloured blocks on a table, whose relations are the attributes.

Nothing here imports MuJoCo: :mod:`~gym_attrplan.envs.blocks.scene` loads it when a scene is made.
"""

from gym_attrplan.envs.blocks.batched import BlocksVectorEnv
from gym_attrplan.envs.blocks.continuous import ContinuousBlocksEnv
from gym_attrplan.envs.blocks.continuous_tasks import DropGoals
from gym_attrplan.envs.blocks.drop_table import DropTable
from gym_attrplan.envs.blocks.drops import Drops, collect_drops
from gym_attrplan.envs.blocks.env import BlocksEnv
from gym_attrplan.envs.blocks.examples import OneStepExamples, collect
from gym_attrplan.envs.blocks.frames import Frames
from gym_attrplan.envs.blocks.rules import BlocksRules
from gym_attrplan.envs.blocks.scene import BlockScene
from gym_attrplan.envs.blocks.tasks import BlockGoals

__all__ = [
    "BlockGoals",
    "BlockScene",
    "BlocksEnv",
    "BlocksRules",
    "BlocksVectorEnv",
    "ContinuousBlocksEnv",
    "DropGoals",
    "DropTable",
    "Drops",
    "Frames",
    "OneStepExamples",
    "collect",
    "collect_drops",
]
