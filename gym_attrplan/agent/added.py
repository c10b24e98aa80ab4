"""AddedAttributes: the answers to questions about the observation, as further attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import (
    VecEnvIndices,
    VecEnvObs,
    VecEnvStepReturn,
)

from gym_attrplan.agent.environments import attribute_space
from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.error import InvalidGoal, InvalidOption
from gym_attrplan.models.questions import Question
from gym_attrplan.wrappers.observation import GOAL_KEYS

Array = npt.NDArray[Any]
Observations = Mapping[str, Array]
AnyEnv = TypeVar("AnyEnv", VecEnv, gym.Env[Any, Any])


class AddedAttributes:
    """Attributes of environments together with the answers to questions.

    Args:
        given: The attributes of the environments.
        observation_space: The observations of the environments.
        questions: Name of an added attribute → its question.

    Raises:
        InvalidOption: If an attribute already has the name, or a question cannot be asked.

    Example:
        >>> seen = spaces.Dict({"place": spaces.Box(0, 9, (1,), np.float32)})
        >>> question = Question("place", (0,), "above", 4.0)
        >>> added = AddedAttributes(AttributeSpace(["door"]), seen, {"far": question})
        >>> rows = {"place": np.array([[7.0]]), "achieved_goal": np.array([[1]], np.int8)}
        >>> added.space.describe(added.extend(rows)["achieved_goal"][0])
        'door, far'
    """

    def __init__(
        self,
        given: AttributeSpace,
        observation_space: spaces.Dict,
        questions: Mapping[str, Question],
    ) -> None:
        taken = sorted(set(given) & set(questions))
        if taken:
            raise InvalidOption(f"the environments have an attribute {taken[0]!r} already.")
        for question in questions.values():
            question.check(observation_space)
        self.given, self.questions = given, dict(questions)
        self.space = AttributeSpace({**given.table, **dict.fromkeys(questions, 2)})
        self.observation_space = described_by(observation_space, self.space)

    def extend(self, observations: Observations) -> dict[str, Array]:
        """Add the answers to a batch ``{key: (n, …)}``, and free attributes to its goals."""
        achieved = observations["achieved_goal"]
        found = [question.answer(observations) for question in self.questions.values()]
        answers = np.stack(found, axis=1)
        extended = {
            **observations,
            "achieved_goal": np.concatenate([achieved, answers], axis=1, dtype=self.space.dtype),
        }
        if "desired_goal" in observations:
            extended["desired_goal"] = self.extend_goals(observations["desired_goal"])
        return extended

    def extend_goals(self, goals: npt.ArrayLike) -> Array:
        """Leave the answers free in goals ``(…, n)`` of the environments' own attributes."""
        goals = np.asarray(goals)
        free = np.full((*goals.shape[:-1], len(self.questions)), FREE)
        return np.concatenate([goals, free], axis=-1, dtype=self.space.dtype)

    def own_goals(self, goals: Array) -> Array:
        """Return goals ``(…, n)`` for the environments, without the added attributes.

        Raises:
            InvalidGoal: If a goal wants one of them.
        """
        own = len(self.given)
        if (goals[..., own:] != FREE).any():
            raise InvalidGoal(
                f"environments judge their own attributes, {', '.join(self.given)}; received a "
                f"goal with one of {', '.join(self.questions)}. Ask the agent for it: "
                "predict(observation, goal=...)."
            )
        return goals[..., :own].astype(self.given.dtype)

    def are_missing(self, vectors: Any) -> bool:
        """Return whether vectors hold the environments' own attributes alone."""
        return np.ndim(vectors) > 0 and np.shape(vectors)[-1] == len(self.given)


def described_by(observation_space: spaces.Dict, space: AttributeSpace) -> spaces.Dict:
    """Return the observations of environments whose states have these attributes."""
    return spaces.Dict({**observation_space.spaces, **dict.fromkeys(GOAL_KEYS, space.box)})


