"""Reliability: how often predicted outcomes came true, by their probability."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.counted_rows import FloatArray

N_BINS = 20

KEPT = 0.8
"""Factor on older attempts when an epoch begins: a learning policy soon does better."""

_PRIOR = 20.0
"""Number of prior attempts of each bin, with the predicted success rate."""


class Reliability:
    """Monotone curve from predicted probabilities to observed frequencies.

    Counts lag behind a policy that improves. The prediction for each attempt before it was made,
    and its result, show by how much.

    Example:
        >>> reliability = Reliability()
        >>> reliability.add(np.full(10_000, 0.5), np.arange(10_000) < 8_000)
        >>> reliability.correct(np.array([0.0, 0.5, 1.0])).round(1)
        array([0. , 0.8, 1. ])
    """

    def __init__(self) -> None:
        self.counts = np.zeros((3, N_BINS))  # attempts, sums of predictions, successes

    def add(self, said: FloatArray, came_true: npt.NDArray[np.bool_]) -> None:
        """Count attempts by their predicted probability."""
        bins = np.minimum((said * N_BINS).astype(np.int64), N_BINS - 1)
        for counts, amounts in zip(self.counts, (None, said, came_true), strict=True):
            counts += np.bincount(bins, amounts, N_BINS)

    def start_epoch(self) -> None:
        """Reduce the weight of all counts."""
        self.counts *= KEPT

    def correct(self, probs: FloatArray) -> FloatArray:
        """Return ``(n,)`` probabilities corrected to the recent frequencies."""
        attempts, said, came_true = self.counts
        centres = (np.arange(N_BINS) + 0.5) / N_BINS
        weights = attempts + _PRIOR
        knots, shares = ((sums + _PRIOR * centres) / weights for sums in (said, came_true))
        rising = isotonic_regression(shares, weights=weights).x
        corrected: FloatArray = np.interp(probs, [0.0, *knots, 1.0], [0.0, *rising, 1.0])
        return corrected

    def restore(self, counts: npt.NDArray[np.float64]) -> None:
        """Replace the counts.

        Raises:
            InvalidGraph: If they are invalid.
        """
        counts = np.array(counts, np.float64)
        if counts.shape != self.counts.shape or not (np.isfinite(counts) & (counts >= 0)).all():
            raise InvalidGraph(
                f"reliability is counted in an array of shape {self.counts.shape}, finite and not "
                f"negative; received shape {counts.shape}."
            )
        if (counts[1:] > counts[0] + 1e-6).any():
            raise InvalidGraph("more came true than was attempted.")
        self.counts = counts
