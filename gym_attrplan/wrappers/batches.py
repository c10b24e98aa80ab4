"""Batches for other people's ids: who can make many of their environments at once says so here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium.vector import VectorEnv

Batch = VectorEnv[Any, Any, Any]
BatchMaker = Callable[[str, int, dict[str, Any]], Batch | None]

_MAKERS: list[BatchMaker] = []


def register_batch_maker(maker: BatchMaker) -> None:
    """Have :func:`make_batch` ask ``maker(env_id, num_envs, kwargs)``; None means not mine."""
    if maker not in _MAKERS:
        _MAKERS.append(maker)


def make_batch(env_id: str, num_envs: int, kwargs: dict[str, Any]) -> Batch | None:
    """A batch with the attributes that are ready for the id; None if nobody makes one."""
    for maker in _MAKERS:
        if (found := maker(env_id, num_envs, kwargs)) is not None:
            return found
    return None
