"""Registration of the environments, without importing what they need."""

from __future__ import annotations

from typing import Any, TypedDict

import gymnasium as gym

from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.batches import Batch, register_batch_maker


class _Entry(TypedDict):
    entry_point: str
    vector_entry_point: str | None
    max_episode_steps: int


_GRIDS = "gym_attrplan.envs.grids.factories"
_BLOCKS = "gym_attrplan.envs.blocks.factories"
_BUILD_ORDER = "gym_attrplan.envs.build_order.factories"

ENVIRONMENTS: dict[str, _Entry] = {
    "AttrSwitches-v0": {
        "entry_point": f"{_GRIDS}:make_switches",
        "vector_entry_point": f"{_GRIDS}:make_switches_vector",
        "max_episode_steps": 300,
    },
    "AttrCrafting-v0": {
        "entry_point": f"{_GRIDS}:make_crafting",
        "vector_entry_point": f"{_GRIDS}:make_crafting_vector",
        "max_episode_steps": 300,
    },
    "AttrBlocks-v0": {
        "entry_point": f"{_BLOCKS}:make_blocks",
        "vector_entry_point": f"{_BLOCKS}:make_blocks_vector",
        "max_episode_steps": 40,
    },
    "AttrBlocksContinuous-v0": {
        "entry_point": f"{_BLOCKS}:make_blocks_continuous",
        "vector_entry_point": None,
        "max_episode_steps": 40,
    },
    "AttrBuildOrder-v0": {
        "entry_point": f"{_BUILD_ORDER}:make_small",
        "vector_entry_point": f"{_BUILD_ORDER}:make_small_vector",
        "max_episode_steps": 500,
    },
    "AttrBuildOrderLarge-v0": {
        "entry_point": f"{_BUILD_ORDER}:make_large",
        "vector_entry_point": f"{_BUILD_ORDER}:make_large_vector",
        "max_episode_steps": 500,
    },
    "AttrCrafter-v0": {
        "entry_point": "gym_attrplan.envs.crafter.factories:make_crafter",
        "vector_entry_point": None,
        "max_episode_steps": 10_000,
    },
}


def register_environments() -> None:
    """Register every id with ``gymnasium``; a second call changes nothing."""
    for name, entry in ENVIRONMENTS.items():
        if name not in gym.registry:
            gym.register(name, **entry)
    register_batch_maker(make_minigrid_batch)


def make_minigrid_batch(env_id: str, num_envs: int, kwargs: dict[str, Any]) -> Batch | None:
    """Make a batch of MiniGrid's environments with their ready attributes; None for other ids.

    BabyAI's levels come without missions: an agent that practises needs no end of an episode.
    """
    is_level = env_id.startswith("BabyAI-")
    if not (is_level or env_id.startswith("MiniGrid-")) or "max_episode_steps" in kwargs:
        return None
    kwargs = {"without_missions": True, **kwargs} if is_level else kwargs
    from gym_attrplan.envs.minigrid.factories import minigrid_vec

    try:
        return minigrid_vec(env_id, num_envs, **kwargs)
    except InvalidEnvironment:  # rules that the batch does not know
        return None
