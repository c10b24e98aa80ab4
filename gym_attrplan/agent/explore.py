"""Step 2, exploring: a policy paid by a bonus, or random actions, counting every transition."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus, normalized_count_bonus

EXPLORATIONS: dict[str, BonusFormula | None] = {
    "bonus": normalized_count_bonus,
    "count_bonus": count_bonus,
    "random": None,
}
"""How to explore: paid (N/t + 0.001)^-0.5 a transition, paid N^-0.5, or not at all."""


class RandomExplorer:
    """Random actions with the face of an SB3 algorithm: the agent runs every explorer alike.

    Args:
        venv: The worlds.
        seed: Of the actions.
        rollout: Steps between two reports.
    """

    def __init__(self, venv: VecEnv, *, seed: int | None = None, rollout: int = 16_384) -> None:
        self.env = venv
        self.num_timesteps = 0
        self.logger: Logger
        self._rollout = max(1, rollout // venv.num_envs)
        self._space = venv.action_space
        self._space.seed(seed)
        self._last_obs: Any = None

    def set_logger(self, logger: Logger) -> None:
        """Where the callback logs."""
        self.logger = logger

    def get_env(self) -> VecEnv:
        """The worlds."""
        return self.env

    def learn(
        self,
        total_timesteps: int,
        callback: BaseCallback,
        log_interval: int | None = 1,
        **unused: Any,
    ) -> RandomExplorer:
        """Take random steps; there is nothing to learn, the worlds count."""
        end = self.num_timesteps + total_timesteps
        callback.init_callback(self)  # type: ignore[arg-type]
        callback.on_training_start(locals(), globals())
        self.env.reset()
        n_rollouts = 0
        while self.num_timesteps < end:
            callback.on_rollout_start()
            for _ in range(self._rollout):
                self.env.step(self._actions(self.env.num_envs))
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

    def predict(
        self, observation: dict[str, npt.NDArray[Any]], deterministic: bool = False
    ) -> tuple[npt.NDArray[Any], None]:
        """A random action for each row."""
        return self._actions(len(observation["achieved_goal"])), None

    def _actions(self, n: int) -> npt.NDArray[Any]:
        return np.stack([np.asarray(self._space.sample()) for _ in range(n)])
