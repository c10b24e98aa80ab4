"""Conversion of environments (an id, one environment, a vector) to one SB3 ``VecEnv``."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, unwrap_vec_normalize
from torch import nn

from gym_attrplan.agent.copies import CopiesVecEnv
from gym_attrplan.agent.guard import GuardedVecEnv
from gym_attrplan.agent.vec_env import VectorEnvAdapter, find_layer
from gym_attrplan.agent.workers import watch_workers
from gym_attrplan.algorithms.spread import episode_limit
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.wrappers import with_attributes
from gym_attrplan.wrappers.batches import make_batch
from gym_attrplan.wrappers.observation import GOAL_KEYS
from gym_attrplan.wrappers.origin import Origin

EnvLike = str | gym.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv

N_BATCHED = 64
"""Number of environments made from an id with a batched version, by default."""

N_COPIES = 32
"""Number of environments made from any other id, stepped one after the other or in threads."""


def as_vec_env(
    env: EnvLike, *, n_envs: int | None = None, env_kwargs: dict[str, Any] | None = None
) -> VecEnv:
    """Convert the environments to a ``VecEnv`` that rejects observations no agent can learn from.

    Args:
        env: A registered id (if it has no attributes, ready ones are added), an environment, a
            ``gymnasium.vector`` environment that resets in the same step, or an SB3 ``VecEnv``.
        n_envs: Number of environments to make from an id; by default 64 if they form one batch,
            else 32.
        env_kwargs: Arguments of the environment of an id.

    Raises:
        InvalidEnvironment: If there are no attributes, the environment resets in the next step, or
            no algorithm supports its action space.
        InvalidAttributes: If an id has no attributes and none are ready for it.
        InvalidOption: If the number of environments is below 1.
    """
    if isinstance(env, GuardedVecEnv | SpacesOnly):
        return env
    made_of = (env, env_kwargs or {}) if isinstance(env, str) else None
    if isinstance(env, str):
        env = make_envs(env, n_envs, env_kwargs or {})
    if isinstance(env, VectorEnv):
        if find_layer(env, "attribute_space") is None and not hasattr(env.unwrapped, "call"):
            raise _no_attributes()
        env = VectorEnvAdapter(env)
    if not isinstance(env, VecEnv):
        single = _monitored(env)
        env = DummyVecEnv([lambda: single])
    watch_workers(env)
    _check_observations(env, attribute_space(env))
    _check_actions(env.action_space)
    return GuardedVecEnv(env, made_of)


def attribute_space(venv: VecEnv) -> AttributeSpace:
    """Return the attributes of the environments.

    Raises:
        InvalidEnvironment: If they have none.
    """
    # A subprocess that lacks an attribute does not answer, it dies; so ask whether it has it.
    known = venv.has_attr("attribute_space") and venv.has_attr("terminate_on_success")
    space = venv.get_attr("attribute_space", indices=[0])[0] if known else None
    if not isinstance(space, AttributeSpace):
        raise _no_attributes()
    return space


def origin(venv: VecEnv) -> Origin | None:
    """Return the id, arguments and step limit of the environments; None if unknown."""
    found: Origin | None = None
    if venv.has_attr("origin"):
        found = venv.get_attr("origin", indices=[0])[0]
    if found is not None and found["id"] in gym.registry:
        limit = episode_limit(venv)
        if limit != gym.registry[found["id"]].max_episode_steps:
            found = {**found, "kwargs": {**found["kwargs"], "max_episode_steps": limit}}
    return found


def set_everywhere(venv: VecEnv, name: str, value: Any) -> None:
    """Set an attribute of every environment, on the wrapper that has it."""
    try:  # SB3's own set_attr would set it on the outermost wrapper, where nobody reads it
        venv.env_method("set_wrapper_attr", name, value)
    except AttributeError:  # a batch is one object
        venv.set_attr(name, value)


def action_choices(venv: VecEnv) -> int:
    """Return the number of choice scores at the front of an action; 0 if there are none."""
    return int(venv.get_attr("action_choices")[0]) if venv.has_attr("action_choices") else 0


def make_envs(
    env_id: str, n_envs: int | None, kwargs: dict[str, Any]
) -> VecEnv | VectorEnv[Any, Any, Any]:
    """Make the batched version of an id if it has attributes, else copies with ready attributes."""
    if n_envs is not None and n_envs < 1:
        raise InvalidOption(f"n_envs environments are made, at least 1; received {n_envs}.")
    batch = make_batch(env_id, n_envs or N_BATCHED, kwargs)
    if batch is not None:
        return batch
    if gym.spec(env_id).vector_entry_point is not None:
        mode = "vector_entry_point"
        batch = gym.make_vec(
            env_id, num_envs=n_envs or N_BATCHED, vectorization_mode=mode, **kwargs
        )
        if find_layer(batch, "attribute_space") is not None:
            return batch
        batch.close()

    def make() -> gym.Env[Any, Any]:
        return _monitored(with_attributes(gym.make(env_id, **kwargs)))

    return CopiesVecEnv([make] * (n_envs or N_COPIES))


def _monitored(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Wrap the environment in a ``Monitor``, unless it has one."""
    layer: Any = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, Monitor):
            return env
        layer = layer.env
    return Monitor(env)


