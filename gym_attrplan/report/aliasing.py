"""Aliasing: states that look alike in attributes and are not, found in fresh attempts.

The planner takes for granted that an edge's probability depends on the attributes alone. Where it
depends on the state as well, :func:`find_aliasing` names the edge and the attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from gym_attrplan.attributes import FREE
from gym_attrplan.graph.plan import describe_change
from gym_attrplan.report.calibration import BoolArray, EdgeTrials, FloatArray

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent

CHANCE = 0.05
"""How likely a report is to name anything at all where states do not matter."""


@dataclass(frozen=True)
class StateDependence:
    """How much the success of a hop, or of all hops that change an attribute, depends on the state.

    Args:
        words: The hop or the attribute.
        n: Attempts.
        share: Of them that arrived.
        likely_share: Of those from states in which a model of success expected more than the
            edge's average.
        unlikely_share: Of the others.
        least_gap: The least difference between the two that chance leaves possible.

    Example:
        >>> StateDependence("door, from 'key'", 40, 0.5, 0.9, 0.1, 0.4).describe()
        "door, from 'key': 0.90 in some states, 0.10 in others (40 attempts)"
    """

    words: str
    n: int
    share: float
    likely_share: float
    unlikely_share: float
    least_gap: float

    def describe(self) -> str:
        """One line."""
        return (
            f"{self.words}: {self.likely_share:.2f} in some states, {self.unlikely_share:.2f} in "
            f"others ({self.n:,} attempts)"
        )


@dataclass(frozen=True)
class Aliasing:
    """Where the attributes hide what matters. Made by :func:`find_aliasing`.

    Args:
        edges: Edges whose success depends on the state, the surest and largest first.
        attributes: Attributes whose changes do, likewise.
        n_edges: Edges with attempts enough to tell.

    Example:
        >>> print(Aliasing((), (), n_edges=12).describe())
        None of 12 edges depends on the state as far as these attempts can tell.
    """

    edges: tuple[StateDependence, ...]
    attributes: tuple[StateDependence, ...]
    n_edges: int

    def describe(self) -> str:
        """The findings as text, and what to do about them."""
        if not self.edges and not self.attributes:
            return (
                f"None of {self.n_edges} edges depends on the state as far as these attempts can "
                "tell."
            )
        lines = [f"{len(self.edges)} of {self.n_edges} edges depend on the state:"]
        lines += [f"  {one.describe()}" for one in self.edges]
        lines.append("Changes that depend on the state, by attribute:")
        lines += [f"  {one.describe()}" for one in self.attributes]
        lines.append(
            "Add an attribute that tells such states apart, or keep a planner that looks at the "
            "state (first_edge)."
        )
        return "\n".join(lines)


def find_aliasing(
    agent: AttributePlannerAgent, trials: EdgeTrials, *, min_attempts: int = 20
) -> Aliasing:
    """Edges on which the state, not only the attributes, decides whether a hop arrives.

    A model of success says of each attempt whether it looked more or less likely than the edge's
    average; the model has not seen these attempts. If it is right about that more often than
    chance, the state matters. The agent's own model is asked; for an agent without one a model is
    trained on half of the attempts and asked about the other half.

    Args:
        agent: A trained agent.
        trials: Its fresh attempts, from :func:`try_edges`.
        min_attempts: An edge with fewer is not judged by itself.

    Raises:
        InvalidData: If there are too few attempts to train on.
    """
    trials, expected = _expectations(agent, trials)
    achieved, goals = (trials.observations[key] for key in ("achieved_goal", "desired_goal"))
    pairs, edge, n_tries = np.unique(
        np.concatenate([achieved, goals], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    mean = np.bincount(edge, expected) / n_tries
    likely = expected > mean[edge]
    space, n_attributes = agent.attribute_space, achieved.shape[1]
    often = np.flatnonzero(n_tries >= min_attempts)
    judged = []
    for i in often:
        before, after = pairs[i, :n_attributes], pairs[i, n_attributes:]
        words = f"{describe_change(space, before, after)}, from {space.describe(before)!r}"
        judged.append((words, edge == i))
    several, changed = n_tries[edge] > 1, (achieved != goals) & (goals != FREE)
    by_attribute = [(name, several & changed[:, k]) for k, name in enumerate(space.names)]
    return Aliasing(
        edges=_dependent(judged, trials.reached, likely),
        attributes=_dependent(by_attribute, trials.reached, likely),
        n_edges=len(often),
    )


def _expectations(
    agent: AttributePlannerAgent, trials: EdgeTrials
) -> tuple[EdgeTrials, FloatArray]:
    """What a model says of attempts that it was not trained on, and which these are."""
    model = agent.success_model
    if model is None or not model.is_trained:
        model = agent.new_success_model()
        order = np.random.default_rng(0).permutation(len(trials))
        learned, kept = np.array_split(order, 2)
        rows = {key: part[learned] for key, part in trials.observations.items()}
        model.fit(rows, trials.reached[learned])
        rest = {key: part[kept] for key, part in trials.observations.items()}
        trials = EdgeTrials(trials.predicted[kept], trials.reached[kept], rest)
    return trials, model.predict(trials.observations).astype(np.float64)


def _dependent(
    groups: list[tuple[str, BoolArray]], reached: BoolArray, likely: BoolArray
) -> tuple[StateDependence, ...]:
    """Of groups of attempts those in which the likely ones arrived more often, surely."""
    # So many groups are looked at: each must be as much surer, or chance alone would name some.
    z = float(stats.norm.ppf(1.0 - CHANCE / max(len(groups), 1)))
    found = []
    for words, members in groups:
        halves = [reached[members & likely], reached[members & ~likely]]
        if min(map(len, halves)) == 0:
            continue
        # Agresti and Caffo: an attempt more of each outcome keeps small groups honest.
        shares = [(half.sum() + 1) / (len(half) + 2) for half in halves]
        spread = sum(p * (1 - p) / (len(half) + 2) for p, half in zip(shares, halves, strict=True))
        least_gap = float(shares[0] - shares[1] - z * np.sqrt(spread))
        if least_gap > 0:
            share, likely_share, unlikely_share = (
                float(part.mean()) for part in (reached[members], *halves)
            )
            n = int(members.sum())
            found.append(StateDependence(words, n, share, likely_share, unlikely_share, least_gap))
    return tuple(sorted(found, key=lambda one: -one.least_gap))
