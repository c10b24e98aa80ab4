"""The attribute language: named properties of states, goals, and their text forms."""

from gym_attrplan.attributes.bins import Bins
from gym_attrplan.attributes.found import FoundAttributes
from gym_attrplan.attributes.functions import AttributeFunction, load_function, read_values
from gym_attrplan.attributes.goal_set import GoalSet
from gym_attrplan.attributes.lexicon import FREE
from gym_attrplan.attributes.space import AttributeSpace, GoalLike

__all__ = [
    "FREE",
    "AttributeFunction",
    "AttributeSpace",
    "Bins",
    "FoundAttributes",
    "GoalLike",
    "GoalSet",
    "load_function",
    "read_values",
]
