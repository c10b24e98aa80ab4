"""Actors: objects with the interface of an SB3 algorithm that step through environments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

Observations = dict[str, npt.NDArray[Any]]


def random_actions(space: spaces.Space[Any], n: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Draw ``(n, …)`` actions from the space, all at once."""
    batch = batch_space(space, n)
    batch.seed(int(rng.integers(2**31)))
    actions: npt.NDArray[Any] = batch.sample()
    return actions


class Actor(ABC):
    """Base class: steps through environments and calls a callback; subclasses choose the actions.

    Args:
        venv: The environments.
        rollout: Steps between two reports.
    """

    def __init__(self, venv: VecEnv, *, rollout: int = 16_384) -> None:
        self.env = venv
        self.observation_space, self.action_space = venv.observation_space, venv.action_space
        self.num_timesteps = 0
        self.logger: Logger
        self._rollout = max(1, rollout // venv.num_envs)
        self._last_obs: Any = None

    def set_logger(self, logger: Logger) -> None:
        """Set the logger that the callback uses."""
        self.logger = logger

    def get_env(self) -> VecEnv:
        """Return the environments."""
        return self.env

    def learn(
        self,
        total_timesteps: int,
        callback: BaseCallback,
        log_interval: int | None = 1,
        **unused: Any,
    ) -> Actor:
        """Take ``total_timesteps`` steps."""
        end = self.num_timesteps + total_timesteps
        callback.init_callback(self)  # type: ignore[arg-type]
        callback.on_training_start(locals(), globals())
        observations: Any = self.env.reset()
        n_rollouts = 0
        while self.num_timesteps < end:
            callback.on_rollout_start()
            for _ in range(self._rollout):
                observations = self.env.step(self._act(observations))[0]
                self.num_timesteps += self.env.num_envs
                callback.update_locals(locals())
                if not callback.on_step():
                    return self
                if self.num_timesteps >= end:
                    break
            callback.on_rollout_end()
            n_rollouts += 1
            if log_interval and n_rollouts % log_interval == 0:
                self.logger.dump(self.num_timesteps)
        callback.on_training_end()
        return self

    @abstractmethod
    def _act(self, observations: Observations) -> npt.NDArray[Any]:
        """Return the actions to take."""


class RandomExplorer(Actor):
    """Explorer that takes random actions.

    Args:
        venv: The environments.
        rng: Generator of the actions.
    """

    def __init__(self, venv: VecEnv, *, rng: np.random.Generator) -> None:
        super().__init__(venv)
        self._rng = rng

    def predict(
        self, observation: Observations, deterministic: bool = False
    ) -> tuple[npt.NDArray[Any], None]:
        """Return a random action for each row."""
        n = len(observation["achieved_goal"])
        return random_actions(self.action_space, n, self._rng), None

    def _act(self, observations: Observations) -> npt.NDArray[Any]:
        return random_actions(self.action_space, self.env.num_envs, self._rng)
