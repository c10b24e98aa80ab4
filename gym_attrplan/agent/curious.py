"""CuriousExplorer: goes where the forward model expects attributes to take values rare so far."""

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
"""Examples after which the forward model is first fitted; then again whenever they have doubled."""

ROWS_A_FIT = 4_000_000
MAX_EPOCHS = 100
"""A fit sees about so many rows, few examples therefore more often, up to so many times."""

FLOOR = 0.001
"""Pairs of values rarer than this share pay no more than it would."""

RANDOM_SHARE = 0.1
"""Of all actions so many stay random: a model that is wrong must get to see that it is."""

_CHUNK = 65_536  # descriptions counted at a time


class CuriousExplorer(RandomExplorer):
    """Takes the action whose outcome is expected to earn most, if values pay by their rarity.

    Paying for whole descriptions does not help where nearly every one is new. Here each pair of
    attributes' values pays one over the share of descriptions that have it: a block on a block on a
    third earns much, where random drops hardly ever stack two. What is visited often stops being
    rare, so in the end all pairs are seen alike.

    Args:
        venv: Worlds that keep what every action did.
        learner: Whose forward model foresees, and whose examples it is fitted to.
        rng: Draws the actions.
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
        """Take so many steps; what is rare, the examples so far say."""
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
            if len(curious):  # of few environments, chance may take all
                rows = {key: part[curious] for key, part in observations.items()}
                choice = self._foresight.seek(rows, self._worth())
                actions[curious[choice.found]] = choice.actions[choice.found]
        return actions

    def _count(self, vectors: IntArray) -> None:
        words = self._learner.forward.head.answers.one_hot(to_tensor(vectors)).double()
        self._seen += (words.T @ words).numpy()
        self._n_seen += len(vectors)

    def _worth(self) -> npt.NDArray[np.float64]:
        """``(n_logits, n_logits)`` what each pair pays; one never seen may be impossible."""
        return np.where(self._seen > 0, 1.0 / (self._seen / self._n_seen + FLOOR), 0.0)
