"""Goals as keys: by what planners remember which goals they have searched for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from gym_attrplan.attributes import AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.vectors import IntArray

GoalKey: TypeAlias = bytes | GoalSet
"""The bytes of a goal that is a vector, or the set."""


def goal_key(space: AttributeSpace, goal: GoalLike) -> GoalKey:
    """The key of a goal in any form that ``goal_set`` reads.

    Raises:
        InvalidGoal: If the goal does not belong to the space. An array of the space's dtype is not
            checked: a bad one is the key of nothing, and is refused when it is searched for.

    Example:
        >>> space = AttributeSpace({"key": 2, "ore": 4})
        >>> goal_key(space, "key"), goal_key(space, "ore>1")
        (b'\\x01\\xff', GoalSet('ore>=2'))
    """
    if isinstance(goal, np.ndarray) and goal.dtype == space.dtype and goal.ndim == 1:
        return goal.tobytes()
    found = space.read_goal(goal)
    return found if isinstance(found, GoalSet) else found.tobytes()


def goal_of(space: AttributeSpace, key: GoalKey) -> IntArray | GoalSet:
    """The goal that has this key."""
    return np.frombuffer(key, space.dtype) if isinstance(key, bytes) else key
