"""Whatever holds the worlds (an id, one environment, a vector of them) as one SB3 ``VecEnv``."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from gym_attrplan.agent.vec_env import VectorEnvAdapter
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import with_attributes

Worlds = str | gym.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv


def as_vec_env(
    env: Worlds, *, n_envs: int = 512, env_kwargs: dict[str, Any] | None = None
) -> VecEnv:
    """The worlds as a ``VecEnv``.

    Args:
        env: An id of the registry (without attributes of its own, it gets what is ready for it), an
            environment, a ``gymnasium.vector`` environment that resets in the same step, or an SB3
            ``VecEnv``.
        n_envs: How many worlds to make of an id that has a batched twin; of others one is made.
        env_kwargs: For the environment of an id.

    Raises:
        InvalidEnvironment: If there are no attributes, or the environment resets in the next step.
        InvalidAttributes: If an id has no attributes and none are ready.
    """
    if isinstance(env, str):
        spec = gym.spec(env)
        if spec.vector_entry_point is not None:
            mode = "vector_entry_point"
            env = gym.make_vec(env, num_envs=n_envs, vectorization_mode=mode, **env_kwargs or {})
        else:
            env = with_attributes(gym.make(env, **env_kwargs or {}))
    if isinstance(env, VectorEnv):
        env = VectorEnvAdapter(env)
    if not isinstance(env, VecEnv):
        single = env if _is_monitored(env) else Monitor(env)
        env = DummyVecEnv([lambda: single])
    attribute_space(env)  # refuses worlds without attributes
    return env


def attribute_space(venv: VecEnv) -> AttributeSpace:
    """The attributes of the worlds.

    Raises:
        InvalidEnvironment: If they have none.
    """
    # Asked first: a process that lacks what it is asked for does not answer, it dies.
    known = venv.has_attr("attribute_space") and venv.has_attr("terminate_on_success")
    space = venv.get_attr("attribute_space", indices=[0])[0] if known else None
    if not isinstance(space, AttributeSpace):
        raise InvalidEnvironment(
            "the agent plans over attributes and this environment has none: wrap it in "
            "AttributeWrapper(env, space, function), or a vector of them in AttributeVectorWrapper."
        )
    return space


def action_choices(venv: VecEnv) -> int:
    """How many numbers at the front of an action are scores of choices, if the worlds say so."""
    return int(venv.get_attr("action_choices")[0]) if venv.has_attr("action_choices") else 0


def _is_monitored(env: gym.Env[Any, Any]) -> bool:
    layer: Any = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, Monitor):
            return True
        layer = layer.env
    return False


class SpacesOnly(VecEnv):
    """Stands in for the worlds of a loaded agent: it can act, but not learn.

    Args:
        observation_space: Of a single world.
        action_space: Of a single world.
        attributes: Of a single world.
        action_choices: Scores of choices at the front of an action.
        n_envs: How many there were.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        attributes: AttributeSpace,
        action_choices: int = 0,
        *,
        n_envs: int = 1,
    ) -> None:
        self.attribute_space = attributes
        self.action_choices = action_choices
        self.terminate_on_success = True
        super().__init__(n_envs, observation_space, action_space)

    def reset(self) -> Any:
        """Refused: there are no worlds."""
        raise InvalidEnvironment(
            "this agent was loaded without an environment: give one with load(path, env=...) or "
            "set_env(env) before learn()."
        )

    def step_async(self, actions: Any) -> None:
        """Refused."""
        self.reset()

    def step_wait(self) -> Any:
        """Refused."""
        self.reset()

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the stand-in itself."""
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the stand-in."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """There is no environment to ask."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """There is no environment to be wrapped."""
        return [False] * len(list(self._get_indices(indices)))
