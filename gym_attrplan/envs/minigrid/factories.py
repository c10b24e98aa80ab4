"""minigrid_vec: makes a batch of MiniGrid's environments with attributes and goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from gym_attrplan.attributes.library.minigrid_batch import MiniGridBatchAttributes
from gym_attrplan.envs.minigrid.batched import MiniGridVectorEnv
from gym_attrplan.wrappers import AttributeVectorWrapper, GoalSampler


def minigrid_vec(
    env_id: str,
    num_envs: int = 1,
    *,
    parts: Sequence[str] | None = None,
    goal_sampler: GoalSampler | str | None = None,
    step_penalty: float = 0.0,
    terminate_on_success: bool = True,
    text: int | None = None,
    **kwargs: Any,
) -> AttributeVectorWrapper:
    """Make the batched version of ``AttributeWrapper(gym.make(env_id))``.

    Args:
        env_id: An id of MiniGrid's.
        num_envs: Number of environments.
        parts: Which of the ready attributes to use; None chooses as for one environment.
        goal_sampler: As in :class:`~gym_attrplan.AttributeVectorWrapper`.
        step_penalty: As in :class:`~gym_attrplan.AttributeVectorWrapper`.
        terminate_on_success: As in :class:`~gym_attrplan.AttributeVectorWrapper`.
        text: As in :class:`~gym_attrplan.AttributeVectorWrapper`.
        **kwargs: Options of :class:`MiniGridVectorEnv`, such as ``pool_size``, and of MiniGrid.

    Raises:
        DependencyNotInstalled: If MiniGrid is missing.
        InvalidEnvironment: If the id or an option cannot be used.
        InvalidAttributes: If a part is unknown, or no environment has it.

    Example:
        >>> envs = minigrid_vec("MiniGrid-DoorKey-8x8-v0", 256)
        >>> observations, _ = envs.reset(seed=0, options={"goal": {"carrying": "key"}})
        >>> envs.attribute_space.describe(observations["achieved_goal"][0])
        'carrying=nothing, door=locked, room=1 away, not at_goal'
    """
    envs = MiniGridVectorEnv(env_id, num_envs, autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    ready = MiniGridBatchAttributes(envs, parts)
    return AttributeVectorWrapper(
        envs,
        ready.attribute_space,
        ready,
        goal_sampler=goal_sampler,
        step_penalty=step_penalty,
        terminate_on_success=terminate_on_success,
        text=text,
    )
