"""Reliability: how often predicted outcomes came true, by their probability."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.counted_rows import FloatArray

N_BINS = 20

KEPT = 0.8
"""Factor on older attempts when an epoch begins: a learning policy soon does better."""

_PRIOR = 20.0
"""Number of prior attempts of each bin, with the success rate of the logistic curve."""

_CERTAIN = 1e-3
"""Minimum distance of a prediction from 0 and from 1 for the logistic curve."""


class Reliability:
    """Monotone curve from predicted probabilities to observed frequencies.

    Counts lag behind a policy that improves. The prediction for each attempt before it was made,
    and its result, show by how much. The curve is logistic where few attempts were predicted, as in
    Platt's scaling, and follows the frequencies where there are many.

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
        knots = (said + _PRIOR * centres) / weights
        shares = (came_true + _PRIOR * self._logistic(centres)) / weights
        rising = isotonic_regression(shares, weights=weights).x
        corrected: FloatArray = np.interp(probs, [0.0, *knots, 1.0], [0.0, *rising, 1.0])
        return corrected

    def _logistic(self, probs: FloatArray) -> FloatArray:
        """Return ``(n,)`` probabilities on the logistic curve that fits all bins best."""
        attempts, said, came_true = self.counts
        means = np.divide(said, attempts, out=np.zeros(N_BINS), where=attempts > 0)
        inputs = _log_odds(means)
        identity = np.array([0.0, 1.0])

        def loss(curve: FloatArray) -> tuple[float, FloatArray]:
            odds, change = curve[0] + curve[1] * inputs, curve - identity
            wrong = attempts * expit(odds) - came_true
            value = attempts @ np.logaddexp(0.0, odds) - came_true @ odds + 0.5 * change @ change
            return value, np.array([wrong.sum(), wrong @ inputs]) + change

        shift, slope = minimize(loss, identity, jac=True, bounds=[(None, None), (0, None)]).x
        corrected: FloatArray = expit(shift + slope * _log_odds(probs))
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


def _log_odds(probs: FloatArray) -> FloatArray:
    odds: FloatArray = logit(np.clip(probs, _CERTAIN, 1.0 - _CERTAIN))
    return odds
