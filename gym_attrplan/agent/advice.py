"""Advice: problems of the chosen attributes that an agent's graph shows, and their remedies."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, GoalLike
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.graph.plan import describe_change

MIN_ATTEMPTS = 100
"""Minimum number of attempts from which to judge whether hops can be learned."""

MAX_ADVICE = 5
"""Maximum number of values without a successful hop that are named one by one."""

FEW_ATTEMPTS = 20
"""Number of attempts below which the success probability of a change counts as unknown."""

MOST = 0.05
"""Maximum share of descriptions that no hop has reached, without a warning."""

STEPS_EACH = 20
"""Minimum number of training steps per description, enough to leave it and return once."""

MIN_SUCCESS = 0.02
"""Minimum share of successful attempts; below it successes are taken for chance."""


class AdviceWarning(UserWarning):
    """Warning that the agent can continue, but that its input keeps it from doing well."""


def warn(advice: Iterable[str]) -> None:
    """Issue each piece of advice as an :class:`AdviceWarning` at the caller's line."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("gym_attrplan."):
        frame, level = frame.f_back, level + 1
    for text in advice:
        warnings.warn(text, AdviceWarning, stacklevel=level)


def on_exploring(counts: TransitionCounts, *, stopped: bool = False) -> list[str]:
    """Return what exploration is missing: any change at all, or changes of some attribute.

    Args:
        counts: The transitions seen.
        stopped: Whether training stopped early because of this.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([0, 0], [1, 0])
        >>> on_exploring(counts)
        ["'door' never changed while exploring: it was always 'not door'. ..."]
    """
    if counts.n_nodes < 2:
        ended = "training stopped early: " if stopped else ""
        return [
            f"{ended}exploring never saw an attribute change, so there is nothing to plan over. "
            "Name something that random actions change within an episode, or explore longer with "
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


def on_hopping(n_attempts: float, n_reached: float, *, max_hop_steps: int) -> list[str]:
    """Return advice if the hop policy almost never succeeds.

    Args:
        n_attempts: Number of recent attempts.
        n_reached: Number of them that succeeded.
        max_hop_steps: Maximum length of a hop, in steps.
    """
    if n_attempts < MIN_ATTEMPTS or n_reached >= MIN_SUCCESS * n_attempts:
        return []
    return [
        f"of the last {n_attempts:,.0f} attempts to hop {n_reached:,.0f} arrived. Train longer, "
        f"allow hops of more than max_hop_steps={max_hop_steps} steps, or add attributes that "
        "make hops shorter; the observation must show what the attributes speak of."
    ]


def on_practice(
    counts: TransitionCounts, outcomes: HopOutcomes, *, n_steps: int, max_hop_steps: int
) -> list[str]:
    """Return problems of practising changes: hops that never work, or too many descriptions.

    Args:
        counts: Every transition seen.
        outcomes: The outcomes of hops.
        n_steps: Steps of training.
        max_hop_steps: Maximum length of a hop, in steps.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> space = AttributeSpace(["key", "door"])
        >>> counts, outcomes = TransitionCounts(space), HopOutcomes(space)
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])
        >>> outcomes.record([[0, 0]] * 40, [[1, -1]] * 40, [[1, 0]] * 40, made=True, n_steps=4)
        >>> on_practice(counts, outcomes, n_steps=1_000, max_hop_steps=12)
        ["'door' was seen, but no hop to it ever worked (0 attempts). Train longer; ..."]
    """
    table = outcomes.table()
    n_attempts, n_reached = float(table.attempts.sum()), float(table.successes.sum())
    advice = on_hopping(n_attempts, n_reached, max_hop_steps=max_hop_steps)
    space, n_nodes = counts.space, counts.n_nodes
    if advice or not n_nodes:
        return advice
    vectors, edges = counts.index.vectors(np.arange(n_nodes)), counts.edges()
    before, after = vectors[edges.source], vectors[edges.target]
    for column, name in enumerate(space.names):
        came_about = after[before[:, column] != after[:, column], column]
        values = np.unique(came_about)
        goals = outcomes.singles(np.full(len(values), column), values)
        for goal, tried, made in zip(goals, *outcomes.attempts_at(goals), strict=True):
            if len(advice) == MAX_ADVICE:
                break
            if made < 1.0:
                advice.append(
                    f"{space.describe(goal)!r} was seen, but no hop to it ever worked "
                    f"({tried:,.0f} attempts). Train longer; or add an attribute for a step on the "
                    f"way to it, or leave {name!r} out."
                )
            elif tried < FEW_ATTEMPTS:
                advice.append(
                    f"{space.describe(goal)!r} was asked for only {tried:,.0f} times: its "
                    "success probability is uncertain. Train longer."
                )
    unreached = np.flatnonzero(outcomes.index.find(vectors) < 0)
    if not advice and len(unreached) > MOST * n_nodes:
        advice.append(
            f"{len(unreached):,} of {n_nodes:,} descriptions were seen that no hop has reached, "
            f"such as {space.describe(vectors[unreached[0]])!r}: as goals they have no plan. Train "
            "longer, or name fewer attributes."
        )
    if n_nodes * STEPS_EACH > n_steps:
        advice.append(
            f"there are {n_nodes:,} descriptions, more than {n_steps:,} steps can cover (about "
            f"{STEPS_EACH} each). Train longer, or name fewer attributes or coarser values."
        )
    return advice


def on_goal(counts: TransitionCounts, achieved: npt.ArrayLike, goal: GoalLike) -> str:
    """Return why there is no plan from a description to a goal, and which description is closest.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([0, 0], [1, 0])
        >>> on_goal(counts, [0, 0], "key, door")
        "no explored description meets 'key, door'; the closest is 'key, not door', which ..."
    """
    space, index = counts.space, counts.index
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
    """Summarise the graph in words, with the hop that most needs practice.

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
