"""Where an environment comes from: the id and arguments it was made with, as plain data."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

Origin = dict[str, Any]

_NOT_ITS_OWN = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers", "render_mode")
"""Arguments of ``gym.make`` and ``gym.make_vec`` that change nothing an agent learns."""


def origin_of(spec: EnvSpec | None) -> Origin | None:
    """``{"id": …, "kwargs": …}`` of a spec, the same for one environment and for a batch.

    Only what can be written as JSON is kept: it is saved with agents and sent between processes. A
    step limit is an argument if it is not the registered one.

    Example:
        >>> origin_of(gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=20).spec)
        {'id': 'FrozenLake-v1', 'kwargs': {'map_name': '4x4', 'is_slippery': False, ...: 20}}
    """
    if spec is None:
        return None
    kwargs = {name: value for name, value in spec.kwargs.items() if name not in _NOT_ITS_OWN}
    limit = kwargs.pop("max_episode_steps", spec.max_episode_steps)
    registered = gym.registry.get(spec.id)
    if limit != (registered and registered.max_episode_steps):
        kwargs["max_episode_steps"] = limit
    plain = {name: _plain(value) for name, value in kwargs.items()}
    return {"id": spec.id, "kwargs": {n: v[0] for n, v in plain.items() if v is not None}}


def _plain(value: Any) -> tuple[Any] | None:
    """The value as it comes back from JSON, in a tuple of one; None if it cannot be written."""
    try:
        return (json.loads(json.dumps(value)),)
    except (TypeError, ValueError):
        return None
