"""Merged values: descriptions in which some values of an attribute count as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from gym_attrplan.attributes.space import IntArray

Merged: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Places of attributes, each with the values at which a new group of its values begins.

An attribute with no such value is left out: all its values are one group.
"""


def merged(descriptions: IntArray, merges: Merged) -> IntArray:
    """Return descriptions in which each value is the lowest of its group.

    Example:
        >>> merged(np.array([[1, 2, 3], [1, 2, 8]]), ((0, ()), (2, (2, 5)))).tolist()
        [[0, 2, 2], [0, 2, 5]]
    """
    reduced = descriptions.copy()
    for column, splits in merges:
        lowest = np.array((0, *splits), reduced.dtype)
        reduced[..., column] = lowest[group_of(descriptions[..., column], splits)]
    return reduced


def without(columns: Iterable[int]) -> Merged:
    """Leave out attributes.

    Example:
        >>> without([3, 1])
        ((1, ()), (3, ()))
    """
    return tuple((column, ()) for column in sorted(columns))


def group_of(values: IntArray, splits: tuple[int, ...]) -> IntArray:
    """Return the number of each value's group, from 0 on.

    Example:
        >>> group_of(np.array([0, 2, 3, 5]), (2, 5)).tolist()
        [0, 1, 1, 2]
    """
    return np.searchsorted(np.array(splits, values.dtype), values, side="right")
