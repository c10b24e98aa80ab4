"""Common parts of environments that run hops: their own goals and their own ends of episodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from gym_attrplan.agent.environments import set_everywhere
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidEnvironment

Observations = dict[str, npt.NDArray[Any]]
BoolArray = npt.NDArray[np.bool_]
Info = dict[str, Any]

_JUDGED_HERE = ("compute_reward", "compute_terminated")


@contextmanager
def endless_goals(venv: VecEnv) -> Iterator[None]:
    """Keep episodes from ending when the environment's own goal is met, during training."""
    before = venv.get_attr("terminate_on_success")[0]
    set_everywhere(venv, "terminate_on_success", False)
    try:
        yield
    except BaseException:
        with suppress(InvalidEnvironment):  # a dead process must not hide the original error
            set_everywhere(venv, "terminate_on_success", before)
        raise
    set_everywhere(venv, "terminate_on_success", before)


def last_rows(
    observations: Observations, done: BoolArray, infos: list[Info], key: str
) -> npt.NDArray[Any]:
    """Return one part of the observations after the step, before automatic resets."""
    rows = observations[key]
    if done.any():
        rows = rows.copy()
        for i in np.flatnonzero(done):
            rows[i] = infos[i]["terminal_observation"][key]
    return rows


def last_vectors(observations: Observations, done: BoolArray, infos: list[Info]) -> IntArray:
    """Return the descriptions after the step, before automatic resets."""
    return last_rows(observations, done, infos, "achieved_goal")


class HopJudge(VecEnvWrapper, ABC):
    """Environments whose ``compute_reward`` and ``compute_terminated`` refer to hops; for HER."""

    @abstractmethod
    def compute_reward(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.float32]:
        """Return the reward of a step to ``achieved_goal`` in a hop to ``desired_goal``."""

    @abstractmethod
    def compute_terminated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: list[Info]
    ) -> BoolArray:
        """Return whether a hop to ``desired_goal`` ends there."""

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the environments or this wrapper have the attribute."""
        return attr_name in _JUDGED_HERE or super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return the environments' attribute, unless this wrapper overrides it."""
        if attr_name in _JUDGED_HERE:
            return [getattr(self, attr_name) for _ in self._get_indices(indices)]
        return super().get_attr(attr_name, indices)

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call the environments' method, unless this wrapper overrides it."""
        if method_name in _JUDGED_HERE:
            answer = getattr(self, method_name)(*args, **kwargs)
            return [answer for _ in self._get_indices(indices)]
        return super().env_method(method_name, *args, indices=indices, **kwargs)
