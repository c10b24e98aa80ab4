"""Entry point of the registry, which makes Crafter with attributes and goals."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import gymnasium as gym
from gymnasium.wrappers import HumanRendering

from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.wrappers import AttributeWrapper

ACHIEVEMENT_GOALS = "gym_attrplan.attributes.library.crafter:draw_achievements"


def make_crafter(
    *,
    obs_type: str = "symbols",
    render_mode: str | None = None,
    goal_sampler: Any = ACHIEVEMENT_GOALS,
    **options: Any,
) -> gym.Env[Any, Any]:
    """``AttrCrafter-v0``.

    Args:
        obs_type: ``"symbols"`` or ``"pixels"``.
        render_mode: ``"human"`` or ``"rgb_array"``.
        goal_sampler: Draws the goals; by default one achievement.
        options: ``step_penalty`` and ``terminate_on_success``, as in
            :class:`~gym_attrplan.AttributeWrapper`.

    Raises:
        DependencyNotInstalled: If Crafter is missing.
        InvalidEnvironment: If ``obs_type`` or ``render_mode`` is unknown.
    """
    drawn_as = "rgb_array" if render_mode == "human" else render_mode
    game = _load().CrafterEnv(obs_type=obs_type, render_mode=drawn_as)
    env: gym.Env[Any, Any] = AttributeWrapper(game, goal_sampler=goal_sampler, **options)
    return HumanRendering(env) if render_mode == "human" else env


def _load() -> Any:
    """Import the module that uses Crafter."""
    try:
        return import_module("gym_attrplan.envs.crafter.env")
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'AttrCrafter-v0 needs Crafter ({error}): pip install "gym_attrplan[crafter]".'
        ) from error
