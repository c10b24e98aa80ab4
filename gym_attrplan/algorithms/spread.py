"""SpreadEpisodes: a Stable-Baselines3 callback that staggers the episodes of environments."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv


class SpreadEpisodes(BaseCallback):
    """Callback that ends the first episodes at different times, one environment after the other.

    Environments that start together and end after the same number of steps would stay synchronous,
    and every update would see a single moment of an episode. The callback does nothing if the
    environments do not tell the length of an episode, or cannot truncate one, as those of this
    library can.

    Example:
        >>> import gym_attrplan
        >>> from stable_baselines3 import PPO
        >>> from gym_attrplan.agent.environments import as_vec_env
        >>> venv = as_vec_env("AttrSwitches-v0", n_envs=4)
        >>> model = PPO("MultiInputPolicy", venv, n_steps=64, device="cpu")
        >>> model = model.learn(256, SpreadEpisodes())
    """

    def _on_training_start(self) -> None:
        n_envs = self.training_env.num_envs
        self._limit = (episode_limit(self.training_env) or 0) if n_envs > 1 else 0
        self._turns = np.arange(n_envs) * self._limit // n_envs

    def _on_step(self) -> bool:
        if self.n_calls <= self._limit:
            due = self._turns == self.n_calls - 1
            if due.any():
                end_episodes(self.training_env, due)
        return True


def episode_limit(venv: VecEnv) -> int | None:
    """Return the number of steps after which environments truncate episodes; None if unknown."""
    # Not from the spec: it may hold a user's function, which another process cannot send.
    for name in ("max_episode_steps", "_max_episode_steps"):  # of a batch, of a TimeLimit
        if venv.has_attr(name):
            return cast("int | None", venv.get_attr(name, indices=[0])[0])
    return None


def end_episodes(venv: VecEnv, where: npt.NDArray[np.bool_]) -> None:
    """Truncate the given episodes at the next step, if the environments support it."""
    if venv.has_attr("truncate_episodes"):
        venv.env_method("truncate_episodes", where)
    elif venv.has_attr("truncate_episode"):
        venv.env_method("truncate_episode", indices=np.flatnonzero(where).tolist())
