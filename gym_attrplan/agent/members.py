"""Which description of a goal set to head for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gym_attrplan.agent.journey import BoolArray, Journey
from gym_attrplan.attributes import FREE, AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import Plan

Planning = Callable[[IntArray, GoalLike], Plan | None]


def as_vector(space: AttributeSpace, goal: GoalLike, here: IntArray, plan: Planning) -> IntArray:
    """A goal that one vector can hold, and from here the best one of those that meet the set.

    Args:
        space: The attributes.
        goal: What is asked for, in any form.
        here: ``(n_attributes,)`` where the way begins.
        plan: The best way from a description to a goal or a goal set; None if none is known.

    Returns:
        ``(n_attributes,)`` the values asked for, -1 for what is free.
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
    """``(n, n_attributes)`` which member of a set each environment heads for in its episode.

    Args:
        asked: What is asked for.
        achieved: ``(n, n_attributes)`` where the environments are.
        journey: Where they were heading; None at the very beginning.
        new_episode: ``(n,)`` where an episode has just begun.
        plan: As for :func:`as_vector`.
    """
    if journey is None or journey.asked != asked or len(journey.goals) != len(achieved):
        return np.stack([_best_member(asked, here, plan) for here in achieved])
    goals = journey.goals.copy()
    for i in np.flatnonzero(new_episode):
        goals[i] = _best_member(asked, achieved[i], plan)
    return goals


def _best_member(goal: GoalSet, here: IntArray, plan: Planning) -> IntArray:
    """Where the best way to a set ends; without one, what takes the fewest changes."""
    way = None if goal.matches(here) else plan(here, goal)
    return nearest_member(goal, here if way is None else way.vectors[-1])


def nearest_member(goal: GoalSet, description: IntArray) -> IntArray:
    """What a description must have, or get, to meet a goal set with as few changes as can be.

    Example:
        >>> space = AttributeSpace({"ore": 41, "lamp": ["red", "green"]})
        >>> nearest_member(space.goal_set("ore>=3, lamp=green or ore=40"), np.array([1, 1]))
        array([3, 1])
    """
    members = nearest_members(goal, description)
    n_changes = [((one != FREE) & (one != description)).sum() for one in members]
    return members[int(np.argmin(n_changes))]


def nearest_members(goal: GoalSet, description: IntArray) -> list[IntArray]:
    """The same for each alternative of the set."""
    members = []
    for alternative in goal.alternatives:
        vector = np.full(len(description), FREE, description.dtype)
        for i, allowed in alternative:
            values = np.array(allowed)
            vector[i] = values[np.abs(values - int(description[i])).argmin()]
        members.append(vector)
    return members
