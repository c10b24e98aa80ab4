"""Torch networks and supervised models; none of them knows an environment."""

from gym_attrplan.models.networks import (
    GoalFusion,
    GoalFusionExtractor,
    SmallImageNet,
    WordsExtractor,
)

__all__ = ["GoalFusion", "GoalFusionExtractor", "SmallImageNet", "WordsExtractor"]
