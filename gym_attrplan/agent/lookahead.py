"""Lookahead: plans through states that were never seen, predicted action by action."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.attributes.packing import BitLayout
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.models.next_state import NextStateModel

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]

WIDTH = 128
"""Maximum number of predicted states that are expanded at each depth."""

MAX_OUTCOMES = 8_192
"""Maximum number of outcomes that are predicted at each depth."""

PATIENCE = 5
"""Maximum number of further actions without progress towards the goal, before a search ends."""

MIN_PROB = 0.1
"""Minimum probability of an outcome for it to be expanded."""


class Course(NamedTuple):
    """Sequence of descriptions, one action apart.

    Attributes:
        vectors: ``(n, n_attributes)``, without the current one.
        probs: ``(n,)`` probability of each, given the one before.
        reached: Whether the last one meets the goal.
    """

    vectors: IntArray
    probs: npt.NDArray[np.float64]
    reached: bool

    def cost(self, step_cost: float) -> float:
        """Return -log of its probability, plus ``step_cost`` for each action."""
        return float(step_cost * len(self.probs) - np.log(self.probs).sum())


class _Layer(NamedTuple):
    """States at the same number of actions: ``(n, …)`` each, and the index of each one's parent."""

    states: dict[str, Array]
    vectors: IntArray
    costs: npt.NDArray[np.float64]
    parents: Rows


class Lookahead:
    """Beam search with two models: of the outcomes of actions, and of the next observation.

    Layer by layer it expands the states with the most attributes of the goal: each attribute
    that is still wrong weighs as much as a probability of 1/e.

    Args:
        foresight: Predicts the effects of actions on the attributes.
        model: A fitted model of the next observation.
        max_seconds: Time limit of a search, in seconds.
    """

    def __init__(
        self, foresight: Foresight, model: NextStateModel, *, max_seconds: float = 10.0
    ) -> None:
        self.foresight = foresight
        self.model = model
        self.max_seconds = max_seconds
        self._width = max(1, min(WIDTH, MAX_OUTCOMES // foresight.n_actions))
        self._layout = BitLayout(foresight.model.attribute_space.sizes)

    def find(
        self,
        observation: Mapping[str, Array],
        goal: IntArray,
        *,
        step_cost: float = 0.0,
        max_cost: float = np.inf,
        banned: npt.NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Course:
        """Search a course to the goal, or to the nearest description found in time.

        Args:
            observation: Key → ``(1, …)`` the current state, with ``achieved_goal``.
            goal: ``(n_attributes,)``.
            step_cost: Cost of each action besides its improbability.
            max_cost: Cost that a course must stay below, such as that of a known plan.
            banned: ``(m,)`` whether each action must not come first, if actions can be enumerated.
            seed: Seed of the candidates, if they cannot; the same seed gives the same answer.
        """
        rng = np.random.default_rng(seed)
        stop = time.monotonic() + self.max_seconds
        start = np.asarray(observation["achieved_goal"])
        states = {key: part for key, part in observation.items() if key in self.model.parts}
        layers = [_Layer(states, start, np.zeros(1), np.full(1, -1))]
        known = self._keys(start)
        nearest, best = (0, 0), self._misses(start, goal)[0]
        while best and len(layers) - 1 - nearest[0] < PATIENCE and time.monotonic() < stop:
            limit = max_cost - len(layers) * step_cost
            first = banned if len(layers) == 1 else None
            layer = self._next(layers[-1], goal, known, rng, first, limit=limit)
            if not len(layer.vectors):
                break
            layers.append(layer)
            known = np.concatenate([known, self._keys(layer.vectors)])
            misses = self._misses(layer.vectors, goal)
            if misses.min() < best:  # of those that miss equally many, the most probable
                best = misses.min()
                nearest = len(layers) - 1, int(np.lexsort([layer.costs, misses])[0])
        return _course(layers, *nearest, reached=not best)

    def _next(
        self,
        layer: _Layer,
        goal: IntArray,
        known: npt.NDArray[np.void],
        rng: np.random.Generator,
        banned: npt.NDArray[np.bool_] | None,
        *,
        limit: float,
    ) -> _Layer:
        """Return the best states that single actions lead to at less than the limit's cost."""
        rows = {**layer.states, "achieved_goal": layer.vectors}
        candidates = self.foresight.candidates(len(layer.vectors), rng)
        foreseen = self.foresight.model.foresee(rows, candidates)
        costs = layer.costs[:, None] - np.log(np.maximum(foreseen.probs.astype(np.float64), 1e-12))
        possible = (foreseen.probs >= MIN_PROB) & (costs < limit)
        if banned is not None:
            possible &= ~banned
        parents, actions = np.nonzero(possible)
        vectors, costs = foreseen.vectors[parents, actions], costs[parents, actions]
        order = np.argsort(costs, kind="stable")  # of equal descriptions the most probable stays
        keys, first = np.unique(self._keys(vectors[order]), return_index=True)
        kept = order[first[~np.isin(keys, known)]]
        score = costs[kept] + self._misses(vectors[kept], goal)
        kept = kept[np.argsort(score, kind="stable")[: self._width]]
        parents, actions = parents[kept], actions[kept]
        taken = candidates[actions] if candidates.ndim == 2 else candidates[parents, actions]
        rows = {key: part[parents] for key, part in rows.items()}
        states = self.model.imagine({**rows, "desired_goal": vectors[kept]}, taken)
        return _Layer(states, vectors[kept], costs[kept], parents)

    def _misses(self, vectors: IntArray, goal: IntArray) -> Rows:
        """Return ``(n,)`` numbers of attributes that differ from the goal."""
        missing: Rows = ((vectors != goal) & (goal != FREE)).sum(axis=1)
        return missing

    def _keys(self, vectors: IntArray) -> npt.NDArray[np.void]:
        """Return ``(n,)`` keys, equal for equal descriptions."""
        packed = np.ascontiguousarray(self._layout.pack(vectors))
        keys: npt.NDArray[np.void] = packed.view(f"V{packed.shape[1] * 8}")[:, 0]
        return keys


def _course(layers: list[_Layer], depth: int, row: int, *, reached: bool) -> Course:
    """Return the course to a row of a layer."""
    rows = [row]
    for layer in reversed(layers[1 : depth + 1]):
        rows.append(int(layer.parents[rows[-1]]))
    steps = list(zip(layers, reversed(rows), strict=False))
    vectors = np.stack([layer.vectors[i] for layer, i in steps])[1:]
    costs = np.array([layer.costs[i] for layer, i in steps])
    return Course(vectors, np.exp(-np.diff(costs)), reached)
