"""The origin of an environment: its id and arguments, as plain data."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from gym_attrplan.error import InvalidArchive

Origin = dict[str, Any]

_NOT_ITS_OWN = {
    *("num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "render_mode"),
    "max_episode_steps",
}
"""Arguments that ``gym.make`` and ``gym.make_vec`` keep or change before an environment."""

_NO_VALUE = object()


def origin_of(spec: EnvSpec | None) -> Origin | None:
    """Return ``{"id": …, "kwargs": …}`` of a spec, the same for one environment and for a batch.

    Arguments are those that differ from the registered ones. Only plain data are kept: they are
    saved with agents and sent between processes.

    Example:
        >>> origin_of(gym.make("FrozenLake-v1", is_slippery=False).spec)
        {'id': 'FrozenLake-v1', 'kwargs': {'is_slippery': False}}
    """
    if spec is None:
        return None
    usual = _plain_kwargs(gym.registry[spec.id]) if spec.id in gym.registry else {}
    found = _plain_kwargs(spec)
    differ = {name: value for name, value in found.items() if usual.get(name, _NO_VALUE) != value}
    return {"id": spec.id, "kwargs": differ}


def origin_from_json(data: Any) -> Origin | None:
    """Return the origin that :func:`origin_of` returned, read from a file.

    Raises:
        InvalidArchive: If it is anything else. An environment may import what a text such as
            ``"module:function"`` names, and a file must not cause imports.
    """
    if data is None:
        return None
    known = isinstance(data, dict) and set(data) == {"id", "kwargs"} and isinstance(data["id"], str)
    if not known or not isinstance(data["kwargs"], dict) or not _is_plain(data["kwargs"]):
        raise InvalidArchive("it does not say by an id and plain arguments where it was trained.")
    return dict(data)


def _plain_kwargs(spec: EnvSpec) -> dict[str, Any]:
    """Return the arguments of a spec that are plain data, as they come back from JSON."""
    plain = {}
    for name, value in spec.kwargs.items():
        if name not in _NOT_ITS_OWN:
            with suppress(TypeError, ValueError):  # code, and circular references
                plain[name] = json.loads(json.dumps(value))
    return {name: value for name, value in plain.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    """Return whether a value from JSON names no code: no text in it holds a colon."""
    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return all(_is_plain(part) for part in value)
    return not isinstance(value, str) or ":" not in value
