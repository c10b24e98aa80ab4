"""Trail: which description came before the present one, for policies that see a part of the world.

A view shows what is near. A policy that has nothing else goes to and fro: back through the door
that it has come in by.
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
"""The part of an observation that says which description came before this one."""


class Trail:
    """Which description each environment had before the one that it has.

    Args:
        here: ``(n, n_attributes)`` descriptions at the beginning.

    Example:
        >>> trail = Trail(np.array([[0, 0]]))
        >>> trail.go_on(np.array([[0, 1]]), np.array([False]))
        >>> trail.seen()
        array([[1, 1]])
    """

    def __init__(self, here: IntArray) -> None:
        self._here = here.copy()
        self._before = np.full_like(here, FREE)

    def go_on(self, here: IntArray, new_episode: BoolArray) -> None:
        """Note where the environments are now."""
        moved = (here != self._here).any(axis=1)
        self._before[moved] = self._here[moved]
        self._before[new_episode] = FREE
        self._here = here.copy()

    def seen(self) -> npt.NDArray[np.int64]:
        """``(n, n_attributes)`` as a policy sees it: values from 1, 0 while there was none."""
        return self._before.astype(np.int64) + 1


class TrailVecEnv(VecEnvWrapper):
    """Environments whose observations also say which description came before.

    Args:
        venv: Environments of attributes.
    """

    def __init__(self, venv: VecEnv) -> None:
        seen = venv.observation_space
        assert isinstance(seen, spaces.Dict)  # environments of attributes
        goal = seen["achieved_goal"]
        assert isinstance(goal, spaces.Box)
        past = spaces.MultiDiscrete(goal.high.astype(np.int64) + 2)
        super().__init__(venv, spaces.Dict({**seen.spaces, CAME_FROM: past}))

    def reset(self) -> VecEnvObs:
        """Begin new episodes, which have no past."""
        observations: Observations = dict(self.venv.reset())  # type: ignore[arg-type]
        self._trail = Trail(observations["achieved_goal"])
        return {**observations, CAME_FROM: self._trail.seen()}

    def step_wait(self) -> VecEnvStepReturn:
        """Step; an episode's last observation has its past too."""
        rows, rewards, over, infos = self.venv.step_wait()
        observations: Observations = dict(rows)  # type: ignore[arg-type]
        if over.any():
            self._trail.go_on(last_vectors(observations, over, infos), np.zeros_like(over))
            past, infos = self._trail.seen(), list(infos)
            for i in np.flatnonzero(over).tolist():
                last = {**infos[i]["terminal_observation"], CAME_FROM: past[i]}
                infos[i] = {**infos[i], "terminal_observation": last}
        self._trail.go_on(observations["achieved_goal"], over)
        return {**observations, CAME_FROM: self._trail.seen()}, rewards, over, infos


def with_trail(venv: VecEnv) -> VecEnv:
    """The environments, with their past where what is seen is a picture or a grid of symbols.

    Numbers are taken to say all of a state, as Gymnasium's own do: there the past only has to be
    learned to be of no use.
    """
    seen = venv.observation_space
    assert isinstance(seen, spaces.Dict)  # environments of attributes
    return TrailVecEnv(venv) if any(map(_is_view, seen.spaces.values())) else venv


def _is_view(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and len(space.shape) == 3
