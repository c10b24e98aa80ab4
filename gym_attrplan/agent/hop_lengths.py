"""HopLengths: how long hops take that work, and what follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_LENGTHS = 4_000
"""So many of the newest are remembered."""

_MIN_LENGTHS = 100


class HopLengths:
    """How long the hops took that worked: hop limit and discount follow from it.

    Args:
        first_limit: The limit until enough hops have worked.
        limits: The least and the greatest limit after that.

    Example:
        >>> lengths = HopLengths(first_limit=100, limits=(16, 200))
        >>> lengths.limit, lengths.discount
        (100, 0.99)
        >>> lengths.add(np.full(200, 8))
        >>> lengths.limit, round(lengths.discount, 3)
        (24, 0.969)
    """

    def __init__(self, *, first_limit: int, limits: tuple[int, int]) -> None:
        self._first_limit, self._limits = first_limit, limits
        self.recent = np.zeros(0)

    def add(self, n_steps: npt.NDArray[Any]) -> None:
        """Note the lengths of hops that worked."""
        self.recent = np.concatenate([self.recent, n_steps])[-MAX_LENGTHS:]

    @property
    def mean(self) -> float:
        """The mean length; infinite while there are too few to say."""
        return float(self.recent.mean()) if len(self.recent) >= _MIN_LENGTHS else np.inf

    @property
    def limit(self) -> int:
        """Steps after which a hop is given up: three times what nine of ten need."""
        if len(self.recent) < _MIN_LENGTHS:
            return self._first_limit
        return int(np.clip(3 * np.percentile(self.recent, 90), *self._limits))

    @property
    def discount(self) -> float:
        """γ of a learner: it looks ahead four times as far as hops are long."""
        if len(self.recent) < _MIN_LENGTHS:
            return 0.99
        return float(np.clip(1.0 - 1.0 / (4.0 * self.mean), 0.9, 0.99))
