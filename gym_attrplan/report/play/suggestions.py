"""Goals to begin with, near and far, from what an agent's graph can reach."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gym_attrplan.attributes import FREE
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import Planner
from gym_attrplan.report.play.reach import hops_from

MAX_CONSIDERED = 200
"""Of more descriptions that are equally far away, so many are looked at."""


@dataclass(frozen=True)
class Suggestion:
    """A goal in words, and how many hops away a description is that meets it."""

    words: str
    n_hops: int


def suggest_goals(
    planner: Planner, here: IntArray, *, n: int = 6, seed: int = 0
) -> list[Suggestion]:
    """Goals that a plan may reach from a description, from the nearest to the farthest.

    A goal names what is to come about and leaves the rest free, in as few words as can be.

    Args:
        planner: Knows the graph.
        here: Where the way begins.
        n: How many at most.
        seed: Of the choice among equally far ones.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> from gym_attrplan.graph import TransitionCounts
        >>> counts = TransitionCounts(AttributeSpace(["key", "door"]))
        >>> _ = counts.record([[0, 0], [1, 0]], [[1, 0], [0, 1]])
        >>> suggest_goals(Planner(counts), np.array([0, 0]))
        [Suggestion(words='key', n_hops=1), Suggestion(words='door', n_hops=2)]
    """
    counts = planner.counts
    node = int(counts.index.find(here)[0]) if counts.n_nodes else -1
    if node < 0:
        return []
    hops, rng = hops_from(planner, node), np.random.default_rng(seed)
    layers = [float(layer) for layer in np.unique(hops) if 0 < layer < np.inf]
    found: dict[str, int] = {}
    for layer, n_wanted in Counter(_spread(layers, n)).items():
        members = rng.permutation(np.flatnonzero(hops == layer))[:MAX_CONSIDERED]
        vectors = counts.index.vectors(members)
        goals = sorted((_what_comes_about(here, one) for one in vectors), key=_n_terms)
        for goal in _different(goals, n_wanted):
            nearest = hops[counts.index.matching(goal)].min()
            found.setdefault(counts.space.describe(goal), int(nearest))
    by_distance = sorted(found.items(), key=lambda item: item[1])
    return [Suggestion(words, n_hops) for words, n_hops in by_distance]


def _spread(layers: list[float], n: int) -> list[float]:
    """So many of the layers, evenly from the first to the last; some several times if few."""
    if not layers:
        return []
    places = np.linspace(0, len(layers) - 1, n).round().astype(int)
    return [layers[place] for place in places.tolist()]


def _different(goals: list[IntArray], n: int) -> list[IntArray]:
    """The first goals that are not all the same."""
    return list({goal.tobytes(): goal for goal in reversed(goals)}.values())[::-1][:n]


def _n_terms(goal: IntArray) -> int:
    return int((goal != FREE).sum())


def _what_comes_about(before: IntArray, after: IntArray) -> IntArray:
    """The goal that names what is different, what is not 0 alone if there is any."""
    changed = before != after
    positive = changed & (after != 0)
    return np.where(positive if positive.any() else changed, after, FREE)
