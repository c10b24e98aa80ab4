"""Chance: whether the same action can have different effects in the same situation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.fingerprints import fingerprints
from gym_attrplan.agent.hop_judge import BoolArray, Observations
from gym_attrplan.error import InvalidArchive
from gym_attrplan.graph.index import KeyTable

SAME = 0.8
"""Minimum share of repeated actions with the same effect in an environment without chance."""

MIN_REPEATS = 256
"""Minimum number of repeated actions from which this is judged."""

MAX_REPEATS = 4_096
"""Number of repeated actions after which no more are needed."""

MAX_STEPS = 65_536
"""Maximum number of steps that are watched: continuous observations never repeat."""


class Chance:
    """Compares the effects of an action that an episode repeats with the same observation.

    In an environment with chance, such as slippery ice, a return to an observation is not a sign
    that the policy is going in circles.

    Args:
        n_envs: Number of environments.

    Attributes:
        counts: ``(2,)`` number of repeated actions, and of those with the same effect as before.

    Example:
        >>> chance = Chance(n_envs=1)
        >>> chance.begin({"observation": np.array([3])})
        >>> for _ in range(300):
        ...     here = {"observation": np.array([3])}
        ...     chance.watch(np.array([1]), here, over=np.array([False]))
        >>> chance.counts, chance.is_random
        (array([299, 299]), False)
    """

    def __init__(self, n_envs: int) -> None:
        self.counts = np.zeros(2, np.int64)
        self._episodes = np.arange(n_envs, dtype=np.uint64)
        self._next_episode = n_envs
        self._here = np.zeros(n_envs, np.int64)
        self._n_watched = 0
        self._effects: npt.NDArray[np.int64]
        self._forget()

    @property
    def is_random(self) -> bool:
        """Whether chance decides about effects; False until enough actions were repeated."""
        n_repeats, n_same = self.counts.tolist()
        return bool(n_repeats >= MIN_REPEATS and n_same < SAME * n_repeats)

    @property
    def is_judged(self) -> bool:
        """Whether nothing more needs to be watched."""
        return bool(self.counts[0] >= MAX_REPEATS or self._n_watched >= MAX_STEPS)

    def begin(self, observations: Observations) -> None:
        """Begin new episodes with these observations."""
        if not self.is_judged:
            self._here = _situations(observations)
            self._renew(np.ones(len(self._episodes), np.bool_))

    def watch(self, actions: npt.NDArray[Any], observations: Observations, over: BoolArray) -> None:
        """Compare the effects of actions with earlier ones.

        Args:
            actions: ``(n_envs, …)``.
            observations: ``{key: (n_envs, …)}`` after the actions, and after automatic resets.
            over: ``(n_envs,)`` whether the episode was over.
        """
        if self.is_judged:
            return
        here, self._here = self._here, _situations(observations)
        parts = (self._episodes, here, fingerprints({"": actions}))
        keys = np.stack([part.astype(np.uint64) for part in parts], axis=1)[~over]
        effects = self._here[~over]
        n_known = len(self._table)
        numbers = self._table.add(keys)
        again = numbers < n_known
        same = self._effects[numbers[again]] == effects[again]
        self.counts += (len(same), int(same.sum()))
        if len(self._table) > len(self._effects):
            self._effects = np.resize(self._effects, 2 * len(self._table))
        self._effects[numbers] = effects
        self._n_watched += len(over)
        self._renew(over)
        if self.is_judged:
            self._forget()

    def restore(self, counts: npt.NDArray[Any]) -> None:
        """Continue from the counts of an earlier training.

        Raises:
            InvalidArchive: If they are not two counts, the second at most the first.
        """
        sound = counts.dtype == np.int64 and counts.shape == (2,)
        if not (sound and 0 <= counts[1] <= counts[0]):
            raise InvalidArchive(
                "repeated actions are two counts, the second at most the first; "
                f"received {counts.tolist()}."
            )
        self.counts, self._n_watched = counts.copy(), 0
        self._forget()

    def _forget(self) -> None:
        self._table = KeyTable(n_words=3)
        self._effects = np.zeros(0, np.int64)

    def _renew(self, rows: BoolArray) -> None:
        """Number the episodes of these rows anew, so that they repeat nothing of earlier ones."""
        n = int(rows.sum())
        self._episodes[rows] = np.arange(self._next_episode, self._next_episode + n)
        self._next_episode += n


def _situations(observations: Observations) -> npt.NDArray[np.int64]:
    return fingerprints({key: part for key, part in observations.items() if key != "desired_goal"})
