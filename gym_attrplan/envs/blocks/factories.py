"""Entry points of the registry, which make block environments with attributes and goals.

All take the arguments of :class:`BlocksRules` and these options:

- ``task``: which goals are drawn, see :class:`~gym_attrplan.envs.blocks.tasks.BlockGoals`;
- ``goal_sampler``: draws other goals than the task's;
- ``step_penalty``, ``terminate_on_success``: as in :class:`~gym_attrplan.AttributeWrapper`;
- ``obs_type``: ``"pixels"`` (default) or ``"state"``; ``image_size``: 128 by default;
- ``jitter``: how far off-centre and turned blocks are dropped, 0 to 1; not in the continuous
  environment, where the action determines it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import HumanRendering

from gym_attrplan.envs.blocks.batched import BlocksVectorEnv
from gym_attrplan.envs.blocks.continuous import ContinuousBlocksEnv
from gym_attrplan.envs.blocks.env import BlocksEnv
from gym_attrplan.envs.blocks.rules import COLORS, BlocksRules
from gym_attrplan.envs.goals import TaskWrapper, wrap_batch
from gym_attrplan.wrappers import AttributeVectorWrapper, GoalSampler

Env = gym.Env[Any, Any]


def make_blocks(
    *,
    n_blocks: int = 4,
    grid: int = 3,
    colors: Sequence[str] = COLORS,
    jitter: float = 1.0,
    task: str = "multi_step",
    **options: Any,
) -> Env:
    """``AttrBlocks-v0``; ``render_mode`` is ``"human"``, ``"rgb_array"`` or None."""
    make = partial(BlocksEnv, BlocksRules(n_blocks, grid, colors), jitter=jitter)
    return _make(make, task=task, **options)


def make_blocks_continuous(
    *,
    n_blocks: int = 4,
    grid: int = 3,
    colors: Sequence[str] = COLORS,
    task: str = "multi_step",
    **options: Any,
) -> Env:
    """``AttrBlocksContinuous-v0``; ``render_mode`` as for :func:`make_blocks`."""
    make = partial(ContinuousBlocksEnv, BlocksRules(n_blocks, grid, colors))
    return _make(make, task=task, **options)


def make_blocks_vector(
    num_envs: int = 1,
    *,
    n_blocks: int = 4,
    grid: int = 3,
    colors: Sequence[str] = COLORS,
    task: str = "multi_step",
    goal_sampler: GoalSampler | str | None = None,
    step_penalty: float = 0.0,
    terminate_on_success: bool = True,
    **view: Any,
) -> AttributeVectorWrapper:
    """``AttrBlocks-v0`` in batches; also takes the other options of :class:`BlocksVectorEnv`."""
    envs = BlocksVectorEnv(BlocksRules(n_blocks, grid, colors), num_envs=num_envs, **view)
    return wrap_batch(
        envs,
        task=task,
        goal_sampler=goal_sampler,
        step_penalty=step_penalty,
        terminate_on_success=terminate_on_success,
    )


def _make(
    make: Callable[..., Env],
    *,
    obs_type: str = "pixels",
    image_size: int = 128,
    render_mode: str | None = None,
    **goals: Any,
) -> Env:
    drawn_as = "rgb_array" if render_mode == "human" else render_mode
    raw = make(obs_type=obs_type, image_size=image_size, render_mode=drawn_as)
    env: Env = TaskWrapper(raw, **goals)
    return HumanRendering(env) if render_mode == "human" else env
