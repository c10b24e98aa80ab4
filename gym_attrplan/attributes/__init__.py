"""The attribute language: what matters about a state, and how to say it."""

from gym_attrplan.attributes.functions import AttributeFunction, load_function, read_values
from gym_attrplan.attributes.space import FREE, AttributeSpace, GoalLike

__all__ = [
    "FREE",
    "AttributeFunction",
    "AttributeSpace",
    "GoalLike",
    "load_function",
    "read_values",
]
