"""Entry points of the registry, which make grid environments with attributes and goals.

All of them take the arguments of their game's rules and these options:

- ``task``: which goals are drawn, ``"targets"`` or ``"items"``, and how difficult they are:
  ``"targets<=3"``, ``"items==2"``;
- ``goal_sampler``: draws other goals than the task's;
- ``step_penalty``, ``terminate_on_success``: as in :class:`~gym_attrplan.AttributeWrapper`;
- ``obs_type``: ``"words"`` (default), ``"multi_hot"`` or ``"rgb"``;
- ``render_mode``: ``"human"``, ``"rgb_array"`` or ``"ansi"``; in batches ``"rgb_array"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import HumanRendering

from gym_attrplan.envs.goals import wrap_batch
from gym_attrplan.envs.grids.batched import CraftingVectorEnv, GridVectorEnv, SwitchesVectorEnv
from gym_attrplan.envs.grids.rules import RECIPES, RESOURCES, CraftingRules, SwitchesRules
from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.wrappers import AttributeVectorWrapper

Env = gym.Env[Any, Any]


def make_switches(
    *,
    size: int = 8,
    n_switches: int = 4,
    n_colors: int = 4,
    n_walls: int = 4,
    task: str = "targets",
    **options: Any,
) -> Env:
    """``AttrSwitches-v0``, with the arguments of :class:`SwitchesRules`."""
    rules = SwitchesRules(size, n_switches, n_colors, n_walls)
    return _make("switches", "SwitchesEnv", rules, task=task, **options)


def make_crafting(
    *,
    recipes: Mapping[str, Sequence[str]] = RECIPES,
    resources: Sequence[str] = RESOURCES,
    consume: bool = False,
    size: int = 8,
    n_walls: int = 4,
    task: str = "items",
    **options: Any,
) -> Env:
    """``AttrCrafting-v0``, with the arguments of :class:`CraftingRules`."""
    rules = CraftingRules(recipes, resources, consume, size, n_walls)
    return _make("crafting", "CraftingEnv", rules, task=task, **options)


def make_switches_vector(
    num_envs: int = 1,
    *,
    size: int = 8,
    n_switches: int = 4,
    n_colors: int = 4,
    n_walls: int = 4,
    task: str = "targets",
    **options: Any,
) -> AttributeVectorWrapper:
    """``AttrSwitches-v0`` in batches; also takes ``max_episode_steps``."""
    rules = SwitchesRules(size, n_switches, n_colors, n_walls)
    return _make_vector(SwitchesVectorEnv, rules, num_envs=num_envs, task=task, **options)


def make_crafting_vector(
    num_envs: int = 1,
    *,
    recipes: Mapping[str, Sequence[str]] = RECIPES,
    resources: Sequence[str] = RESOURCES,
    consume: bool = False,
    size: int = 8,
    n_walls: int = 4,
    task: str = "items",
    **options: Any,
) -> AttributeVectorWrapper:
    """``AttrCrafting-v0`` in batches; also takes ``max_episode_steps``."""
    rules = CraftingRules(recipes, resources, consume, size, n_walls)
    return _make_vector(CraftingVectorEnv, rules, num_envs=num_envs, task=task, **options)


def _make(
    module: str,
    name: str,
    rules: SwitchesRules | CraftingRules,
    *,
    obs_type: str = "words",
    render_mode: str | None = None,
    **goals: Any,
) -> Env:
    room_class = getattr(_load(module), name)
    # The window is around the wrapper that has the goal, so that it shows the goal too.
    drawn_as = "rgb_array" if render_mode == "human" else render_mode
    room = room_class(rules, obs_type=obs_type, render_mode=drawn_as)
    env: Env = _load("panel").GridAttributeWrapper(room, **goals)
    return HumanRendering(env) if render_mode == "human" else env


def _make_vector(
    rooms_class: type[GridVectorEnv[Any]],
    rules: SwitchesRules | CraftingRules,
    *,
    num_envs: int,
    obs_type: str = "words",
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
    **goals: Any,
) -> AttributeVectorWrapper:
    if obs_type == "rgb" or render_mode is not None:
        _load("objects")  # images need MiniGrid: raise now if it is missing
    rooms = rooms_class(
        rules,
        num_envs=num_envs,
        obs_type=obs_type,
        max_episode_steps=max_episode_steps,
        render_mode=render_mode,
    )
    return wrap_batch(rooms, **goals)


def _load(module: str) -> Any:
    """Import a module of this package that uses MiniGrid."""
    try:
        return import_module(f"gym_attrplan.envs.grids.{module}")
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'the grid environments need MiniGrid ({error}): pip install "gym_attrplan[minigrid]".'
        ) from error
