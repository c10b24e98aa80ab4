"""VectorEnvAdapter: a ``gymnasium.vector`` environment as one Stable-Baselines3 ``VecEnv``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from gym_attrplan.agent.workers import PIPE_ERRORS, dead_workers
from gym_attrplan.error import InvalidEnvironment

Info = dict[str, Any]


class VectorEnvAdapter(VecEnv):
    """Passes a whole batch to SB3: no environment is copied or stepped individually.

    Where an episode ends, the environment's info holds what SB3 expects: ``terminal_observation``,
    ``TimeLimit.truncated``, ``episode`` as ``Monitor`` writes it, and the episode's last infos,
    such as ``is_success``. The infos of running episodes are empty; :attr:`batched_info` has all
    infos, as arrays.

    Args:
        envs: A vector environment that resets in the same step, as SB3's own do.

    Raises:
        InvalidEnvironment: If it resets in the next step or not at all.

    Example:
        >>> import gymnasium as gym, gym_attrplan
        >>> from stable_baselines3 import PPO
        >>> envs = gym.make_vec("AttrSwitches-v0", 64, vectorization_mode="vector_entry_point")
        >>> model = PPO("MultiInputPolicy", VectorEnvAdapter(envs), n_steps=8).learn(512)
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise InvalidEnvironment(
                "SB3 begins the next episode in the step that ends one; this environment "
                f"has autoreset mode {mode}. Make it with vectorization_mode='vector_entry_point' "
                "or vector_kwargs={'autoreset_mode': gymnasium.vector.AutoresetMode.SAME_STEP}."
            )
        self.envs = envs
        self.batched_info: Info = {}
        self._actions: Any = None
        self._merged_options: Info | None = None
        self._start = time.time()
        self._returns = np.zeros(envs.num_envs)
        self._lengths = np.zeros(envs.num_envs, np.int64)
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    # --- episodes ---------------------------------------------------------------------------

    def reset(self) -> Any:
        """Begin new episodes in all environments, with the seeds and options set before."""
        # One seed means seed, seed + 1, …, in SB3 and in Gymnasium alike.
        with self._naming_the_dead():
            observations, self.batched_info = self.envs.reset(
                seed=self._seeds[0], options=self._merged_options
            )
        self.reset_infos = [_row(self.batched_info, i) for i in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step the batch; return new dicts and arrays every time, since SB3 keeps them."""
        with self._naming_the_dead():
            observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
        self.batched_info = info
        self._returns += rewards
        self._lengths += 1
        done = terminated | truncated
        infos: list[Info] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            infos[i] = self._end(int(i), info)
            infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards.astype(np.float32), done, infos

    def _end(self, i: int, info: Info) -> Info:
        """Return the last info of the episode that ended in environment i."""
        episode = {
            "r": round(float(self._returns[i]), 6),
            "l": int(self._lengths[i]),
            "t": round(time.time() - self._start, 6),
        }
        self._returns[i], self._lengths[i] = 0.0, 0
        self.reset_infos[i] = _row(
            {key: value for key, value in info.items() if "final_" not in key}, i
        )
        last = _row(info.get("final_info", {}), i)
        return {**last, "episode": episode, "terminal_observation": info["final_obs"][i]}

    def set_options(self, options: list[Info] | Info | None = None) -> None:
        """Set options of the next reset: one dict for the batch, or one for each environment.

        Raises:
            InvalidEnvironment: If the dicts do not have the same keys.
        """
        if options is None or isinstance(options, Mapping):
            self._merged_options = dict(options) if options else None
            return
        if len({frozenset(one) for one in options}) != 1 or len(options) != self.num_envs:
            raise InvalidEnvironment(
                f"a batch needs {self.num_envs} options with the same keys; received {options}."
            )
        self._merged_options = {key: [one[key] for one in options] for key in options[0]}

    def _reset_options(self) -> None:
        self._merged_options = None

    # --- the interface of SB3's VecEnv ------------------------------------------------------

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the batch, or each environment, has the attribute."""
        if find_layer(self.envs, attr_name) is not None:
            return True
        # A subprocess that lacks an attribute dies when asked for it, so ask whether it has it.
        vector: Any = self.envs.unwrapped
        return hasattr(vector, "call") and all(vector.call("has_wrapper_attr", attr_name))

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return the batch's attribute once for each index, or each environment's own."""
        holder = find_layer(self.envs, attr_name)
        if holder is None:
            return self._ask_each(attr_name, indices)
        return [getattr(holder, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the whole batch.

        Raises:
            InvalidEnvironment: If ``indices`` names only some environments.
        """
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise InvalidEnvironment(
                f"one object holds all {self.num_envs} environments: set {attr_name!r} for all."
            )
        holder = find_layer(self.envs, attr_name)
        if holder is None:
            self.envs.unwrapped.set_attr(attr_name, [value] * self.num_envs)  # type: ignore[attr-defined]
        else:
            setattr(holder, attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call the batch's method once for all indices, or each environment's own."""
        holder = find_layer(self.envs, method_name)
        if holder is None:
            return self._ask_each(method_name, indices, *args, **kwargs)
        answer = getattr(holder, method_name)(*args, **kwargs)
        return [answer for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return whether the batch has the wrapper; ``Monitor`` is not needed for its record."""
        layer, found = self.envs, wrapper_class is Monitor
        while not found and hasattr(layer, "env"):
            found, layer = isinstance(layer, wrapper_class), layer.env
        return [found for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[Any]:
        """Return an image of each environment."""
        return list(self.envs.render() or ())

    def close(self) -> None:
        """Close the batch."""
        self.envs.close()

    @contextmanager
    def _naming_the_dead(self) -> Iterator[None]:
        """Name the process that died, instead of reporting a broken pipe of an async vector."""
        try:
            yield
        except PIPE_ERRORS as error:
            raise dead_workers(self.envs.unwrapped.processes) from error  # type: ignore[attr-defined]

    def _ask_each(self, name: str, indices: VecEnvIndices, *args: Any, **kwargs: Any) -> list[Any]:
        """Call each environment of a sync or async vector; an async one calls all."""
        vector: Any = self.envs.unwrapped
        if not hasattr(vector, "call"):
            raise AttributeError(f"{self.envs} has no attribute {name!r}.")
        wanted = list(self._get_indices(indices))
        if isinstance(vector, SyncVectorEnv):
            found = [vector.envs[i].get_wrapper_attr(name) for i in wanted]
            return [one(*args, **kwargs) if callable(one) else one for one in found]
        answers = vector.call(name, *args, **kwargs)
        return [answers[i] for i in wanted]


def find_layer(envs: VectorEnv[Any, Any, Any], name: str) -> Any:
    """Return the outermost layer of a batch's wrappers that has the attribute; None if none has."""
    layer: Any = envs
    while not hasattr(layer, name):
        if not hasattr(layer, "env"):
            return None
        layer = layer.env
    return layer


def _row(info: Mapping[str, Any], i: int) -> Info:
    """Return environment i's part of a batched info; ``_key`` marks which environments have it."""
    own: Info = {}
    for key, value in info.items():
        mask = info.get(f"_{key}")
        if key.startswith("_") or (mask is not None and not mask[i]):
            continue
        if isinstance(value, Mapping):
            own[key] = _row(value, i)
        elif isinstance(value, np.ndarray):
            own[key] = value[i].item() if isinstance(value[i], np.generic) else value[i]
        else:
            own[key] = value
    return own
