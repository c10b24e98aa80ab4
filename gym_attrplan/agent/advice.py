"""Advice: what an agent's graph says about the attributes chosen, and what to do about it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.graph.plan import describe_change

MIN_ATTEMPTS = 100
"""Fewer attempts say nothing about whether hops can be learned."""

MIN_SUCCESS = 0.02
"""Below this share of attempts hops do not succeed; by chance alone a few always do."""


class AdviceWarning(UserWarning):
    """The agent goes on, but what it was given keeps it from doing well."""


def warn(advice: Iterable[str]) -> None:
    """Say each piece of advice as an :class:`AdviceWarning` at the line that called the library."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("gym_attrplan."):
        frame, level = frame.f_back, level + 1
    for text in advice:
        warnings.warn(text, AdviceWarning, stacklevel=level)


def on_exploring(counts: TransitionCounts) -> list[str]:
    """What exploring found too little of: any change at all, or a change of some attribute.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([0, 0], [1, 0])
        >>> on_exploring(counts)
        ["'door' never changed while exploring: it was always 'not door'. ..."]
    """
    if counts.n_nodes < 2:
        return [
            "exploring never saw an attribute change, so there is nothing to plan over. Name "
            "something that random actions change within an episode, or explore longer with "
            "exploration_fraction; attrplan attributes ENV_ID shows values."
        ]
    vectors = counts.index.vectors(np.arange(counts.n_nodes))
    advice = []
    for column in np.flatnonzero((vectors == vectors[0]).all(axis=0)).tolist():
        name = counts.space.names[column]
        goal = np.full(len(counts.space), FREE, counts.space.dtype)
        goal[column] = vectors[0, column]
        advice.append(
            f"{name!r} never changed while exploring: it was always "
            f"{counts.space.describe(goal)!r}. Goals that want it otherwise are out of reach: "
            "explore longer, add an attribute for a step on the way to it, or leave it out."
        )
    return advice


def on_hopping(counts: TransitionCounts, *, max_hop_steps: int) -> list[str]:
    """Whether the hop policy arrives anywhere.

    Args:
        counts: The graph with the policy's attempts.
        max_hop_steps: The longest hop it was given.
    """
    edges = counts.edges()
    n_attempts, n_reached = float(edges.attempts.sum()), float(edges.successes.sum())
    if n_attempts < MIN_ATTEMPTS or n_reached >= MIN_SUCCESS * n_attempts:
        return []
    return [
        f"of the last {n_attempts:,.0f} attempts to hop {n_reached:,.0f} arrived. Train longer, "
        f"allow hops of more than max_hop_steps={max_hop_steps} steps, or add attributes that "
        "make hops shorter; the observation must show what the attributes speak of."
    ]


def on_goal(planner: Planner, achieved: npt.ArrayLike, goal: GoalLike) -> str:
    """Why there is no plan from a description to a goal, and what comes closest to it.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([0, 0], [1, 0])
        >>> on_goal(Planner(counts), [0, 0], "key, door")
        "no explored description meets 'key, door'; the closest is 'key, not door', which ..."
    """
    space, index = planner.counts.space, planner.counts.index
    wanted = space.goal(goal)
    if len(index) == 0:
        return "nothing was explored yet, so there is no plan: call learn() first."
    if len(index.matching(wanted)):
        return (
            f"{space.describe(wanted)!r} was seen, but no way to it from "
            f"{space.describe(achieved)!r}: explore longer from there."
        )
    vectors = index.vectors(np.arange(len(index)))
    differs = (vectors != wanted) & (wanted != FREE)
    closest = int(differs.sum(axis=1).argmin())
    missed = describe_change(space, vectors[closest], np.where(differs[closest], wanted, FREE))
    return (
        f"no explored description meets {space.describe(wanted)!r}; the closest is "
        f"{space.describe(vectors[closest])!r}, which lacks {missed!r}. Explore longer, or ask for "
        "less."
    )


def summary(planner: Planner) -> str:
    """What there is to plan with, in words, and the hop that most needs practice.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
        >>> counts.attempt([[0, 0], [1, 0]], [[1, 0], [1, 1]], [True, False])
        >>> print(summary(Planner(counts)))
        3 attribute sets, 2 transitions; a hop succeeds with 0.50 on average,
        the weakest with 0.33: door, from 'key, not door'.
    """
    counts, probs = planner.counts, planner.edge_probs()
    found = f"{counts.n_nodes:,} attribute sets, {counts.n_edges:,} transitions"
    if not len(probs):
        return f"{found}."
    edges, worst = counts.edges(), int(probs.argmin())
    before, after = counts.index.vectors([edges.source[worst], edges.target[worst]])
    return (
        f"{found}; a hop succeeds with {probs.mean():.2f} on average, the weakest with "
        f"{probs[worst]:.2f}: {describe_change(counts.space, before, after)}, "
        f"from {counts.space.describe(before)!r}."
    )
