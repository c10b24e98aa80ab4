"""Tasks by name: their text form, and the wrappers that draw their goals."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs

from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import AttributeVectorWrapper, AttributeWrapper, GoalSampler


def read_attributes(env: Any, observation: Any) -> npt.NDArray[np.int8]:
    """Return the attributes that this library's environments keep themselves."""
    attributes: npt.NDArray[np.int8] = env.unwrapped.attributes
    return attributes


def read_task(task: str, name: str, hardest: int) -> tuple[int, int]:
    """Return the range of difficulties in a task's text.

    Args:
        task: ``name``, ``name<=d`` or ``name==d``.
        name: The task's name.
        hardest: Maximum difficulty; 1 is the minimum.

    Raises:
        InvalidEnvironment: If the text has another form, or the difficulty does not exist.

    Example:
        >>> read_task("targets", "targets", 12), read_task("targets<=3", "targets", 12)
        ((1, 12), (1, 3))
    """
    found = re.fullmatch(rf"{name}(?:(<=|==)(\d+))?", str(task))
    if not found:
        raise InvalidEnvironment(
            f"the task is {name!r}, '{name}<=d' or '{name}==d'; received {task!r}. Other goals: "
            "give goal_sampler=."
        )
    relation, number = found.groups()
    if relation is None:
        return 1, hardest
    if not 1 <= int(number) <= hardest:
        raise InvalidEnvironment(f"{name} are of difficulty 1 to {hardest}; received {task!r}.")
    return (1 if relation == "<=" else int(number)), int(number)


class TaskWrapper(AttributeWrapper):
    """:class:`~gym_attrplan.AttributeWrapper` for an environment with named tasks.

    Args:
        env: A raw environment with ``rules.attributes`` and a method ``sampler(task)``.
        task: A task's name.
        goal_sampler: Draws other goals than the task's.
        step_penalty: Subtracted from the reward of every step.
        terminate_on_success: Whether meeting the goal ends the episode.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        task: str,
        goal_sampler: GoalSampler | str | None = None,
        step_penalty: float = 0.0,
        terminate_on_success: bool = True,
    ) -> None:
        goals: dict[str, Any] = {
            "goal_sampler": goal_sampler,
            "step_penalty": step_penalty,
            "terminate_on_success": terminate_on_success,
        }
        # Before the base class records its own: a task's name can be JSON, a sampler cannot.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, task=task, **goals)
        raw: Any = env.unwrapped
        goals["goal_sampler"] = goal_sampler or raw.sampler(task)
        super().__init__(env, raw.rules.attributes, read_attributes, **goals)


def wrap_batch(
    envs: Any, *, task: str, goal_sampler: GoalSampler | str | None = None, **goals: Any
) -> AttributeVectorWrapper:
    """Add goals to a batch of raw environments; takes the arguments of :class:`TaskWrapper`."""
    sampler = goal_sampler or envs.sampler(task)
    return AttributeVectorWrapper(
        envs, envs.rules.attributes, read_attributes, goal_sampler=sampler, **goals
    )