class OtherAttributesVecEnv(VecEnvWrapper, ABC):
    """Environments whose states are described by other attributes than their own.

    Args:
        venv: The environments.
        space: The other attributes.
    """

    def __init__(self, venv: VecEnv, space: AttributeSpace) -> None:
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        self.attribute_space = space
        super().__init__(venv, described_by(venv.observation_space, space))

    @abstractmethod
    def describe(self, observations: Observations) -> dict[str, Array]:
        """Return a batch ``{key: (n, …)}`` with the other attributes."""

    @abstractmethod
    def own_goals(self, goals: Array) -> Array:
        """Return goals ``(…, n)`` over the environments' own attributes."""

    def reset(self) -> VecEnvObs:
        """Begin new episodes in all environments."""
        observations: Any = self.venv.reset()
        return self.describe(observations)

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environments."""
        observations, rewards, over, infos = self.venv.step_wait()
        infos = list(infos)
        for i in np.flatnonzero(over).tolist():
            last = infos[i]["terminal_observation"]
            rows = self.describe({key: np.asarray(part)[None] for key, part in last.items()})
            last = {key: part[0] for key, part in rows.items()}
            infos[i] = {**infos[i], "terminal_observation": last}
        return self.describe(observations), rewards, over, infos  # type: ignore[arg-type]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of the environments, or the attributes of their states."""
        if attr_name == "attribute_space":
            return [self.attribute_space for _ in self._get_indices(indices)]
        return super().get_attr(attr_name, indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the environments."""
        super().set_attr(attr_name, self._for_environments(attr_name, value), indices)

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the environments."""
        if method_name == "set_wrapper_attr":
            args = (args[0], self._for_environments(*args))
        return super().env_method(method_name, *args, indices=indices, **kwargs)

    def _for_environments(self, name: str, value: Any) -> Any:
        """Return what an attribute of the environments is set to: goals are their own."""
        return value if name != "given_goals" or value is None else self.own_goals(value)


class AddedVecEnv(OtherAttributesVecEnv):
    """Environments with added attributes. Goals of episodes are judged without them.

    Args:
        venv: The environments.
        questions: Name of an added attribute → its question.

    Raises:
        InvalidOption: As for :class:`AddedAttributes`.
    """

    def __init__(self, venv: VecEnv, questions: Mapping[str, Question]) -> None:
        assert isinstance(venv.observation_space, spaces.Dict)  # attribute environments have one
        self.added = AddedAttributes(attribute_space(venv), venv.observation_space, questions)
        super().__init__(venv, self.added.space)

    def describe(self, observations: Observations) -> dict[str, Array]:
        """Add the answers."""
        return self.added.extend(observations)

    def own_goals(self, goals: Array) -> Array:
        """Leave the answers out.

        Raises:
            InvalidGoal: If a goal wants one of them.
        """
        return self.added.own_goals(goals)


class AddedEnv(gym.Wrapper[Any, Any, Any, Any]):
    """An environment with added attributes. Goals of episodes are judged without them.

    Args:
        env: The environment.
        questions: Name of an added attribute → its question.

    Raises:
        InvalidOption: As for :class:`AddedAttributes`.
    """

    def __init__(self, env: gym.Env[Any, Any], questions: Mapping[str, Question]) -> None:
        super().__init__(env)
        assert isinstance(env.observation_space, spaces.Dict)  # attribute environments have one
        self.added = AddedAttributes(
            env.get_wrapper_attr("attribute_space"), env.observation_space, questions
        )
        self.attribute_space = self.added.space
        self.observation_space = self.added.observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin a new episode.

        Raises:
            InvalidGoal: If ``options["goal"]`` wants an added attribute.
        """
        if options is not None and options.get("goal") is not None:
            goal = self.added.own_goals(self.attribute_space.goal(options["goal"]))
            options = {**options, "goal": goal}
        observation, info = self.env.reset(seed=seed, options=options)
        return self._extend(observation), info

    def step(self, action: Any) -> tuple[dict[str, Array], Any, bool, bool, dict[str, Any]]:
        """Step the environment."""
        observation, *rest = self.env.step(action)
        return self._extend(observation), *rest  # type: ignore[return-value]

    def _extend(self, observation: Observations) -> dict[str, Array]:
        rows = {key: np.asarray(part)[None] for key, part in observation.items()}
        return {key: part[0] for key, part in self.added.extend(rows).items()}


def with_added(env: AnyEnv, questions: Mapping[str, Question]) -> AnyEnv:
    """Add the answers to the attributes of environments, unless they have them."""
    layer: Any = env
    while isinstance(layer, VecEnvWrapper | gym.Wrapper):
        if isinstance(layer, AddedVecEnv | AddedEnv):
            return env
        layer = layer.venv if isinstance(layer, VecEnvWrapper) else layer.env
    if not questions:
        return env
    return AddedVecEnv(env, questions) if isinstance(env, VecEnv) else AddedEnv(env, questions)
