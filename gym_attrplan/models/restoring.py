"""Checks of saved data: sizes before a model is built, weights afterwards."""

from __future__ import annotations

import math
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import torch
from torch import nn, optim
from torch.nn.modules.module import register_module_parameter_registration_hook

from gym_attrplan.error import InvalidArchive

T = TypeVar("T")

_OVERHEAD = 1024
"""Number of bytes added for each tensor and its module: many small ones are slow."""


@contextmanager
def no_larger_than(tensors: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Context for building networks that fails if they outgrow the weights to be restored.

    A file that asks for a layer of a billion units must contain its weights. The networks may be
    four times as large, which leaves room for temporary parts.

    Args:
        tensors: The weights in the file.

    Raises:
        InvalidArchive: When a layer is too large for the weights; before its memory is
            written to.
    """
    left = 2**20 + 4 * sum(tensor.nbytes + _OVERHEAD for tensor in tensors.values())
    owner = threading.get_ident()

    def count(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
        nonlocal left
        if threading.get_ident() != owner:
            return
        left -= parameter.nbytes + _OVERHEAD
        if left < 0:
            raise InvalidArchive(
                "its options describe larger networks than the file holds weights for."
            )

    with register_module_parameter_registration_hook(count):
        yield


def check_weights(own: Any, given: Any, name: str = "weights") -> None:
    """Check nested weights against those of a newly built model.

    Args:
        own: The model's weights: dicts, lists, tensors and plain values.
        given: The weights to restore.
        name: Path of the weights, for the message.

    Raises:
        InvalidArchive: If names, lengths, shapes or types differ.
    """
    if isinstance(own, torch.Tensor):
        same = isinstance(given, torch.Tensor) and _layout(own) == _layout(given)
        _check(same, f"{name} is not a tensor of {_layout(own)}")
    elif isinstance(own, Mapping):
        _check(isinstance(given, Mapping) and set(own) == set(given), f"{name} has other parts")
        for key, part in own.items():
            check_weights(part, given[key], f"{name}/{key}")
    elif isinstance(own, (list, tuple)):
        _check(isinstance(given, list) and len(own) == len(given), f"{name} has another length")
        for i, part in enumerate(own):
            check_weights(part, given[i], f"{name}/{i}")
    else:
        _check(_same_kind(own, given), f"{name} is {given!r:.100}, not such as {own!r}")


def check_optimizer(own: optim.Optimizer, given: Any, name: str) -> None:
    """Check the state of an optimizer against the parameters of a newly built one.

    Raises:
        InvalidArchive: If it belongs to other parameters.
    """
    _check(isinstance(given, Mapping) and set(given) == {"state", "param_groups"}, name)
    groups, theirs = own.state_dict()["param_groups"], given["param_groups"]
    _check(isinstance(theirs, list) and len(theirs) == len(groups), f"{name} has other groups")
    for group, other in zip(groups, theirs, strict=True):
        _check(isinstance(other, Mapping), f"{name} has an invalid group")
        _check(group["params"] == other.get("params"), f"{name} has other parameters")
        for key in set(group) & set(other):  # other versions of torch have other settings
            check_weights(group[key], other[key], f"{name}/{key}")
    parameters = [one for group in own.param_groups for one in group["params"]]
    _check(isinstance(given["state"], Mapping), f"{name} has no state")
    for number, state in given["state"].items():
        known = type(number) is int and 0 <= number < len(parameters)
        _check(known and isinstance(state, Mapping), f"{name} has a state of no parameter")
        for key, value in state.items():
            fits = _is_state(key, value, parameters[number])
            _check(fits, f"{name}/{number}/{key!r:.100} fits no parameter")


def _is_state(key: Any, value: Any, parameter: torch.Tensor) -> bool:
    """Return whether a value can be an optimizer's state of a parameter."""
    if not isinstance(value, torch.Tensor):
        return isinstance(key, str) and not isinstance(value, bool) and _same_kind(0.0, value)
    if value.shape == torch.Size():
        return True
    shape = parameter.shape
    # Adafactor keeps means over rows and columns.
    alike = len(value.shape) == len(shape) and all(
        n in (m, 1) for n, m in zip(value.shape, shape, strict=True)
    )
    return key != "step" and alike and value.dtype == parameter.dtype


def _layout(tensor: torch.Tensor) -> tuple[tuple[int, ...], torch.dtype]:
    return tuple(tensor.shape), tensor.dtype


def _same_kind(own: Any, given: Any) -> bool:
    """Return whether a plain value may replace another: a number a number, a bool a bool."""
    if own is None or isinstance(own, bool):
        return given is None or isinstance(given, bool)
    if isinstance(own, (int, float)):
        return isinstance(given, (int, float)) and math.isfinite(given)
    return type(own) is type(given)


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise InvalidArchive(f"the weights do not fit the networks: {what}.")


def typed(kind: type[T], data: Mapping[str, Any]) -> T:
    """Convert a JSON object to a dataclass, checking the type of each field.

    JSON has no tuples: a list is one where a tuple is expected.

    Raises:
        InvalidArchive: If a field is unknown or of another type.
        TypeError: If a field that has no default is missing.
    """
    hints = get_type_hints(kind)
    data = dict(data)
    for name, value in data.items():
        if name not in hints:
            raise InvalidArchive(f"a {kind.__name__} has no {name!r:.100}.")
        if is_a((), hints[name]) and isinstance(value, list):
            data[name] = value = tuple(value)
        if not is_a(value, hints[name]):
            raise InvalidArchive(f"{name} is of type {hints[name]}; received {value!r:.100}.")
    return kind(**data)


def is_a(value: Any, hint: Any) -> bool:
    """Return whether a value has an annotated type; integers count as floats too.

    Example:
        >>> is_a({"a": 1}, dict[str, float]), is_a("a", int | None), is_a("a", Literal["a", "b"])
        (True, False, True)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(is_a(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is type:
        return isinstance(value, type) and issubclass(value, parts[0])
    if origin is Callable:
        return callable(value)
    if origin is dict:
        return isinstance(value, dict) and all(
            is_a(key, parts[0]) and is_a(one, parts[1]) for key, one in value.items()
        )
    if origin is tuple:  # of one type, of any length
        return isinstance(value, tuple) and all(is_a(one, parts[0]) for one in value)
    return isinstance(value, (int, float) if hint is float else hint)


def whole_number(value: Any, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return an integer of a file, checked against bounds.

    Raises:
        InvalidArchive: If it is not such an integer.
    """
    if type(value) is not int or not least <= value <= most:
        raise InvalidArchive(f"from {least} to {most} is expected; received {value!r:.100}.")
    return value
