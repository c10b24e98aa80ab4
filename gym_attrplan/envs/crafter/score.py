"""The score of Crafter's benchmark."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def crafter_score(success_rates: npt.ArrayLike) -> float:
    """Return Crafter's score: the geometric mean of 1 + each success rate, less 1, in percent.

    Args:
        success_rates: Share of the episodes that unlocked each achievement, in percent.

    Example:
        >>> round(crafter_score([100.0, 100.0, 0.0]), 2)
        20.69
    """
    rates = np.asarray(success_rates, np.float64)
    return float(np.expm1(np.log1p(rates).mean()))
