"""Views: which observations are new to an environment that looks around."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.fingerprints import fingerprints
from gym_attrplan.agent.hop_judge import BoolArray, Observations

_N_VIEWS = 256


class Views:
    """Which observations each environment has seen since it began to look.

    Args:
        num_envs: Number of environments.

    Example:
        >>> views = Views(2)
        >>> [views.look({"seen": np.array(seen)}).tolist() for seen in ([1, 5], [1, 6], [2, 5])]
        [[True, True], [False, True], [True, False]]
        >>> views.begin(np.array([1]))
        >>> views.look({"seen": np.array([2, 5])}).tolist()
        [False, True]
    """

    def __init__(self, num_envs: int) -> None:
        self._seen = np.zeros((num_envs, _N_VIEWS), np.int64)
        self._n_seen = np.zeros(num_envs, np.int64)

    def begin(self, rows: npt.NDArray[np.int64]) -> None:
        """Forget what was seen in these environments."""
        self._n_seen[rows] = 0

    def look(self, observations: Observations) -> BoolArray:
        """``(num_envs,)`` where the observation is new; the latest few hundred are remembered."""
        numbers = fingerprints(observations)
        known = np.arange(_N_VIEWS) < self._n_seen[:, None]
        is_new: BoolArray = ~((self._seen == numbers[:, None]) & known).any(axis=1)
        rows = np.flatnonzero(is_new)
        self._seen[rows, self._n_seen[rows] % _N_VIEWS] = numbers[rows]
        self._n_seen[rows] += 1
        return is_new
