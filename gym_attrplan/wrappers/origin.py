"""Where an environment comes from: the id and arguments it was made with, as plain data."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

Origin = dict[str, Any]

_NOT_ITS_OWN = {
    *("num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "render_mode"),
    "max_episode_steps",
}
"""Arguments that ``gym.make`` and ``gym.make_vec`` do not hand to an environment, or not as its."""

_NO_VALUE = object()


def origin_of(spec: EnvSpec | None) -> Origin | None:
    """``{"id": …, "kwargs": …}`` of a spec, the same for one environment and for a batch.

    Arguments are those that differ from the registered ones. Only what can be written as JSON is
    kept: it is saved with agents and sent between processes.

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


def _plain_kwargs(spec: EnvSpec) -> dict[str, Any]:
    """The arguments of a spec, as they come back from JSON."""
    plain = {}
    for name, value in spec.kwargs.items():
        if name not in _NOT_ITS_OWN:
            with suppress(TypeError, ValueError):  # code, and what refers to itself
                plain[name] = json.loads(json.dumps(value))
    return plain