def _no_attributes() -> InvalidEnvironment:
    return InvalidEnvironment(
        "the agent plans over attributes and this environment has none: wrap it in "
        "AttributeWrapper(env, space, function), or a vector of them in AttributeVectorWrapper."
    )


def _check_observations(venv: VecEnv, space: AttributeSpace) -> None:
    """Check that the goal keys hold the attributes, not stacked, scaled or normalised."""
    observed = venv.observation_space
    for key in GOAL_KEYS:
        found = observed.spaces.get(key) if isinstance(observed, spaces.Dict) else None
        if found != space.box:
            raise InvalidEnvironment(
                f"the space of {key!r} must be {space.box}, as AttributeWrapper has it; it is "
                f"{found}. Wrappers that change observations belong inside AttributeWrapper."
            )
    assert isinstance(observed, spaces.Dict)
    taken = nn.ModuleDict()
    for key in observed.spaces:
        if not key or hasattr(taken, key):
            raise InvalidEnvironment(
                f"networks name their parts after observation keys, and {key!r} is not free in "
                "torch: give the key another name in the environment's observation space."
            )
    normalize = unwrap_vec_normalize(venv)
    keys = normalize.norm_obs_keys if normalize is not None and normalize.norm_obs else None
    if keys is not None and set(keys) & set(GOAL_KEYS):
        others = [
            key
            for key, part in observed.spaces.items()
            if key not in GOAL_KEYS and np.issubdtype(part.dtype, np.floating)
        ]
        raise InvalidEnvironment(
            f"attributes are whole numbers and VecNormalize normalises {', '.join(keys)}. Name the "
            f"keys that it may change: VecNormalize(venv, norm_obs_keys={others})."
        )


def _check_actions(space: spaces.Space[Any]) -> None:
    """Check that SB3 supports the actions: flat, bounded, and numbered from 0."""
    if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)) and np.any(space.start):
        zero: spaces.Space[Any] = (
            spaces.Discrete(int(space.n))
            if isinstance(space, spaces.Discrete)
            else spaces.MultiDiscrete(space.nvec)
        )
        raise InvalidEnvironment(
            f"policies number actions from 0; {space} starts at {space.start}. Shift them with "
            f"gymnasium.wrappers.TransformAction(env, lambda a: a + {space.start}, {zero})."
        )
    known = isinstance(
        space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    )
    if isinstance(space, spaces.Box):
        known = space.is_bounded()
    elif known:
        known = len(space.shape or ()) <= 1
    if not known:
        raise InvalidEnvironment(
            "no algorithm can take this action space: it must be Discrete, MultiDiscrete or "
            f"MultiBinary with one axis, or a bounded Box; received {space}. Turn it into one of "
            "them with gymnasium.wrappers.TransformAction."
        )


class SpacesOnly(VecEnv):
    """Stand-in for the environments of a loaded agent, which can act but not learn.

    Args:
        observation_space: Of a single environment.
        action_space: Of a single environment.
        attributes: Of a single environment.
        action_choices: Number of choice scores at the front of an action.
        n_envs: Number of environments of the saved agent.
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
        """Raise an error: there are no environments."""
        raise InvalidEnvironment(
            "this agent was loaded without an environment: give one with load(path, env=...) or "
            "set_env(env) before learn()."
        )

    def step_async(self, actions: Any) -> None:
        """Raise an error."""
        self.reset()

    def step_wait(self) -> Any:
        """Raise an error."""
        self.reset()

    def close(self) -> None:
        """Do nothing."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the stand-in itself."""
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the stand-in."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Raise an error: there is no environment."""
        raise AttributeError(method_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for each environment."""
        return [False] * len(list(self._get_indices(indices)))
