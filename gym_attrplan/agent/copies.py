"""CopiesVecEnv: copies of an environment, stepped in threads if that is faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from statistics import median
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

SLOW = 2e-4
"""Minimum duration of an environment's step, in seconds, for threads to be tried."""

N_TRIALS = 6
"""Number of steps that are timed with and without threads."""

GAIN = 1.3
"""Minimum speed-up by threads for them to stay in use."""


class CopiesVecEnv(DummyVecEnv):
    """SB3's ``DummyVecEnv`` that tries threads once.

    The first steps are timed. If the environments are slow, the next steps run in threads. Threads
    stay in use if they are clearly faster, which is the case if a step spends its time outside
    Python, as in MuJoCo. The results of steps are the same. The number of threads is torch's:
    ``torch.set_num_threads(1)`` prevents threads, and so does a ``DummyVecEnv``.

    Args:
        env_fns: Functions that make one environment each.

    Example:
        >>> venv = CopiesVecEnv([lambda: gym.make("CartPole-v1")] * 4)
        >>> venv.reset().shape, venv.n_threads
        ((4, 4), 1)
    """

    def __init__(self, env_fns: list[Callable[[], gym.Env[Any, Any]]]) -> None:
        super().__init__(env_fns)
        self._seconds: list[float] = []
        self._shares: list[DummyVecEnv] = []
        self._pool: ThreadPoolExecutor | None = None
        self._on_trial = True

    @property
    def n_threads(self) -> int:
        """Number of threads that step the environments."""
        return max(1, len(self._shares))

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environments."""
        began = time.perf_counter()
        answer = self._step_in_threads() if self._shares else super().step_wait()
        if self._on_trial:
            self._judge(time.perf_counter() - began)
        return answer

    def start_threads(self, n_threads: int) -> None:
        """Step the environments in ``n_threads`` threads from now on."""
        self.stop_threads()
        self._pool = ThreadPoolExecutor(n_threads)
        parts = np.array_split(np.arange(self.num_envs), min(n_threads, self.num_envs))
        self._shares = [
            DummyVecEnv([partial(_itself, self.envs[i]) for i in part]) for part in parts
        ]

    def stop_threads(self) -> None:
        """Step the environments one after the other from now on."""
        if self._pool is not None:
            self._pool.shutdown()
        self._pool, self._shares = None, []

    def close(self) -> None:
        """Close the environments."""
        self.stop_threads()
        super().close()

    def _judge(self, seconds: float) -> None:
        """Record the time of a step; the first step of each way is a warm-up and not counted."""
        self._seconds.append(seconds)
        alone, in_threads = self._seconds[1:N_TRIALS], self._seconds[N_TRIALS + 1 :]
        if len(self._seconds) == N_TRIALS:
            n_threads = min(torch.get_num_threads(), self.num_envs)
            self._on_trial = n_threads > 1 and median(alone) > SLOW * self.num_envs
            if self._on_trial:
                self.start_threads(n_threads)
        elif len(self._seconds) == 2 * N_TRIALS:
            self._on_trial = False
            if median(alone) < GAIN * median(in_threads):
                self.stop_threads()

    def _step_in_threads(self) -> VecEnvStepReturn:
        assert self._pool is not None  # shares come with a pool
        first = 0
        for share in self._shares:
            share.step_async(self.actions[first : first + share.num_envs])
            share.reset_infos = self.reset_infos[first : first + share.num_envs]
            first += share.num_envs
        steps = [self._pool.submit(share.step_wait) for share in self._shares]
        wait(steps)  # also if one fails: no thread may step an environment that is closed
        parts = [step.result() for step in steps]
        self.reset_infos = [info for share in self._shares for info in share.reset_infos]
        return joined_steps(parts)


def _itself(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    return env


def joined_steps(parts: Sequence[Sequence[Any]]) -> VecEnvStepReturn:
    """Join the results of a step in several batches to those of one batch."""
    observations, rewards, dones, infos = zip(*parts, strict=True)
    return (
        joined(observations),
        np.concatenate(rewards),
        np.concatenate(dones),
        [info for some in infos for info in some],
    )


def joined(parts: Sequence[Any]) -> Any:
    """Join the observations of several batches to those of one batch."""
    if isinstance(parts[0], dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(rows) for rows in zip(*parts, strict=True))
    return np.concatenate(parts)
