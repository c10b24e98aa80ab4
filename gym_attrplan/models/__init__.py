"""Torch networks and supervised models; none of them knows an environment."""

from gym_attrplan.models.detector import AttributeDetector, DetectorReport
from gym_attrplan.models.networks import (
    GoalFusion,
    GoalFusionExtractor,
    SmallImageNet,
    WordsExtractor,
)
from gym_attrplan.models.success import SuccessModel, SuccessReport

__all__ = [
    "AttributeDetector",
    "DetectorReport",
    "GoalFusion",
    "GoalFusionExtractor",
    "SmallImageNet",
    "SuccessModel",
    "SuccessReport",
    "WordsExtractor",
]
