"""Action masks: which actions an environment allows, as a part of the observation."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.error import InvalidEnvironment

ACTION_MASK = "action_mask"
"""Key of the observation that holds 1 for each action that is allowed, else 0."""

METHOD = "action_masks"
"""Name of the environments' method that returns it, as in sb3-contrib."""


def mask_sizes(space: spaces.Space[Any]) -> list[int]:
    """Return the number of choices of each part of an action; none if they cannot be masked.

    Example:
        >>> mask_sizes(spaces.Discrete(4)), mask_sizes(spaces.MultiBinary(2))
        ([4], [2, 2])
    """
    if isinstance(space, spaces.Discrete):
        return [int(space.n)]
    if isinstance(space, spaces.MultiDiscrete):
        return [int(n) for n in space.nvec.flat]
    if isinstance(space, spaces.MultiBinary):
        return [2] * int(np.prod(space.shape))
    return []


def has_masks(env: gym.Env[Any, Any]) -> bool:
    """Return whether an environment says which actions it allows."""
    if not mask_sizes(env.action_space) or not env.has_wrapper_attr(METHOD):
        return False
    return callable(env.get_wrapper_attr(METHOD))


def mask_space(space: spaces.Space[Any]) -> spaces.Box:
    """Return the space of the masks of actions."""
    return spaces.Box(0, 1, (sum(mask_sizes(space)),), np.int8)


def read_mask(env: gym.Env[Any, Any]) -> npt.NDArray[np.int8]:
    """Return the mask of the next action.

    Raises:
        InvalidEnvironment: If its size is not the number of choices.
    """
    mask = np.asarray(env.get_wrapper_attr(METHOD)())
    n = sum(mask_sizes(env.action_space))
    if mask.size != n:
        raise InvalidEnvironment(
            f"{METHOD}() returns {n} truth values for {env.action_space}, one for each choice; "
            f"received shape {mask.shape}."
        )
    allowed: npt.NDArray[np.int8] = (mask.reshape(n) != 0).astype(np.int8)
    return allowed
