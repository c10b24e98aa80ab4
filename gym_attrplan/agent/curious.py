"""CuriousExplorer: goes where the forward model foresees descriptions that are rare so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import Observations, RandomExplorer
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.attributes.space import IntArray

FIRST_FIT = 5_000
"""Examples after which the forward model is first fitted; then again whenever they have doubled."""

RANDOM_SHARE = 0.2
"""Of all actions so many stay random: a model that is wrong must get to see that it is."""


class CuriousExplorer(RandomExplorer):
    """Takes the action whose foreseen outcome surprises most, by how rare each of its values is.

    Counting whole descriptions does not help where nearly every one is new. A description is the
    more surprising the rarer the values it is made of: three blocks on one another, where random
    drops hardly ever stack two. What is visited often stops being rare, and is left alone.

    Args:
        venv: Worlds that keep what every action did.
        learner: Whose forward model foresees, and whose examples it is fitted to.
        seed: Of the actions.
    """

    def __init__(self, venv: VecEnv, learner: InverseLearner, *, seed: int | None = None) -> None:
        super().__init__(venv, seed=seed)
        self._learner = learner
        self._rng = np.random.default_rng(seed)
        self._next_fit = FIRST_FIT
        sizes = learner.forward.attribute_space.sizes
        self._seen = np.ones((len(sizes), int(sizes.max())))  # as if each value had been seen once

    def _act(self, observations: Observations) -> npt.NDArray[Any]:
        self._count(observations["achieved_goal"])
        if len(self._learner.examples) >= self._next_fit:
            self._learner.fit_forward()
            self._next_fit = 2 * len(self._learner.examples)
        actions = super()._act(observations)
        if self._learner.forward.is_fitted:
            curious = np.flatnonzero(self._rng.random(len(actions)) >= RANDOM_SHARE)
            rows = {key: part[curious] for key, part in observations.items()}
            foresight = Foresight(self._learner.forward, n_candidates=128, rng=self._rng)
            choice = foresight.seek(rows, self._surprise)
            actions[curious[choice.found]] = choice.actions[choice.found]
        return actions

    def _count(self, vectors: IntArray) -> None:
        for column, values in enumerate(vectors.T):
            np.add.at(self._seen[column], values, 1.0)

    def _surprise(self, vectors: IntArray) -> npt.NDArray[np.float64]:
        """``(…, n_attributes)`` → ``(…)``: minus the logarithm of each value's share, added up."""
        nats = -np.log(self._seen / self._seen.sum(axis=1, keepdims=True))
        total: npt.NDArray[np.float64] = nats[np.arange(len(nats)), vectors].sum(axis=-1)
        return total
