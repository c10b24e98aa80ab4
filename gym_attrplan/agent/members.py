"""Choice of one description from a goal set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gym_attrplan.agent.journey import BoolArray, Journey
from gym_attrplan.attributes import FREE, AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import Plan

Planning = Callable[[IntArray, GoalLike], Plan | None]


def as_vector(space: AttributeSpace, goal: GoalLike, here: IntArray, plan: Planning) -> IntArray:
    """Convert a goal to one vector: the best member of its set, seen from a description.

    Args:
        space: The attributes.
        goal: The goal, in any form.
        here: ``(n_attributes,)`` the current description.
        plan: Function that plans from a description to a goal or goal set; None if unreachable.

    Returns:
        ``(n_attributes,)`` the goal's values, -1 for free attributes.
    """
    wanted = space.read_goal(goal)
    return _best_member(wanted, here, plan) if isinstance(wanted, GoalSet) else wanted


def headed_for(
    asked: GoalSet,
    achieved: IntArray,
    journey: Journey | None,
    new_episode: BoolArray,
    plan: Planning,
) -> IntArray:
    """Choose for each environment the member of a goal set to head for in its episode.

    Args:
        asked: The goal set.
        achieved: ``(n, n_attributes)`` the current descriptions.
        journey: The last journey; None at the start.
        new_episode: ``(n,)`` whether an episode has just begun.
        plan: As for :func:`as_vector`.

    Returns:
        ``(n, n_attributes)`` the members.
    """
    if journey is None or journey.asked != asked or len(journey.goals) != len(achieved):
        return np.stack([_best_member(asked, here, plan) for here in achieved])
    goals = journey.goals.copy()
    for i in np.flatnonzero(new_episode):
        goals[i] = _best_member(asked, achieved[i], plan)
    return goals


def _best_member(goal: GoalSet, here: IntArray, plan: Planning) -> IntArray:
    """Return the end of the best plan to a set; without a plan, the nearest member."""
    way = None if goal.matches(here) else plan(here, goal)
    return nearest_member(goal, here if way is None else way.vectors[-1])


def nearest_member(goal: GoalSet, description: IntArray) -> IntArray:
    """Return the values with which a description meets a goal set with the fewest changes.

    Example:
        >>> space = AttributeSpace({"ore": 41, "lamp": ["red", "green"]})
        >>> nearest_member(space.goal_set("ore>=3, lamp=green or ore=40"), np.array([1, 1]))
        array([3, 1])
    """
    members = nearest_members(goal, description)
    n_changes = [((one != FREE) & (one != description)).sum() for one in members]
    return members[int(np.argmin(n_changes))]


def nearest_members(goal: GoalSet, description: IntArray) -> list[IntArray]:
    """Return the nearest member of each alternative of the set."""
    members = []
    for alternative in goal.alternatives:
        vector = np.full(len(description), FREE, description.dtype)
        for i, allowed in alternative:
            values = np.array(allowed)
            vector[i] = values[np.abs(values - int(description[i])).argmin()]
        members.append(vector)
    return members
