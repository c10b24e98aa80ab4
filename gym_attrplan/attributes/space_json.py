"""Conversion of Gymnasium spaces to plain JSON values and back, for archives without pickle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.error import InvalidArchive, InvalidEnvironment, shown

Json = dict[str, Any]

MAX_NUMBERS = 1 << 24
"""Maximum number of values in a flattened sample of a saved space, with one-hot discrete values.

The sizes in a file determine those of networks and buffers, so a few bytes could ask for all
memory. A larger space is neither written nor read.
"""

MAX_DEPTH = 16
"""Maximum depth of nested spaces."""


def space_to_json(space: spaces.Space[Any]) -> Json:
    """Convert a space to a value for ``json.dumps``; :func:`space_from_json` restores it exactly.

    Bounds that are equal everywhere are written once; infinite ones as ``"inf"`` and
    ``"-inf"``, which strict JSON allows.

    Raises:
        InvalidEnvironment: If the space, or one inside it, is of another kind than Box, Discrete,
            MultiDiscrete, MultiBinary, Text, Dict and Tuple, has keys that are not text, or is
            larger than :data:`MAX_NUMBERS` or deeper than :data:`MAX_DEPTH`.

    Example:
        >>> space_to_json(spaces.Box(-1.0, np.inf, (3,)))
        {'type': 'Box', 'shape': [3], 'dtype': 'float32', 'low': -1.0, 'high': 'inf'}
        >>> space_from_json(space_to_json(spaces.Discrete(5)))
        Discrete(5)
    """
    data = _write(space)
    try:
        _check_size(data)
    except ValueError as error:
        raise InvalidEnvironment(f"a space can be saved if {error}: {shown(space)}.") from error
    return data


def space_from_json(data: Mapping[str, Any]) -> spaces.Space[Any]:
    """Restore the space that :func:`space_to_json` wrote.

    Raises:
        InvalidArchive: If the value does not describe a space, or one beyond :data:`MAX_NUMBERS`
            or :data:`MAX_DEPTH`. This is checked before anything is allocated.
    """
    try:
        _check_size(data)
        return _read(data)
    except Exception as error:  # gymnasium and numpy raise many kinds of errors
        raise InvalidArchive(f"{shown(data)} does not describe a space: {shown(error)}.") from error


def _write(space: spaces.Space[Any]) -> Json:
    # Exact types: a subclass may have more properties than are written.
    kind = type(space)
    if kind not in _WRITERS:
        raise InvalidEnvironment(
            f"a space can be saved if it is one of {_names()}; received {shown(space)}. Turn it "
            "into one of them, say with gymnasium.wrappers.TransformObservation."
        )
    return {"type": kind.__name__, **_WRITERS[kind](space)}


def _read(data: Mapping[str, Any]) -> spaces.Space[Any]:
    space: spaces.Space[Any] = _READERS[data["type"]](data)
    return space


def _check_size(data: Mapping[str, Any]) -> None:
    n_numbers = _n_numbers(data, 1)
    if n_numbers > MAX_NUMBERS:
        raise ValueError(f"its samples hold at most {MAX_NUMBERS:,} numbers, not {n_numbers:,}")


def _n_numbers(data: Mapping[str, Any], depth: int) -> int:
    """Return an upper bound of the numbers in a flattened sample, from the stated sizes."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is at most {MAX_DEPTH} spaces deep")
    kind = data["type"]
    if kind in ("Dict", "Tuple"):
        parts = data["spaces"] if kind == "Tuple" else [part for _, part in data["spaces"]]
        return sum(_n_numbers(part, depth + 1) for part in parts)
    if kind in ("Discrete", "Text"):
        return _product([data["n"] if kind == "Discrete" else data["max"]])
    shape = data["n"] if kind == "MultiBinary" else data["shape"]
    n_numbers = _product(shape if isinstance(shape, list) else [shape])
    if kind == "MultiDiscrete":
        nvec = data["nvec"]
        return max(n_numbers, sum(nvec) if isinstance(nvec, list) else n_numbers * nvec)
    return n_numbers


def _product(sizes: list[Any]) -> int:
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise TypeError(f"sizes are whole numbers; received {shown(sizes)}")
    return math.prod(sizes)


def _write_box(space: spaces.Box) -> Json:
    return {
        "shape": list(space.shape),
        "dtype": space.dtype.name,
        "low": _write_array(space.low),
        "high": _write_array(space.high),
    }


