"""Wrappers: attributes and goals on any environment, bonuses, teams of agents, and a checker."""

from gym_attrplan.wrappers.attribute import AttributeWrapper, with_attributes
from gym_attrplan.wrappers.bonus import (
    CountBonus,
    CountBonusVector,
    NormalizedCountBonus,
    NormalizedCountBonusVector,
)
from gym_attrplan.wrappers.checker import check_attribute_env
from gym_attrplan.wrappers.flat_vector import FlatVectorWrapper
from gym_attrplan.wrappers.goals import GoalSampler
from gym_attrplan.wrappers.team import TeamEnv
from gym_attrplan.wrappers.vector import AttributeVectorWrapper

__all__ = [
    "AttributeVectorWrapper",
    "AttributeWrapper",
    "CountBonus",
    "CountBonusVector",
    "FlatVectorWrapper",
    "GoalSampler",
    "NormalizedCountBonus",
    "NormalizedCountBonusVector",
    "TeamEnv",
    "check_attribute_env",
    "with_attributes",
]
