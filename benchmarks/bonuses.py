"""Exploration bonuses for SB3's learners, the baselines of ``others.py``.

Both wrap the environments of a ``VecEnv`` and add to the reward of the task.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_flattened_obs_dim, preprocess_obs
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from torch import nn

from gym_attrplan.agent.environments import attribute_space
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.wrappers.bonus import count_bonus
from gym_attrplan.wrappers.observation import GOAL_KEYS

Rewards = npt.NDArray[np.float64]


class Bonus(VecEnvWrapper):
    """Adds a bonus to the reward of each step.

    Args:
        venv: The environments.
        scale: Factor on the bonus.
    """

    def __init__(self, venv: VecEnv, scale: float) -> None:
        super().__init__(venv)
        self._scale = scale

    def reset(self) -> Any:
        """Reset, without a bonus."""
        self._previous = self.venv.reset()
        return self._previous

    def step_wait(self) -> Any:
        """Step, and add the bonus for the observation of each environment before its reset."""
        observations, rewards, dones, infos = self.venv.step_wait()
        ends = observations
        if dones.any():
            ends = {key: np.array(value) for key, value in observations.items()}
            for i in np.flatnonzero(dones):
                for key, value in infos[i]["terminal_observation"].items():
                    ends[key][i] = value
        paid = rewards + self._scale * self.bonus(ends)
        self._previous = observations
        return observations, paid, dones, infos

    def bonus(self, ends: dict[str, npt.NDArray[Any]]) -> Rewards:
        """The bonus for the step to these observations."""
        raise NotImplementedError


class CountedTransitions(Bonus):
    """Our agent's own bonus: N^-0.5 for an attribute transition now seen N times.

    Args:
        venv: The environments.
        scale: Factor on the bonus; our agent's by default.
    """

    def __init__(self, venv: VecEnv, scale: float = AgentOptions().bonus_scale) -> None:
        super().__init__(venv, scale)
        self._counts = TransitionCounts(attribute_space(venv))

    def bonus(self, ends: dict[str, npt.NDArray[Any]]) -> Rewards:
        """Count the transitions and return their bonuses."""
        here, before = ends["achieved_goal"], self._previous["achieved_goal"]
        paid = np.zeros(self.num_envs)
        moved = (here != before).any(axis=1)
        if moved.any():
            visits = self._counts.record(before[moved], here[moved])
            paid[moved] = count_bonus(visits, self._counts.total)
        return paid


class RandomNetworkDistillation(Bonus):
    """The error of a network that predicts a random network's features (Burda et al., 2018).

    The error is divided by its running standard deviation. After ``every`` steps the
    predictor is trained once on a quarter of their observations.

    Args:
        venv: The environments.
        scale: Factor on the bonus.
        every: Number of steps between two updates of the predictor.
        learning_rate: Adam's.
    """

    def __init__(
        self, venv: VecEnv, scale: float = 0.3, *, every: int = 32, learning_rate: float = 1e-3
    ) -> None:
        super().__init__(venv, scale)
        assert isinstance(venv.observation_space, spaces.Dict)
        self._spaces = {
            key: space for key, space in venv.observation_space.items() if key not in GOAL_KEYS
        }
        n_inputs = sum(get_flattened_obs_dim(space) for space in self._spaces.values())
        self._random, self._learned = (
            nn.Sequential(nn.Linear(n_inputs, 256), nn.ReLU(), nn.Linear(256, 64)) for _ in range(2)
        )
        self._optimizer = torch.optim.Adam(self._learned.parameters(), lr=learning_rate)
        self._every = every
        self._inputs = RunningMeanStd(shape=(n_inputs,))
        self._errors = RunningMeanStd(shape=())
        self._waiting: list[torch.Tensor] = []

    def bonus(self, ends: dict[str, npt.NDArray[Any]]) -> Rewards:
        """The predictor's error, which training reduces for frequent observations."""
        inputs = self._normalized(ends)
        with torch.no_grad():
            errors = (self._learned(inputs) - self._random(inputs)).square().mean(dim=1).numpy()
        self._errors.update(errors)
        self._waiting.append(inputs)
        if len(self._waiting) == self._every:
            self._train(torch.cat(self._waiting))
            self._waiting.clear()
        paid: Rewards = errors / np.sqrt(self._errors.var + 1e-8)
        return paid

    def _normalized(self, observations: dict[str, npt.NDArray[Any]]) -> torch.Tensor:
        """Flat observations, by their running mean and deviation, clipped as in the paper."""
        parts = [
            preprocess_obs(torch.as_tensor(observations[key]), space, normalize_images=False)
            for key, space in self._spaces.items()
        ]
        flat = torch.cat([part.flatten(start_dim=1) for part in parts], dim=1).double().numpy()
        self._inputs.update(flat)
        scaled = (flat - self._inputs.mean) / np.sqrt(self._inputs.var + 1e-8)
        return torch.as_tensor(np.clip(scaled, -5.0, 5.0), dtype=torch.float32)

    def _train(self, inputs: torch.Tensor) -> None:
        some = inputs[torch.rand(len(inputs)) < 0.25]
        loss = (self._learned(some) - self._random(some).detach()).square().mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
