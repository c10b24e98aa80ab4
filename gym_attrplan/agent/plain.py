"""Conversion of options to plain data and back: classes by name, no code."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import BaseBuffer
from torch import nn, optim

from gym_attrplan.error import InvalidArchive, InvalidOption

SAVED_CLASSES = (BaseAlgorithm, BaseBuffer, nn.Module, optim.Optimizer)
"""Base classes of the classes that options may name; an archive can load no others."""

_MARKS = ({"class"}, {"tuple"})
"""Keys of JSON objects that encode a class or a tuple."""


def to_plain(value: Any, name: str) -> Any:
    """Convert a value to JSON data that :func:`from_plain` converts back.

    Args:
        value: Numbers, strings, None, classes of an agent's parts, and lists, tuples and dicts of
            them.
        name: The option's name, for error messages.

    Raises:
        InvalidOption: If the value is code, or a dict that JSON would change.
    """
    if isinstance(value, type) and issubclass(value, SAVED_CLASSES):
        return {"class": name_of(value)}
    if isinstance(value, dict):
        if set(value) in _MARKS or not all(isinstance(key, str) for key in value):
            raise InvalidOption(
                f"the keys of {name} are saved as text, and other than 'class' or 'tuple' alone; "
                f"received {value!r:.200}."
            )
        return {key: to_plain(one, f"{name}[{key!r}]") for key, one in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [to_plain(one, name) for one in value]}
    if isinstance(value, list):
        return [to_plain(one, name) for one in value]
    try:
        json.dumps(value)
    except TypeError:
        raise InvalidOption(
            f"{name} is saved with the agent as data and may not be code; received {value!r}. "
            "Give a number or a name; let a callback change it while training if it must change."
        ) from None
    return value


def from_plain(value: Any, custom_objects: Mapping[str, type[Any]]) -> Any:
    """Return the value that :func:`to_plain` converted.

    Args:
        value: The JSON data.
        custom_objects: ``"module:Name"`` → a class to use for it.

    Raises:
        InvalidArchive: If it names a class that is not available, or that no agent may use.
    """
    if isinstance(value, dict) and set(value) == {"class"}:
        return find_class(value["class"], custom_objects)
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(from_plain(one, custom_objects) for one in value["tuple"])
    if isinstance(value, dict):
        return {key: from_plain(one, custom_objects) for key, one in value.items()}
    if isinstance(value, list):
        return [from_plain(one, custom_objects) for one in value]
    return value


def name_of(kind: type[Any]) -> str:
    """Return the name of a class in an archive: ``"module:Name"``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def find_class(name: str, custom_objects: Mapping[str, type[Any]]) -> type[Any]:
    """Return a class by its name, from those given and from modules that are already imported.

    Nothing is imported because a file names it: an import runs code.

    Raises:
        InvalidArchive: If there is none, or no agent may use it.
    """
    module, _, path = name.partition(":")
    found: Any = custom_objects.get(name)
    if found is None:
        found = sys.modules.get(module)
        for part in path.split("."):
            # Attribute access may run code; the namespace of a module or class does not.
            found = vars(found).get(part) if isinstance(found, (type, ModuleType)) else None
    if found is None:
        raise InvalidArchive(
            f"the agent was saved with the class {name!r:.200}, which is not here. Import the "
            "module that defines it before loading, or give "
            f"load(..., custom_objects={{{name!r:.200}: TheClass}})."
        )
    if not (isinstance(found, type) and issubclass(found, SAVED_CLASSES)):
        raise InvalidArchive(f"{name!r:.200} is not a class that an agent may use.")
    return found
