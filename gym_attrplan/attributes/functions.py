"""Attribute functions: from an environment and its observation to attribute values."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from gym_attrplan.attributes.space import AttributeSpace, IntArray
from gym_attrplan.error import InvalidAttributes, shortened, shown


class AttributeFunction(Protocol):
    """Protocol of a function that :class:`~gym_attrplan.AttributeWrapper` calls at every step."""

    def __call__(self, env: Any, observation: Any, /) -> Any:
        """Return the values of all attributes: a vector of integers, or ``{name: value}``.

        Under :class:`~gym_attrplan.AttributeVectorWrapper` the environment and the observation
        are batched, and so is the result: ``(n_envs, n_attributes)``, or ``{name: (n_envs,)
        array}``.

        A function may also have a method ``possible(env)``, if it knows which values a short hop
        from here can lead to: ``(n_attributes, n_values)`` booleans, or ``(n_envs, n_attributes,
        n_values)`` of a batch. Agents then practise no others. It is called when a hop begins.
        """


def load_function(
    function: Callable[..., Any] | str, arguments: tuple[str, ...] | None = None
) -> Callable[..., Any]:
    """Return the function, imported if it is given as ``"module:function"``.

    The text form survives ``env.spec.to_json()``, which code does not.

    Args:
        function: A callable, or the text.
        arguments: Names of the arguments it will be called with; None skips the check.

    Raises:
        InvalidAttributes: If the text has another form, or names nothing that can be called with
            these arguments.

    Example:
        >>> load_function("math:sqrt")(9)
        3.0
    """
    if callable(function):
        _check_arguments(function, arguments)
        return function
    if not isinstance(function, str) or function.count(":") != 1:
        raise InvalidAttributes(
            f"a function must be callable or a text 'module:function'; received {shown(function)}."
        )
    module_name, _, path = function.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InvalidAttributes(
            f"{shown(function)} cannot be imported: {shortened(str(error))}."
        ) from error
    if not callable(found):
        raise InvalidAttributes(f"{shown(function)} is not a function but {shown(found)}.")
    _check_arguments(found, arguments)
    return found  # type: ignore[no-any-return]


def _check_arguments(function: Callable[..., Any], arguments: tuple[str, ...] | None) -> None:
    if arguments is None:
        return
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:  # functions written in C may have no signature
        return
    except TypeError as error:
        raise InvalidAttributes(
            f"the function is called with ({', '.join(arguments)}); {shown(function)} cannot be: "
            f"{error}."
        ) from error


def read_values(space: AttributeSpace, values: Any, leading: tuple[int, ...] = ()) -> IntArray:
    """Convert the result of an attribute function to a new array ``(*leading, n_attributes)``.

    Raises:
        InvalidAttributes: On a wrong length, a float without bins, an unknown name,
            or a value out of range.
    """
    if type(values) is not np.ndarray and isinstance(values, Mapping):
        values = space.encode(values)
    try:
        checked = space.check(values, source="the attribute function's answer", leading=leading)
    except InvalidAttributes as error:
        if not space.bins:
            raise
        raise InvalidAttributes(f"{error} Numbers in bins are given as {{name: value}}.") from error
    # A copy, because functions may return the same buffer every time.
    return checked.copy()
