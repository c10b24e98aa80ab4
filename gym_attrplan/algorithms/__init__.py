"""Learning algorithms that SB3 lacks, usable without the rest of this library."""

from gym_attrplan.algorithms.her import TerminalHerReplayBuffer

__all__ = ["TerminalHerReplayBuffer"]
