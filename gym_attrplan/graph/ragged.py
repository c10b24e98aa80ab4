"""Array functions for rows of different lengths."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Places: TypeAlias = npt.NDArray[np.int64]


def search_rows(
    indptr: IntArray, columns: IntArray, rows: IntArray, values: IntArray
) -> tuple[Places, npt.NDArray[np.bool_]]:
    """Search ``values[i]`` among the ascending columns of row ``rows[i]``, all at once.

    Rows beyond the last are empty.

    Returns:
        The position of each value in ``columns``, or where it would be, and whether it is there.

    Example:
        >>> indptr, columns = np.array([0, 2, 3]), np.array([4, 7, 5])
        >>> search_rows(indptr, columns, np.array([0, 1]), np.array([7, 6]))
        (array([1, 3]), array([ True, False]))
    """
    start = indptr.take(rows, mode="clip").astype(np.int64)
    end = indptr.take(rows + np.int64(1), mode="clip").astype(np.int64)
    longest = int((end - start).max(initial=0))
    if longest == 0:
        return start, np.zeros(len(rows), bool)
    below, last = start - 1, end - 1  # below: the last place known to be less than the value
    for step in (1 << k for k in reversed(range(longest.bit_length()))):
        ahead = np.minimum(below + step, last)
        np.copyto(below, ahead, where=columns.take(ahead, mode="clip") < values)
    place = below + 1
    return place, (place < end) & (columns.take(place, mode="clip") == values)


def expand_rows(indptr: IntArray, rows: IntArray) -> tuple[Places, Places]:
    """Return the entries of the chosen rows, one after another. Rows beyond the last are empty.

    Returns:
        For each entry: the position of its row in ``rows``, and its own position.

    Example:
        >>> expand_rows(np.array([0, 2, 3]), np.array([1, 0]))
        (array([0, 1, 1]), array([2, 0, 1]))
    """
    start = indptr.take(rows, mode="clip").astype(np.int64)
    lengths = indptr.take(rows + np.int64(1), mode="clip") - start
    owner = np.repeat(np.arange(len(rows)), lengths)
    first = np.cumsum(lengths) - lengths
    return owner, np.arange(len(owner)) + (start - first)[owner]


def row_argmin(
    values: npt.NDArray[np.float64], owner: Places, n_rows: int
) -> tuple[Places, npt.NDArray[np.float64]]:
    """Return the position of each row's smallest entry, -1 for a row with none below infinity.

    Args:
        values: One number per entry; of equal ones the first wins.
        owner: The row of each entry, ascending.
        n_rows: Number of rows.

    Returns:
        The positions and the smallest values themselves (infinity where there is none).

    Example:
        >>> row_argmin(np.array([3.0, 1.0, np.inf]), np.array([0, 0, 2]), 3)[0]
        array([ 1, -1, -1])
    """
    lowest = np.full(n_rows, np.inf)
    np.minimum.at(lowest, owner, values)
    position = np.full(n_rows, -1)
    best = np.flatnonzero((values == lowest[owner]) & (values < np.inf))[::-1]
    position[owner[best]] = best  # in reverse: of repeated writes the last one stays
    return position, lowest


def first_of_each(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` whether a row differs from the one before it, in any of the columns.

    Example:
        >>> first_of_each(np.array([1, 1, 1, 2]), np.array([5, 5, 6, 6]))
        array([ True, False,  True,  True])
    """
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = np.any([np.diff(column) != 0 for column in columns], axis=0)
    return first
