"""Keys of goals, by which planners cache their searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.vectors import IntArray, as_array
from gym_attrplan.error import InvalidGoal, InvalidGraph

GoalKey: TypeAlias = bytes | GoalSet
"""The bytes of a goal that is a vector, or the goal set."""


def goal_key(space: AttributeSpace, goal: GoalLike) -> GoalKey:
    r"""Return the key of a goal in any form that ``goal_set`` reads.

    Raises:
        InvalidGoal: If the goal does not belong to the space. An array of the space's dtype is not
            checked: an invalid one has an unused key, and is refused when it is searched for.

    Example:
        >>> space = AttributeSpace({"key": 2, "ore": 4})
        >>> goal_key(space, "key"), goal_key(space, "ore>1")
        (b'\x01\xff', GoalSet('ore>=2'))
    """
    if isinstance(goal, np.ndarray) and goal.dtype == space.dtype and goal.ndim == 1:
        return goal.tobytes()
    found = space.read_goal(goal)
    return found if isinstance(found, GoalSet) else found.tobytes()


def goal_keys(space: AttributeSpace, goals: GoalLike | Sequence[GoalLike], n: int) -> list[GoalKey]:
    """Return the keys of n goals: rows of an array, a list of goals, or one goal for all.

    Raises:
        InvalidGoal: If a goal does not belong to the space.
        InvalidGraph: If there are more or fewer than n.
    """
    if isinstance(goals, (str, Mapping, GoalSet)):
        return [goal_key(space, goals)] * n
    # Here a list of goals has one goal for each node; it is not a list of alternatives.
    if isinstance(goals, (list, tuple)) and any(
        isinstance(goal, (str, Mapping, GoalSet)) for goal in goals
    ):
        _check_number(len(goals), n)
        return [goal_key(space, goal) for goal in goals]
    rule = "goals are rows of values, a list of goals, or one goal for all"
    array = as_array(cast(npt.ArrayLike, goals), rule=rule, kind=InvalidGoal)
    if array.ndim != 2:
        return [goal_key(space, cast(GoalLike, goals))] * n
    _check_number(len(array), n)
    if array.dtype != space.dtype or array.shape[1] != len(space):
        return [goal_key(space, goal) for goal in array]
    whole_rows = np.dtype((np.void, array.shape[1] * array.itemsize))
    keys: list[GoalKey] = np.ascontiguousarray(array).view(whole_rows)[:, 0].tolist()
    return keys


def _check_number(received: int, n: int) -> None:
    if received != n:
        raise InvalidGraph(f"one goal for each of {n} nodes; received {received}.")


def goal_of(space: AttributeSpace, key: GoalKey) -> IntArray | GoalSet:
    """Return the goal that has this key."""
    return np.frombuffer(key, space.dtype) if isinstance(key, bytes) else key
