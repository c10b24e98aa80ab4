"""Trail: the previous description, for policies with partial observations.

A view shows only what is near. Without the previous description a policy goes back and forth,
back through the door that it came in by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from gym_attrplan.agent.hop_judge import BoolArray, Observations, last_vectors
from gym_attrplan.attributes.space import FREE, IntArray

CAME_FROM = "came from"
"""Key of the observation that holds the previous description."""


class Trail:
    """The previous description of each environment.

    Args:
        here: ``(n, n_attributes)`` descriptions at the start.

    Example:
        >>> trail = Trail(np.array([[0, 0]]))
        >>> trail.update(np.array([[0, 1]]), np.array([False]))
        >>> trail.seen()
        array([[1, 1]])
    """

    def __init__(self, here: IntArray) -> None:
        self._here = here.copy()
        self._before = np.full_like(here, FREE)

    def update(self, here: IntArray, new_episode: BoolArray) -> None:
        """Update with the current descriptions."""
        moved = (here != self._here).any(axis=1)
        self._before[moved] = self._here[moved]
        self._before[new_episode] = FREE
        self._here = here.copy()

    def seen(self) -> npt.NDArray[np.int64]:
        """Return ``(n, n_attributes)`` observations for a policy: values from 1, 0 for none."""
        return self._before.astype(np.int64) + 1


class TrailVecEnv(VecEnvWrapper):
    """Wrapper that adds the previous description to observations.

    Args:
        venv: Environments with attributes.
    """

    def __init__(self, venv: VecEnv) -> None:
        seen = venv.observation_space
        assert isinstance(seen, spaces.Dict)  # environments with attributes
        goal = seen["achieved_goal"]
        assert isinstance(goal, spaces.Box)
        past = spaces.MultiDiscrete(goal.high.astype(np.int64) + 2)
        super().__init__(venv, spaces.Dict({**seen.spaces, CAME_FROM: past}))

    def reset(self) -> VecEnvObs:
        """Begin new episodes, without a previous description."""
        observations: Observations = dict(self.venv.reset())  # type: ignore[arg-type]
        self._trail = Trail(observations["achieved_goal"])
        return {**observations, CAME_FROM: self._trail.seen()}

    def step_wait(self) -> VecEnvStepReturn:
        """Step; an episode's last observation has its previous description too."""
        rows, rewards, over, infos = self.venv.step_wait()
        observations: Observations = dict(rows)  # type: ignore[arg-type]
        if over.any():
            self._trail.update(last_vectors(observations, over, infos), np.zeros_like(over))
            past, infos = self._trail.seen(), list(infos)
            for i in np.flatnonzero(over).tolist():
                last = {**infos[i]["terminal_observation"], CAME_FROM: past[i]}
                infos[i] = {**infos[i], "terminal_observation": last}
        self._trail.update(observations["achieved_goal"], over)
        return {**observations, CAME_FROM: self._trail.seen()}, rewards, over, infos


def with_trail(venv: VecEnv) -> VecEnv:
    """Add the previous description if observations are images or grids of symbols.

    Numbers are taken to describe the whole state, as in Gymnasium's own environments. There the
    policy would have to learn that the previous description is of no use.
    """
    seen = venv.observation_space
    assert isinstance(seen, spaces.Dict)  # environments with attributes
    return TrailVecEnv(venv) if any(map(_is_view, seen.spaces.values())) else venv


def _is_view(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) in (3, 4)  # 4: stacked frames
