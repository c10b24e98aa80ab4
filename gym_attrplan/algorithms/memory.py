"""The memory of recurrent policies: when it begins, and how it travels with observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

BEGUN = "has begun"
"""Key of the observation that is 1 in the first step of an episode, else 0."""

HIDDEN = "hidden state"
"""Key of the hidden states before an observation, ``(n, n_tensors, n_layers, size)``."""


class BegunVecEnv(VecEnvWrapper):
    """Wrapper that adds to observations whether an episode has just begun.

    Wrappers above it may divide an episode into several, each with a ``done`` of its own. The
    memory of a :class:`~gym_attrplan.algorithms.memory_policy.MemoryPolicy` lasts for the whole.

    Args:
        venv: Environments whose observations are dicts.
    """

    def __init__(self, venv: VecEnv) -> None:
        seen = venv.observation_space
        assert isinstance(seen, spaces.Dict)
        flag = spaces.Box(0, 1, (1,), np.int8)
        super().__init__(venv, spaces.Dict({**seen.spaces, BEGUN: flag}))

    def reset(self) -> VecEnvObs:
        """Begin new episodes."""
        return self._with_flags(self.venv.reset(), np.ones(self.num_envs, np.bool_))

    def step_wait(self) -> VecEnvStepReturn:
        """Step; an episode's last observation does not begin one."""
        observations, rewards, over, infos = self.venv.step_wait()
        if over.any():
            infos = list(infos)
            for i in np.flatnonzero(over).tolist():
                last = {**infos[i]["terminal_observation"], BEGUN: np.zeros(1, np.int8)}
                infos[i] = {**infos[i], "terminal_observation": last}
        return self._with_flags(observations, over), rewards, over, infos

    def _with_flags(self, observations: Any, begun: npt.NDArray[np.bool_]) -> VecEnvObs:
        return {**observations, BEGUN: begun.astype(np.int8)[:, None]}


def pack_states(states: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Return hidden states ``(n_layers, n, size)`` as ``(n, n_tensors, n_layers, size)``.

    Example:
        >>> pack_states((torch.zeros(1, 5, 8), torch.ones(1, 5, 8))).shape
        torch.Size([5, 2, 1, 8])
    """
    return torch.stack(states).permute(2, 0, 1, 3)


def unpack_states(packed: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the hidden states that :func:`pack_states` packed."""
    return packed.permute(1, 2, 0, 3).contiguous().unbind()
