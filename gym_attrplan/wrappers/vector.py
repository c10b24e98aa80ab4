"""AttributeVectorWrapper: a goal environment over a whole batch of environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from gym_attrplan.attributes.functions import AttributeFunction, read_values
from gym_attrplan.attributes.library import choose_attributes
from gym_attrplan.attributes.space import AttributeSpace, IntArray, Sizes
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.goals import GoalRules, GoalSampler, as_goals

BoolArray = npt.NDArray[np.bool_]
Batch = dict[str, npt.NDArray[Any]]
StepResult = tuple[Batch, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]


class AttributeVectorWrapper(GoalRules, VectorWrapper[Batch, Any, Any, Any, Any]):
    """:class:`AttributeWrapper` for a ``gymnasium.vector`` environment.

    Meeting a goal ends an episode that the inner environment would continue, so this wrapper
    resets the environments. The inner environment must not (``AutoresetMode.DISABLED``). The
    wrapper itself resets in the same step (``AutoresetMode.SAME_STEP``, as Stable-Baselines3
    expects): a finished episode's last observation is ``info["final_obs"][i]``
    and its infos are in ``info["final_info"]``, while the returned row already begins the next
    episode, with its new goal.

    Args:
        env: A vector environment with autoreset disabled.
        space: The attributes: an :class:`AttributeSpace` or its arguments; None for the
            function's own ``attribute_space``.
        function: ``(vector_env, observations) -> (n_envs, n_attributes) | {name: (n_envs,)
            array}``; None for the function in :mod:`gym_attrplan.attributes.library`.
        goal_sampler: A :class:`GoalSampler` or ``"module:function"``. Default: any vector seen so
            far.
        step_penalty: Subtracted from the reward of every step.
        terminate_on_success: Whether meeting the goal ends the episode.
        text: Number of bytes of text observations to keep; None drops them.

    Raises:
        InvalidEnvironment: If the inner environment resets by itself.
        InvalidAttributes: If no function is given and the library has none.

    Example:
        >>> import gymnasium as gym
        >>> def tilt(envs, observations):
        ...     return {"leans_left": observations[:, 2] < 0, "moves_left": observations[:, 1] < 0}
        >>> envs = gym.make_vec("CartPole-v1", 3, vectorization_mode="sync",
        ...                     vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED})
        >>> envs = AttributeVectorWrapper(envs, ["leans_left", "moves_left"], tilt)
        >>> observations, infos = envs.reset(seed=1, options={"goal": "leans_left"})
        >>> observations["achieved_goal"].tolist(), infos["is_success"].tolist()
        ([[1, 0], [0, 1], [0, 1]], [True, False, False])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        space: Sizes | None = None,
        function: AttributeFunction | str | None = None,
        *,
        goal_sampler: GoalSampler | str | None = None,
        step_penalty: float = 0.0,
        terminate_on_success: bool = True,
        text: int | None = None,
    ) -> None:
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if mode != AutoresetMode.DISABLED:
            raise InvalidEnvironment(
                "the wrapper resets the environments itself, so the vector environment must not; "
                f"received autoreset mode {mode}. Make it with vector_kwargs="
                "{'autoreset_mode': gymnasium.vector.AutoresetMode.DISABLED}."
            )
        self.metadata = {**env.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        sizes, reads = choose_attributes(env, space, function)
        self.attribute_space = AttributeSpace(sizes)
        self.single_observation_space = self._set_up(
            env.single_observation_space,
            reads,
            goal_sampler,
            step_penalty,
            terminate_on_success,
            text,
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        shape = (self.num_envs, len(self.attribute_space))
        self._goals: IntArray = np.zeros(shape, self.attribute_space.dtype)
        self._achieved: IntArray = np.zeros(shape, self.attribute_space.dtype)
        self._cut = np.zeros(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Batch, dict[str, Any]]:
        """Reset every environment; ``options["goal"]`` is one goal for all, or one for each.

        Raises:
            InvalidGoal: If a goal is invalid; the environments are then not reset.
        """
        options = dict(options or {})
        wanted = options.pop("goal", None)
        space = self.attribute_space
        goals = None if wanted is None else as_goals(space, wanted, self.num_envs)
        self._seed_goals(seed)
        observations, info = self.env.reset(seed=seed, options=options or None)
        self._cut[:] = False
        self._achieved = self._evaluate(observations)
        if self._seen is not None:
            self._seen.add(self._achieved)
        self._goals = self._sample_goals(self._achieved) if goals is None else goals
        info = {**info, **self._judgement()}
        return self._observe(observations), info

    def step(self, actions: Any) -> StepResult:
        """Step every environment, evaluate the goals, and reset finished episodes."""
        observations, env_rewards, ended, truncated, info = self.env.step(actions)
        self._take(self._evaluate(observations))
        met = self.attribute_space.matches(self._achieved, self._goals)
        terminated = ended | met if self.terminate_on_success else ended.copy()
        rewards = met.astype(np.float64) - self.step_penalty
        info = {
            **info,
            **self._judgement(met),
            "env_reward": env_rewards,
            "env_terminated": ended,
        }
        truncated = truncated | self._cut
        self._cut[:] = False
        done = terminated | truncated
        if done.any():
            observations, info = self._restart(observations, info, done)
        return self._observe(observations), rewards, terminated, truncated, info

    def truncate_episodes(self, where: BoolArray) -> None:
        """Truncate these episodes ``(n_envs,)`` at the next step: nothing more can be learned."""
        self._cut |= where

    def _restart(
        self, observations: Any, info: dict[str, Any], done: BoolArray
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes where ``done``; the last data of the old ones go into info."""
        rows = np.flatnonzero(done)
        last = self._flat.convert(observations, batch_axes=1)
        last = {**last, "achieved_goal": self._achieved, "desired_goal": self._goals}
        last = {key: part[rows] for key, part in last.items()}
        final_obs = np.empty(self.num_envs, object)
        for i, row in zip(rows.tolist(), zip(*last.values(), strict=True), strict=True):
            final_obs[i] = dict(zip(last, row, strict=True))
        observations, reset_info = self.env.reset(options={"reset_mask": done})
        fresh = self._evaluate(observations)[rows]
        achieved = self._achieved.copy()
        achieved[rows] = fresh
        self._take(achieved)
        self._goals = self._goals.copy()
        self._goals[rows] = goals = self._sample_goals(fresh)
        met = info["is_success"].copy()
        met[rows] = self.attribute_space.matches(fresh, goals)
        return observations, {
            **info,
            **reset_info,
            **self._judgement(met),
            "final_obs": final_obs,
            "_final_obs": done,
            "final_info": info,
            "_final_info": done,
        }

    def _take(self, achieved: IntArray) -> None:
        """Set the current vectors; the sampler sees those that changed."""
        if self._seen is not None:
            self._seen.add(achieved[(achieved != self._achieved).any(axis=1)])
        self._achieved = achieved

    def _judgement(self, met: BoolArray | None = None) -> dict[str, Any]:
        if met is None:
            met = self.attribute_space.matches(self._achieved, self._goals)
        return {"attributes": self._achieved, "is_success": met}

    def _evaluate(self, observations: Any) -> IntArray:
        values = self._function(self.env, observations)
        return read_values(self.attribute_space, values, leading=(self.num_envs,))

    def _observe(self, observations: Any) -> Batch:
        parts: Batch = self._flat.convert(observations, batch_axes=1)
        parts["achieved_goal"] = self._achieved.copy()
        parts["desired_goal"] = self._goals.copy()
        return parts
