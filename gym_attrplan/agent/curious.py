"""CuriousExplorer: explores towards attribute values that have been rare so far."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import Observations, RandomExplorer
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.models.fitting import to_tensor

FIRST_FIT = 5_000
"""Number of examples at the first fit of the forward model; it is refitted when they double."""

ROWS_A_FIT = 4_000_000
"""Approximate number of rows per fit; few examples are therefore repeated in several epochs."""

MAX_EPOCHS = 100
"""Maximum number of epochs per fit."""

FLOOR = 0.001
"""Minimum share of a pair of values in its bonus; rarer pairs earn no more."""

RANDOM_SHARE = 0.1
"""Share of random actions, which let the model correct its errors."""

_CHUNK = 65_536  # descriptions counted at a time


class CuriousExplorer(RandomExplorer):
    """Explorer that takes the action with the highest expected bonus for rare values.

    A bonus for whole descriptions does not help if nearly every description is new. Here each pair
    of attribute values earns one over the share of descriptions that have it. A tower of three
    blocks earns much if random drops hardly ever stack two. Pairs that are visited often stop being
    rare, so in the end all pairs are seen alike.

    Args:
        venv: Environments that record the effects of actions.
        learner: The learner whose forward model predicts outcomes and is fitted to the examples.
        rng: Generator of the random actions.
    """

    def __init__(self, venv: VecEnv, learner: InverseLearner, *, rng: np.random.Generator) -> None:
        super().__init__(venv, rng=rng)
        self._learner = learner
        self._foresight = Foresight(learner.forward, n_candidates=128, rng=rng)

    def learn(
        self,
        total_timesteps: int,
        callback: BaseCallback,
        log_interval: int | None = 1,
        **unused: Any,
    ) -> CuriousExplorer:
        """Take ``total_timesteps`` steps; the examples so far define which values are rare."""
        n_words = self._learner.forward.head.answers.n_logits
        self._seen = np.zeros((n_words, n_words))
        self._n_seen = 0
        before = self._learner.examples.rows["before"]
        for first in range(0, len(before), _CHUNK):
            self._count(before[first : first + _CHUNK])
        super().learn(total_timesteps, callback, log_interval)
        return self

    def _act(self, observations: Observations) -> npt.NDArray[Any]:
        self._count(observations["achieved_goal"])
        n_examples = len(self._learner.examples)
        if n_examples >= max(FIRST_FIT, 2 * int(self._learner.forward.n_examples)):
            self._learner.fit_forward(max_epochs=min(MAX_EPOCHS, 1 + ROWS_A_FIT // n_examples))
        actions = super()._act(observations)
        if self._learner.forward.is_fitted:
            curious = np.flatnonzero(self._rng.random(len(actions)) >= RANDOM_SHARE)
            if len(curious):  # with few environments all actions may be random
                rows = {key: part[curious] for key, part in observations.items()}
                choice = self._foresight.seek(rows, self._worth())
                actions[curious[choice.found]] = choice.actions[choice.found]
        return actions

    def _count(self, vectors: IntArray) -> None:
        words = self._learner.forward.head.answers.one_hot(to_tensor(vectors)).double()
        self._seen += (words.T @ words).numpy()
        self._n_seen += len(vectors)

    def _worth(self) -> npt.NDArray[np.float64]:
        """Return ``(n_logits, n_logits)`` bonuses of pairs of values; 0 for pairs never seen."""
        return np.where(self._seen > 0, 1.0 / (self._seen / self._n_seen + FLOOR), 0.0)
