"""Entry points of the registry, and the PettingZoo environment.

All of them take these options:

- ``frames_per_step``: number of frames of the game in a step;
- ``task``: which goals are drawn: ``"counts"``, or with lower limits ``"counts<=2"``;
- ``goal_sampler``: draws other goals than the task's (not PettingZoo's);
- ``step_penalty``, ``terminate_on_success``: as in :class:`~gym_attrplan.AttributeWrapper`;
- ``render_mode``: ``"human"`` or ``"rgb_array"``; in batches ``"rgb_array"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.wrappers import HumanRendering

from gym_attrplan.envs.build_order.batched import EconomyVectorEnv
from gym_attrplan.envs.build_order.env import EconomyEnv
from gym_attrplan.envs.build_order.rules import EconomyRules
from gym_attrplan.envs.goals import TaskWrapper, wrap_batch
from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.wrappers import AttributeVectorWrapper

if TYPE_CHECKING:
    from gym_attrplan.envs.build_order.parallel import ParallelEconomy  # needs PettingZoo

Env = gym.Env[Any, Any]


class EconomyAttributeWrapper(TaskWrapper):
    """:class:`TaskWrapper` of the economy, which draws the goal."""

    def render(self) -> Any:
        """Return the map, with the progress towards the goal."""
        if self.render_mode is None:
            return None
        from gym_attrplan.envs.build_order.drawing import draw

        economy: Any = self.unwrapped
        return draw(economy.rules, economy.state(), self._goal)


def make_small(**options: Any) -> Env:
    """``AttrBuildOrder-v0``."""
    return _make("small", **options)


def make_large(**options: Any) -> Env:
    """``AttrBuildOrderLarge-v0``."""
    return _make("large", **options)


def make_small_vector(num_envs: int = 1, **options: Any) -> AttributeVectorWrapper:
    """``AttrBuildOrder-v0`` in batches; also takes ``max_episode_steps``."""
    return _make_vector("small", num_envs, **options)


def make_large_vector(num_envs: int = 1, **options: Any) -> AttributeVectorWrapper:
    """``AttrBuildOrderLarge-v0`` in batches; also takes ``max_episode_steps``."""
    return _make_vector("large", num_envs, **options)


def parallel_env(
    version: str = "small", *, frames_per_step: int = 12, **options: Any
) -> ParallelEconomy:
    """Make the economy as a PettingZoo ``ParallelEnv``; see its class for the options.

    Raises:
        InvalidEnvironment: On an unknown version.
        DependencyNotInstalled: Without PettingZoo.

    Example:
        >>> env = parallel_env("large")
        >>> observations, infos = env.reset(seed=0)
        >>> actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        >>> observations, rewards, terminations, truncations, infos = env.step(actions)
    """
    rules = EconomyRules(version, frames_per_step)
    try:
        from gym_attrplan.envs.build_order.parallel import ParallelEconomy
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'parallel_env needs PettingZoo ({error}): pip install "gym_attrplan[pettingzoo]".'
        ) from error
    return ParallelEconomy(rules, **options)


def _make(
    version: str,
    *,
    frames_per_step: int = 12,
    task: str = "counts",
    render_mode: str | None = None,
    **goals: Any,
) -> Env:
    # The window is around the wrapper that has the goal, so that it shows the goal too.
    drawn_as = "rgb_array" if render_mode == "human" else render_mode
    economy = EconomyEnv(EconomyRules(version, frames_per_step), render_mode=drawn_as)
    env = EconomyAttributeWrapper(economy, task=task, **goals)
    return HumanRendering(env) if render_mode == "human" else env


def _make_vector(
    version: str,
    num_envs: int,
    *,
    frames_per_step: int = 12,
    task: str = "counts",
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
    **goals: Any,
) -> AttributeVectorWrapper:
    economies = EconomyVectorEnv(
        EconomyRules(version, frames_per_step),
        num_envs=num_envs,
        max_episode_steps=max_episode_steps,
        render_mode=render_mode,
    )
    return wrap_batch(economies, task=task, **goals)
