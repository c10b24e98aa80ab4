"""FoundAttributes: numbers of an observation with only a few values, as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.bins import Bins
from gym_attrplan.attributes.space import AttributeSpace, IntArray
from gym_attrplan.error import InvalidData, InvalidOption

_GLANCE = 1_000
"""Number of rows that are checked first: most numbers have too many values already there."""


class FoundAttributes:
    """Attributes found in flat observations: numbers that switch between a few values.

    A lamp is on or off, a gear is one of five, but the position of an arm can be anything. So a
    number with only a few different values in many observations is taken as an attribute. A number
    that duplicates another one, such as the second half of a one-hot pair, is left out.

    It is an attribute function, for one observation or for many.

    Args:
        values: Index of a number in the observation → its different values, increasing.

    Attributes:
        columns: Indices of the numbers.
        space: ``number <index>`` for each, with a bin around every value.

    Example:
        >>> seen = np.array([[0.3, 1.0, 0.0], [0.7, 0.0, 1.0], [0.1, 0.0, 1.0]])
        >>> found = FoundAttributes.find(seen, max_values=2)
        >>> found.space.names
        ('number 1',)
        >>> found.describe(seen).tolist()
        [[1], [0], [0]]
    """

    def __init__(self, values: dict[int, npt.NDArray[Any]]) -> None:
        middles = {i: (each[1:] + each[:-1]) / 2.0 for i, each in values.items()}
        self._bins = {i: Bins(middles[i]) for i in sorted(middles)}
        self.columns = tuple(self._bins)
        self.space = AttributeSpace({f"number {i}": bins for i, bins in self._bins.items()})

    @classmethod
    def find(cls, observations: npt.ArrayLike, *, max_values: int = 4) -> FoundAttributes:
        """Find the numbers that switch in these observations.

        Args:
            observations: ``(n, n_numbers)``, preferably a whole log: a switch that was never used
                is not found.
            max_values: Maximum number of different values of an attribute.

        Raises:
            InvalidOption: If ``max_values`` is less than 2.
            InvalidData: If these are not rows of finite numbers, or nothing in them switches.
        """
        if max_values < 2:
            raise InvalidOption(f"max_values is at least 2; received {max_values}.")
        rows = np.asarray(observations)
        if rows.ndim != 2 or rows.dtype.kind not in "iufb" or not np.isfinite(rows).all():
            raise InvalidData(
                "attributes are found in rows of finite numbers, an array (n, n_numbers); received "
                f"shape {rows.shape}, {rows.dtype}."
            )
        rows = rows.astype(np.float64)
        few: dict[int, npt.NDArray[np.float64]] = {}
        for i in range(rows.shape[1]):
            if len(np.unique(rows[:_GLANCE, i])) <= max_values:
                values = np.unique(rows[:, i])
                few |= {i: values} if 2 <= len(values) <= max_values else {}
        if not few:
            raise InvalidData(
                f"none of {rows.shape[1]} numbers switches between 2 to {max_values} values. Raise "
                "max_values, or name attributes yourself, such as Bins of a number."
            )
        codes = {i: np.searchsorted(few[i], rows[:, i]) for i in few}
        kept: list[int] = []
        for i in few:
            if not any(_say_the_same(codes[i], codes[other]) for other in kept):
                kept.append(i)
        return cls({i: few[i] for i in kept})

    def describe(self, observations: npt.ArrayLike) -> IntArray:
        """Return ``(…, n_attributes)`` descriptions of observations ``(…, n_numbers)``."""
        rows = np.asarray(observations, np.float64)
        found = [bins.find(rows[..., i]) for i, bins in self._bins.items()]
        return np.stack(found, axis=-1).astype(self.space.dtype)

    def __call__(self, env: Any, observation: Any) -> IntArray:
        """Return the description of an observation, or of a batch; the environment is not used."""
        return self.describe(observation)


def _say_the_same(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> bool:
    """Return whether the codes of both correspond one to one."""
    n_codes = int(other.max()) + 1
    n_pairs = np.count_nonzero(np.bincount(one * n_codes + other))
    return bool(n_pairs == one.max() + 1 == n_codes)
