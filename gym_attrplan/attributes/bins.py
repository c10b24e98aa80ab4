"""Bins: intervals that discretise a real-valued attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.readable import is_word, read_decimal
from gym_attrplan.attributes.vectors import as_array
from gym_attrplan.error import InvalidAttributes, shown

MAX_SIZE = int(np.iinfo(np.int16).max)
"""Maximum number of values of an attribute."""


class Bins:
    """Intervals of the number line, which are the values of a real-valued attribute.

    n edges make n + 1 bins. A bin contains its lower edge and not its upper one, as in
    ``np.digitize``; the first has no lower bound and the last no upper one.

    Args:
        edges: ``(n_edges,)`` finite numbers, strictly increasing.
        names: One word for each bin, by default such as ``'below 0'``, ``'0 to 1'``, ``'from 1'``.

    Raises:
        InvalidAttributes: If the edges do not increase, or a name cannot be written in a goal.

    Example:
        >>> bins = Bins([-1, 0, 1])
        >>> bins.names
        ('below -1', '-1 to 0', '0 to 1', 'from 1')
        >>> bins.find(0.0), bins.find(np.array([-5.0, 0.3]))
        (2, array([0, 2]))
        >>> Bins([0.5], names=["low", "high"])
        Bins([0.5], names=['low', 'high'])
    """

    def __init__(self, edges: npt.ArrayLike, *, names: Sequence[str] | None = None) -> None:
        self.edges: tuple[float, ...] = _checked_edges(edges)
        written = [number_text(edge) for edge in self.edges]
        between = [f"{low} to {high}" for low, high in pairwise(written)]
        default = [f"below {written[0]}", *between, f"from {written[-1]}"]
        self.names: tuple[str, ...] = _checked_names(default if names is None else names, default)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bins) and self.table == other.table

    def __hash__(self) -> int:
        return hash((self.edges, self.names))

    def __repr__(self) -> str:
        edges = ", ".join(map(number_text, self.edges))
        return f"Bins([{edges}], names={list(self.names)})"

    @property
    def table(self) -> dict[str, Any]:
        """The bins as JSON values, for :meth:`from_table`."""
        return {"edges": list(self.edges), "names": list(self.names)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Bins:
        """Return the bins that :attr:`table` describes.

        Raises:
            InvalidAttributes: If the table is invalid.
        """
        if "edges" not in table or not set(table) <= {"edges", "names"}:
            raise InvalidAttributes(
                f"bins are given by 'edges' and maybe 'names'; received {shown(table)}."
            )
        return cls(table["edges"], names=table.get("names"))

    @overload
    def find(self, values: float) -> int: ...
    @overload
    def find(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]: ...
    def find(self, values: float | npt.NDArray[Any]) -> int | npt.NDArray[np.int64]:
        """Return the number of the bin that contains a value, or those of an array's values.

        Raises:
            InvalidAttributes: If a value is NaN or not a number.
        """
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" or np.isnan(array).any():
            raise InvalidAttributes(
                "only numbers are in bins, and NaN is in none; received "
                f"{shown(array.tolist())}. Give the value a number where it is not known, such as "
                "-inf."
            )
        places = np.digitize(array, self.edges).astype(np.int64)
        return places if array.ndim else int(places)


def number_text(number: float) -> str:
    """Write a number at full precision with as few characters as possible: ``0.5``, ``-1``."""
    return repr(number).removesuffix(".0")


def _checked_edges(edges: Any) -> tuple[float, ...]:
    rule = "edges of bins are a list of numbers"
    array = as_array(edges, rule=rule, kind=InvalidAttributes)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidAttributes(f"{rule}; received {shown(edges)}.")
    numbers = [float(edge) + 0.0 for edge in array.tolist()]  # -0.0 becomes 0.0
    increasing = all(low < high for low, high in pairwise(numbers))
    if not 1 <= len(numbers) < MAX_SIZE or not increasing or not all(map(math.isfinite, numbers)):
        raise InvalidAttributes(
            f"edges of bins are 1 to {MAX_SIZE - 1} finite numbers, each above the one before; "
            f"received {shown(edges)}."
        )
    return tuple(numbers)


def _checked_names(names: Any, default: list[str]) -> tuple[str, ...]:
    words = tuple(names) if isinstance(names, Sequence) and not isinstance(names, str) else ()
    # A name such as "0.5" would make "height=0.5" ambiguous.
    if not all(is_word(word) and read_decimal(word) is None for word in words):
        words = ()
    if len(words) != len(default) or len(set(words)) != len(words):
        raise InvalidAttributes(
            f"{len(default) - 1} edges make {len(default)} bins, whose names are as many different "
            "words, without commas, numbers, or brackets that are not in pairs; received "
            f"{shown(names)}."
        )
    return words
