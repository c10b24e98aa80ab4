"""Estimates of the memory that an agent's buffers take, made before they are allocated."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.learners import find_algorithm, is_recurrent
from gym_attrplan.agent.low_level import LSTM_SIZE, change_defaults, defaults
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.error import InvalidOption

_ROW = 64
"""Number of bytes of a step beside observations and action: rewards, values, episode starts."""

_INFO = 128
"""Number of bytes of the empty dict that a replay buffer with hindsight makes for every step."""


def check_buffers(options: AgentOptions, venv: VecEnv, *, max_bytes: int) -> None:
    """Refuse options with which SB3's buffers on these environments would be too large.

    Args:
        options: The agent's options.
        venv: The environments, or their stand-in.
        max_bytes: Maximum size of an algorithm's buffers, in bytes.

    Raises:
        InvalidOption: If they would be larger.
    """
    learners: list[tuple[Any, dict[str, Any]]] = []
    if not options.is_inverse:
        learners.append((find_algorithm(options.low_level), options.low_level_kwargs))
    if EXPLORATIONS[options.exploration] is not None and not options.asks_for_changes:
        learners.append((PPO, options.exploration_kwargs))
    for algorithm, kwargs in learners:
        usual = defaults(algorithm, venv)
        if options.asks_for_changes:
            usual |= change_defaults(algorithm, venv)
        name, n_steps = _steps_kept(algorithm, {**usual, **kwargs}, venv)
        n_bytes = n_steps * _step_bytes(algorithm, venv)
        if is_recurrent(algorithm):
            own = {**options.policy_kwargs, **kwargs.get("policy_kwargs", {})}
            n_bytes += n_steps * _hidden_bytes(own)
        if n_bytes > max_bytes:
            raise InvalidOption(
                f"with {name}={n_steps // venv.num_envs:,} for each of {venv.num_envs:,} "
                f"environments, the buffers of {algorithm.__name__} take {n_bytes:,} bytes, more "
                f"than {max_bytes:,}. Choose a smaller {name}, or give load() a larger max_bytes."
            )


def _steps_kept(
    algorithm: type[BaseAlgorithm], kwargs: dict[str, Any], venv: VecEnv
) -> tuple[str, int]:
    """Return the name of the option that sets the buffer's length, and the number of steps kept."""
    off_policy = issubclass(algorithm, OffPolicyAlgorithm)
    name = "buffer_size" if off_policy else "n_steps"
    parameter = inspect.signature(algorithm).parameters.get(name)
    given = kwargs.get(name, getattr(parameter, "default", 0))
    if not isinstance(given, int):
        return name, 0  # the algorithm itself reports what is wrong with it
    return name, max(given, venv.num_envs) if off_policy else given * venv.num_envs


def _step_bytes(algorithm: type[BaseAlgorithm], venv: VecEnv) -> int:
    """Return the number of bytes that a step of one environment takes."""
    assert isinstance(venv.observation_space, spaces.Dict)
    seen = sum(_n_bytes(part) for part in venv.observation_space.spaces.values())
    if issubclass(algorithm, OffPolicyAlgorithm):  # it also keeps the next observation
        seen = 2 * seen + _INFO
    return seen + _n_bytes(venv.action_space) + _ROW


def _hidden_bytes(policy_kwargs: dict[str, Any]) -> int:
    """Return the number of bytes of the hidden states of actor and critic, two tensors each."""
    given = policy_kwargs.get("lstm_hidden_size", LSTM_SIZE), policy_kwargs.get("n_lstm_layers", 1)
    size, n_layers = (one if isinstance(one, int) else 0 for one in given)
    return 4 * n_layers * size * np.dtype(np.float32).itemsize


def _n_bytes(space: spaces.Space[Any]) -> int:
    n = math.prod(space.shape or ())
    return n * np.dtype(space.dtype).itemsize
