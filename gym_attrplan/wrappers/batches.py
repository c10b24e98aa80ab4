"""Registry of functions that make batched versions of other packages' environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium.vector import VectorEnv

Batch = VectorEnv[Any, Any, Any]
BatchMaker = Callable[[str, int, dict[str, Any]], Batch | None]

_MAKERS: list[BatchMaker] = []


def register_batch_maker(maker: BatchMaker) -> None:
    """Register ``maker(env_id, num_envs, kwargs)``, which returns None for ids it does not make."""
    if maker not in _MAKERS:
        _MAKERS.append(maker)


def make_batch(env_id: str, num_envs: int, kwargs: dict[str, Any]) -> Batch | None:
    """Make a batch with the attributes for an id; None if no maker supports it."""
    for maker in _MAKERS:
        if (found := maker(env_id, num_envs, kwargs)) is not None:
            return found
    return None
