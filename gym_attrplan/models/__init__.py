"""Torch networks and supervised models, all independent of environments."""

from gym_attrplan.models.detector import AttributeDetector, DetectorReport
from gym_attrplan.models.examples import Examples, IndexedRows
from gym_attrplan.models.fitting import FitSettings
from gym_attrplan.models.forward import ForwardModel, ForwardReport
from gym_attrplan.models.inverse import InverseModel, InverseReport
from gym_attrplan.models.networks import (
    GoalFusion,
    GoalFusionExtractor,
    SmallImageNet,
    WordsExtractor,
)
from gym_attrplan.models.next_state import NextStateModel
from gym_attrplan.models.success import SuccessModel, SuccessReport
from gym_attrplan.models.trunk import Trunk, TrunkReport

__all__ = [
    "AttributeDetector",
    "DetectorReport",
    "Examples",
    "FitSettings",
    "ForwardModel",
    "ForwardReport",
    "GoalFusion",
    "GoalFusionExtractor",
    "IndexedRows",
    "InverseModel",
    "InverseReport",
    "NextStateModel",
    "SmallImageNet",
    "SuccessModel",
    "SuccessReport",
    "Trunk",
    "TrunkReport",
    "WordsExtractor",
]
