"""AttributeWrapper: any Gymnasium environment as a goal environment over named attributes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from gym_attrplan.attributes.functions import AttributeFunction, read_values
from gym_attrplan.attributes.library import choose_attributes
from gym_attrplan.attributes.space import FREE, AttributeSpace, GoalLike, IntArray, Sizes
from gym_attrplan.wrappers.goals import GoalRules, GoalSampler
from gym_attrplan.wrappers.masks import ACTION_MASK, has_masks, mask_space, read_mask

Observation = dict[str, Any]


class AttributeWrapper(GoalRules, gym.Wrapper[Observation, Any, Any, Any], RecordConstructorArgs):
    """Adds ``achieved_goal`` and ``desired_goal`` to the observation; pays for meeting the goal.

    The observation becomes a flat ``Dict``: the inner observation's parts, ``achieved_goal`` (the
    current attributes) and ``desired_goal`` (-1 where free). The inner observation has the key
    ``observation``, or its own keys if it is a ``Dict``. It never contains the goal. If the inner
    environment has a method ``action_masks``, as in sb3-contrib, its result is ``action_mask``.

    The reward is 1.0 on a step after which the goal holds, else 0.0, minus ``step_penalty``. The
    inner reward is ``info["env_reward"]``. The info also has ``attributes`` and ``is_success``.
    A goal that leaves everything free is met by the first step.

    ``reset(options={"goal": goal})`` takes a goal in every form :meth:`AttributeSpace.goal` does;
    otherwise ``goal_sampler`` draws one; ``set_goal`` changes it within an episode.
    ``reset(seed=...)`` makes both the environment and the goals reproducible; the default sampler
    then forgets the vectors it has seen.

    Args:
        env: Any environment.
        space: The attributes: an :class:`AttributeSpace` or its arguments; None for the
            function's own ``attribute_space``.
        function: ``(env, observation) -> vector | {name: value}``, ``"module:function"``, or a
            fitted detector. It receives the inner environment and its observation, once per step.
            None for the function in :mod:`gym_attrplan.attributes.library`.
        goal_sampler: A :class:`GoalSampler` or ``"module:function"``. Default: any vector seen so
            far.
        step_penalty: Subtracted from the reward of every step.
        terminate_on_success: Whether meeting the goal ends the episode.
        text: Number of bytes of text observations to keep; None drops them.

    Raises:
        InvalidAttributes: If the space is invalid, the function cannot be imported, or there is
            none for this environment.
        InvalidEnvironment: If an observation part has no fixed shape, or a mask another size than
            the actions.

    Example:
        >>> def tilt(env, observation):
        ...     return {"leans_left": observation[2] < 0, "moves_left": observation[1] < 0}
        >>> env = AttributeWrapper(gym.make("CartPole-v1"), ["leans_left", "moves_left"], tilt)
        >>> observation, info = env.reset(seed=1, options={"goal": "not leans_left, moves_left"})
        >>> observation["achieved_goal"], observation["desired_goal"]
        (array([1, 0], dtype=int8), array([0, 1], dtype=int8))
        >>> observation, reward, terminated, truncated, info = env.step(0)
        >>> env.attribute_space.describe(info["attributes"]), reward
        ('leans_left, moves_left', 0.0)
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        space: Sizes | None = None,
        function: AttributeFunction | str | None = None,
        *,
        goal_sampler: GoalSampler | str | None = None,
        step_penalty: float = 0.0,
        terminate_on_success: bool = True,
        text: int | None = None,
    ) -> None:
        sizes, reads = choose_attributes(env, space, function)
        self.attribute_space = AttributeSpace(sizes)
        RecordConstructorArgs.__init__(
            self,
            # Detectors and samplers stay shared: a copy would cost memory and learn separately.
            _disable_deepcopy=True,
            # Plain data, so that the spec can be JSON; library functions will be found again.
            space=None if space is None else self.attribute_space.table,
            function=function,
            goal_sampler=goal_sampler,
            step_penalty=step_penalty,
            terminate_on_success=terminate_on_success,
            text=text,
        )
        gym.Wrapper.__init__(self, env)
        self.observation_space = self._set_up(
            env.observation_space, reads, goal_sampler, step_penalty, terminate_on_success, text
        )
        self._adds_mask = has_masks(env) and ACTION_MASK not in self.observation_space.spaces
        if self._adds_mask:
            mask = {ACTION_MASK: mask_space(env.action_space)}
            self.observation_space = spaces.Dict({**mask, **self.observation_space.spaces})
        self._last_observation: Any = None
        self._cut = False
        self._set_goal(np.full(len(self.attribute_space), FREE, self.attribute_space.dtype))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Reset the environment and set the goal: ``options["goal"]``, or one drawn by the sampler.

        Raises:
            InvalidGoal: If the goal is invalid; the environment is then not reset.
        """
        options = dict(options or {})
        wanted = options.pop("goal", None)
        goal = None if wanted is None else self.attribute_space.goal(wanted)
        self._seed_goals(seed)
        observation, info = self.env.reset(seed=seed, options=options or None)
        self._cut = False
        achieved = self._read(observation)
        self._set_goal(self._sample_goals(achieved[None])[0] if goal is None else goal)
        info = {**info, "attributes": achieved, "is_success": self._met(achieved)}
        return self._observe(observation, achieved), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Step the environment and evaluate the goal."""
        observation, env_reward, ended, truncated, info = self.env.step(action)
        achieved = self._read(observation)
        met = self._met(achieved)
        info = {
            **info,
            "attributes": achieved,
            "is_success": met,
            "env_reward": env_reward,
            "env_terminated": bool(ended),
        }
        terminated = bool(ended) or (met and self.terminate_on_success)
        truncated = bool(truncated) or self._cut
        reward = float(met) - self.step_penalty
        return self._observe(observation, achieved), reward, terminated, truncated, info

    def set_goal(self, wanted: GoalLike) -> None:
        """Change the goal within an episode; observations show it from now on.

        Raises:
            InvalidGoal: If the goal is invalid; the previous goal then stays.
        """
        self._set_goal(self.attribute_space.goal(wanted))

    def truncate_episode(self) -> None:
        """Truncate the episode at the next step, because nothing more can be learned in it."""
        self._cut = True

    def recompute_attributes(self) -> IntArray:
        """Call the attribute function again on the last observation, for the checker."""
        return self._evaluate(self._last_observation)

    def _read(self, observation: Any) -> IntArray:
        self._last_observation = observation
        achieved = self._evaluate(observation)
        if self._seen is not None:
            self._seen.add(achieved[None])
        return achieved

    def _evaluate(self, observation: Any) -> IntArray:
        return read_values(self.attribute_space, self._function(self.env, observation))

    def _set_goal(self, goal: IntArray) -> None:
        self._goal = goal
        self._wanted = goal != FREE

    def _met(self, achieved: IntArray) -> bool:
        return not np.count_nonzero((achieved != self._goal) & self._wanted)

    def _observe(self, observation: Any, achieved: IntArray) -> Observation:
        parts: Observation = self._flat.convert(observation)
        if self._adds_mask:
            parts[ACTION_MASK] = read_mask(self.env)
        parts["achieved_goal"] = achieved
        parts["desired_goal"] = self._goal.copy()
        return parts


def with_attributes(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Return the environment with attributes: its own, or those of the library.

    Raises:
        InvalidAttributes: If there are none.
    """
    return env if env.has_wrapper_attr("attribute_space") else AttributeWrapper(env)
