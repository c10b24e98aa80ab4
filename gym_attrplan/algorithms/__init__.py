"""Learning algorithms that SB3 lacks, usable without the rest of this library."""

from gym_attrplan.algorithms.curriculum import Curriculum
from gym_attrplan.algorithms.her import TerminalHerReplayBuffer
from gym_attrplan.algorithms.option_critic import OptionCritic
from gym_attrplan.algorithms.reinforce import Reinforce
from gym_attrplan.algorithms.spread import SpreadEpisodes
from gym_attrplan.algorithms.unit_policy import UnitPolicy

__all__ = [
    "Curriculum",
    "OptionCritic",
    "Reinforce",
    "SpreadEpisodes",
    "TerminalHerReplayBuffer",
    "UnitPolicy",
]
