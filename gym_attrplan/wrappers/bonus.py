"""Exploration bonuses: reward wrappers that pay for attribute transitions, more for rare ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from gym_attrplan.attributes.space import AttributeSpace, IntArray
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment
from gym_attrplan.graph import TransitionCounts

FloatArray = npt.NDArray[np.float64]
BonusFormula = Callable[[FloatArray, float], FloatArray]


def count_bonus(visits: FloatArray, total: float) -> FloatArray:
    """Return N^-0.5 for a transition seen N times."""
    return np.asarray(visits, np.float64) ** -0.5


def normalized_count_bonus(visits: FloatArray, total: float) -> FloatArray:
    """Return (N/t + 0.001)^-0.5 for t transitions in all; it does not vanish as counts grow."""
    return (np.asarray(visits, np.float64) / total + 0.001) ** -0.5


class CountBonus(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Replaces the reward by ``scale * N^-0.5`` at each attribute transition and by 0 otherwise.

    N is the number of times the transition has been seen, including this one. The replaced reward
    is ``info["reward_without_bonus"]``. Environments with the same ``counts`` share them. The bonus
    of a transition falls as it is repeated, so the spec marks the environment as nondeterministic.
    The counts are not part of the spec; an environment made from it starts with none.

    Args:
        env: An environment with attributes.
        counts: The table of transitions; a new one by default.
        scale: Factor on the bonus.

    Raises:
        InvalidEnvironment: If the environment has no attributes.
        InvalidAttributes: If the counts are of another attribute space, or the scale is not
            positive.

    Example:
        >>> from gym_attrplan import AttributeWrapper
        >>> env = gym.make("FrozenLake-v1", is_slippery=False)
        >>> env = AttributeWrapper(env, {"cell": 16}, lambda env, cell: [cell])
        >>> env = CountBonus(env)
        >>> _ = env.reset(seed=0, options={"goal": {"cell": 15}})
        >>> [round(env.step(action)[1], 3) for action in (1, 3, 0, 1, 3, 1)]
        [1.0, 1.0, 0.0, 0.707, 0.707, 0.577]
    """

    formula: ClassVar[BonusFormula] = staticmethod(count_bonus)

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        counts: TransitionCounts | None = None,
        scale: float = 1.0,
    ) -> None:
        RecordConstructorArgs.__init__(self, scale=scale)
        gym.Wrapper.__init__(self, env)
        space = _attribute_space(env, getattr(env, "get_wrapper_attr", None))
        self.counts = _checked_counts(counts, space)
        self.scale = _checked_scale(scale)
        self._previous: IntArray = np.zeros(len(space), space.dtype)

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # a property in Wrapper too
        """The inner spec with this wrapper, marked as nondeterministic."""
        spec = super().spec
        if spec is not None:
            spec.nondeterministic = True
        return spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset; the first attributes of an episode are no transition."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._previous = observation["achieved_goal"]
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, count the attribute transition if there was one, and pay its bonus."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        achieved = observation["achieved_goal"]
        bonus = 0.0
        if not np.array_equal(achieved, self._previous):
            visits = self.counts.record(self._previous, achieved)
            bonus = self.scale * float(type(self).formula(visits, self.counts.total)[0])
        self._previous = achieved
        return observation, bonus, terminated, truncated, {**info, "reward_without_bonus": reward}


class NormalizedCountBonus(CountBonus):
    """:class:`CountBonus` with (N/t + 0.001)^-0.5, t the number of transitions counted so far."""

    formula: ClassVar[BonusFormula] = staticmethod(normalized_count_bonus)


class CountBonusVector(VectorWrapper[Any, Any, Any, Any, Any]):
    """:class:`CountBonus` for a vector environment; one table counts for all of its environments.

    It works over :class:`~gym_attrplan.AttributeVectorWrapper` and over sync or async vectors of
    wrapped environments in every autoreset mode; with subprocesses the parent process counts.
    All transitions of a step are recorded before their bonuses are computed.

    Args:
        env: A vector environment with attributes.
        counts: The table of transitions; a new one by default.
        scale: Factor on the bonus.

    Raises:
        InvalidEnvironment: If the environment has no attributes.
        InvalidAttributes: If the counts are of another attribute space, or the scale is not
            positive.
    """

    formula: ClassVar[BonusFormula] = staticmethod(count_bonus)

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        counts: TransitionCounts | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__(env)
        space = _attribute_space(env, lambda name: env.get_attr(name)[0])  # type: ignore[attr-defined]
        self.counts = _checked_counts(counts, space)
        self.scale = _checked_scale(scale)
        self._mode = env.metadata.get("autoreset_mode")
        self._previous: IntArray = np.zeros((self.num_envs, len(space)), space.dtype)
        self._restarting = np.zeros(self.num_envs, np.bool_)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Reset; first attributes are no transitions."""
        observations, info = self.env.reset(seed=seed, options=options)
        self._previous = observations["achieved_goal"]
        self._restarting[:] = False
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step, count every environment's attribute transition, and pay the bonuses."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        done = terminated | truncated
        ends = observations["achieved_goal"]
        if self._mode == AutoresetMode.SAME_STEP and done.any():
            ends = ends.copy()
            for i in np.flatnonzero(done):
                ends[i] = info["final_obs"][i]["achieved_goal"]
        moved = (ends != self._previous).any(axis=1) & ~self._restarting
        bonus = np.zeros(self.num_envs)
        if moved.any():
            visits = self.counts.record(self._previous[moved], ends[moved])
            bonus[moved] = self.scale * type(self).formula(visits, self.counts.total)
        self._previous = observations["achieved_goal"]
        if self._mode == AutoresetMode.NEXT_STEP:
            self._restarting = done  # their next step will be a reset, regardless of the action
        info = {**info, "reward_without_bonus": rewards}
        return observations, bonus, terminated, truncated, info


class NormalizedCountBonusVector(CountBonusVector):
    """:class:`CountBonusVector` with (N/t + 0.001)^-0.5, t the number of transitions so far."""

    formula: ClassVar[BonusFormula] = staticmethod(normalized_count_bonus)


def _attribute_space(env: Any, look_up: Any) -> AttributeSpace:
    space = getattr(env, "attribute_space", None)
    try:
        space = space or look_up("attribute_space")
    except AttributeError:
        space = None
    if not isinstance(space, AttributeSpace):
        raise InvalidEnvironment(
            f"a bonus counts attribute transitions and {env} has no attributes: "
            "wrap it in AttributeWrapper or AttributeVectorWrapper first."
        )
    return space


def _checked_counts(counts: TransitionCounts | None, space: AttributeSpace) -> TransitionCounts:
    if counts is None:
        return TransitionCounts(space)
    if counts.space != space:
        raise InvalidAttributes(
            f"the counts are of {counts.space}, the environment of {space}: they cannot be shared."
        )
    return counts


def _checked_scale(scale: float) -> float:
    if not (np.isfinite(scale) and scale > 0):
        raise InvalidAttributes(f"the scale of a bonus must be positive; received {scale}.")
    return float(scale)
