"""HopLengths: lengths of successful hops, and the limits that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_LENGTHS = 4_000
"""Maximum number of recent lengths that are remembered."""

_MIN_LENGTHS = 100


class HopLengths:
    """Lengths of successful hops, which determine the step limit of hops and the discount.

    Args:
        first_limit: Step limit until enough hops have succeeded.
        limits: Minimum and maximum step limit after that.

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
        """Add the lengths of successful hops, in steps."""
        self.recent = np.concatenate([self.recent, n_steps])[-MAX_LENGTHS:]

    @property
    def mean(self) -> float:
        """Mean length in steps; infinite while there are too few hops to tell."""
        return float(self.recent.mean()) if len(self.recent) >= _MIN_LENGTHS else np.inf

    @property
    def limit(self) -> int:
        """Step limit of a hop: three times the 90% quantile of the lengths."""
        if len(self.recent) < _MIN_LENGTHS:
            return self._first_limit
        return int(np.clip(3 * np.percentile(self.recent, 90), *self._limits))

    @property
    def discount(self) -> float:
        """Discount γ of a learner, with a horizon of four mean lengths."""
        if len(self.recent) < _MIN_LENGTHS:
            return 0.99
        return float(np.clip(1.0 - 1.0 / (4.0 * self.mean), 0.9, 0.99))
