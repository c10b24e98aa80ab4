"""Conversion of user input to the agent's internal form."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback

from gym_attrplan.agent.guard import check_observations
from gym_attrplan.agent.kinds import differences
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment, InvalidGoal

Observation = dict[str, npt.NDArray[Any]]
CallbackLike = BaseCallback | list[BaseCallback] | Any | None


def as_batch(observation: Observation) -> tuple[Observation, bool]:
    """Convert one observation or a batch to a batch; also return whether it was a single one.

    Raises:
        InvalidEnvironment: If it has no attributes.
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
    return ({key: part[None] for key, part in batch.items()} if single else batch), single


def check_batch(batch: Observation, space: AttributeSpace, observation_space: spaces.Dict) -> None:
    """Check that an agent can read a batch.

    Raises:
        InvalidEnvironment: If its keys or shapes differ from those of the agent's environments, or
            a value is not finite.
        InvalidGoal: If a vector's length differs from the number of attributes.
    """
    for key in ("achieved_goal", "desired_goal"):
        if batch[key].shape[1:] != (len(space),):
            raise InvalidGoal(
                f"{key} holds {len(space)} values, one for each attribute: "
                f"{', '.join(space.names[:12])}{', …' if len(space) > 12 else ''}; received shape "
                f"{batch[key].shape[1:]}."
            )
    shapes = {key: part.shape[1:] for key, part in batch.items()}
    wanted = {key: part.shape for key, part in observation_space.spaces.items()}
    if shapes != wanted and (found := differences(wanted, shapes)):
        raise InvalidEnvironment(
            f"the observation is of another environment than the agent's: {', '.join(found[:6])}."
        )
    check_observations(batch, observation_space, "row {} of the observation".format)


def as_callback(callback: CallbackLike) -> BaseCallback:
    """Convert any form of callbacks that SB3 takes to one callback."""
    if callback is None:
        return CallbackList([])
    if isinstance(callback, list):
        return CallbackList(callback)
    return callback if isinstance(callback, BaseCallback) else ConvertCallback(callback)
