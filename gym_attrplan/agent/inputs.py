"""What users hand to an agent, in the one form that it works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment, InvalidGoal

Observation = dict[str, npt.NDArray[Any]]
CallbackLike = BaseCallback | list[BaseCallback] | Any | None


def as_batch(observation: Observation, space: AttributeSpace) -> tuple[Observation, bool]:
    """One observation or a batch of them as a batch, and whether it was one.

    Raises:
        InvalidEnvironment: If it is not what an attribute environment gives.
        InvalidGoal: If a vector has another length than the attributes.
    """
    if not isinstance(observation, dict) or not {"achieved_goal", "desired_goal"} <= set(
        observation
    ):
        raise InvalidEnvironment(
            "the agent reads observations with achieved_goal and desired_goal, as "
            f"AttributeWrapper gives them; received {type(observation).__name__}."
        )
    single = np.ndim(observation["achieved_goal"]) == 1
    batch = {key: np.asarray(part) for key, part in observation.items()}
    if single:
        batch = {key: part[None] for key, part in batch.items()}
    for key in ("achieved_goal", "desired_goal"):
        if batch[key].shape[1:] != (len(space),):
            raise InvalidGoal(
                f"{key} holds {len(space)} values, one for each attribute; "
                f"received shape {np.shape(observation[key])}."
            )
    return batch, single


def as_callback(callback: CallbackLike) -> BaseCallback:
    """SB3's several ways to give callbacks, as one callback."""
    if callback is None:
        return CallbackList([])
    if isinstance(callback, list):
        return CallbackList(callback)
    return callback if isinstance(callback, BaseCallback) else ConvertCallback(callback)