def _read_box(data: Mapping[str, Any]) -> spaces.Box:
    shape, dtype = tuple(data["shape"]), _read_dtype(data["dtype"])
    low, high = (_read_array(data[name], shape, dtype) for name in ("low", "high"))
    return spaces.Box(low, high, dtype=dtype.type)


def _write_discrete(space: spaces.Discrete) -> Json:
    return {"n": int(space.n), "start": int(space.start), "dtype": np.dtype(space.dtype).name}


def _read_discrete(data: Mapping[str, Any]) -> spaces.Discrete:
    # Older Gymnasium's Discrete is always int64 and takes no dtype.
    other: dict[str, Any] = (
        {} if data["dtype"] == "int64" else {"dtype": _read_dtype(data["dtype"]).type}
    )
    return spaces.Discrete(data["n"], start=data["start"], **other)


def _write_multi_discrete(space: spaces.MultiDiscrete) -> Json:
    return {
        "shape": list(space.shape),
        "dtype": space.dtype.name,
        "nvec": _write_array(space.nvec),
        "start": _write_array(space.start),
    }


def _read_multi_discrete(data: Mapping[str, Any]) -> spaces.MultiDiscrete:
    shape, dtype = tuple(data["shape"]), _read_dtype(data["dtype"])
    nvec, start = (_read_array(data[name], shape, dtype) for name in ("nvec", "start"))
    return spaces.MultiDiscrete(nvec, dtype=dtype.type, start=start)


def _write_multi_binary(space: spaces.MultiBinary) -> Json:
    return {"n": int(space.n) if isinstance(space.n, int | np.integer) else list(space.shape)}


def _write_text(space: spaces.Text) -> Json:
    charset = "".join(sorted(space.character_set))
    return {"min": space.min_length, "max": space.max_length, "charset": charset}


def _read_text(data: Mapping[str, Any]) -> spaces.Text:
    return spaces.Text(data["max"], min_length=data["min"], charset=frozenset(data["charset"]))


def _write_dict(space: spaces.Dict) -> Json:
    odd = [key for key in space.spaces if not isinstance(key, str)]
    if odd:
        raise InvalidEnvironment(
            f"keys of a Dict space must be text to be saved; received {shown(odd)}."
        )
    # Pairs, because the order of the keys is part of the space.
    return {"spaces": [[key, _write(part)] for key, part in space.spaces.items()]}


def _read_dict(data: Mapping[str, Any]) -> spaces.Dict:
    parts = {key: _read(part) for key, part in data["spaces"]}
    if len(parts) < len(data["spaces"]) or not all(isinstance(key, str) for key in parts):
        raise TypeError(f"keys are different texts; received {shown(list(parts))}")
    return spaces.Dict(list(parts.items()))


def _write_tuple(space: spaces.Tuple[Any]) -> Json:
    return {"spaces": [_write(part) for part in space.spaces]}


def _write_array(array: npt.NDArray[Any]) -> Any:
    values = [_write_number(value) for value in array.ravel().tolist()]
    # Compared as text, since 0.0 == -0.0.
    return values[0] if len({repr(value) for value in values}) == 1 else values


def _write_number(value: float) -> float | str:
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _read_dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    # Text and record types state a size of their own, which may be anything.
    if dtype.kind not in "biuf" or not isinstance(name, str):
        raise TypeError(f"bounds are numbers; received dtype {shown(name)}")
    return dtype


def _read_array(values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if not isinstance(values, list):
        return np.full(shape, _read_number(values), dtype)
    return np.array([_read_number(value) for value in values], dtype).reshape(shape)


def _read_number(value: Any) -> Any:
    return {"inf": np.inf, "-inf": -np.inf}[value] if isinstance(value, str) else value


def _names() -> list[str]:
    return [kind.__name__ for kind in _WRITERS]


_WRITERS: dict[type[Any], Any] = {
    spaces.Box: _write_box,
    spaces.Discrete: _write_discrete,
    spaces.MultiDiscrete: _write_multi_discrete,
    spaces.MultiBinary: _write_multi_binary,
    spaces.Text: _write_text,
    spaces.Dict: _write_dict,
    spaces.Tuple: _write_tuple,
}
_READERS: dict[str, Any] = {
    "Box": _read_box,
    "Discrete": _read_discrete,
    "MultiDiscrete": _read_multi_discrete,
    "MultiBinary": lambda data: spaces.MultiBinary(data["n"]),
    "Text": _read_text,
    "Dict": _read_dict,
    "Tuple": lambda data: spaces.Tuple([_read(part) for part in data["spaces"]]),
}
