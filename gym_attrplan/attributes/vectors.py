"""Conversion of given vectors and goals to arrays of small integers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import AttrPlanError, InvalidAttributes, shown

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]


def as_array(
    values: npt.ArrayLike,
    *,
    rule: str,
    kind: type[AttrPlanError],
    dtype: npt.DTypeLike | None = None,
) -> npt.NDArray[Any]:
    """Call ``np.asarray``, with an error of this library if the values are not an array.

    Args:
        values: The given values.
        rule: The requirement, for the message.
        kind: The error to raise.
        dtype: As in numpy.

    Example:
        >>> as_array([1, 2], rule="weights are numbers", kind=InvalidAttributes)
        array([1, 2])
    """
    try:
        return np.asarray(values, dtype)
    except Exception as error:  # ragged lists, and whatever an object's own __array__ raises
        raise kind(f"{rule}; received {shown(values)}.") from error


def whole_numbers(
    values: npt.ArrayLike, dtype: np.dtype[np.signedinteger[Any]], *, source: str
) -> IntArray:
    """Convert integers to an array of ``dtype``; an array of that type is not copied.

    Args:
        values: An array, or anything that can be converted to one.
        dtype: int8 or int16.
        source: Origin of the values, for the message.

    Raises:
        InvalidAttributes: On anything but integers, or on one that the dtype cannot represent.

    Example:
        >>> whole_numbers([True, 3], np.dtype(np.int8), source="the vector")
        array([1, 3], dtype=int8)
    """
    if type(values) is np.ndarray and values.dtype == dtype:
        return values
    rule = f"{source} must hold whole numbers"
    array = as_array(values, rule=rule, kind=InvalidAttributes)
    if array.dtype.kind not in "iub":
        raise InvalidAttributes(
            f"{rule}; received {array.dtype} ({shown(values)}). "
            "Round or compare before returning: attributes are small integers."
        )
    own = array.astype(dtype)
    # A value too large for the dtype would wrap around to another valid one.
    if array.dtype.itemsize >= dtype.itemsize and (own != array).any():
        raise InvalidAttributes(f"{source} holds a value beyond every size: {shown(values)}.")
    return own
