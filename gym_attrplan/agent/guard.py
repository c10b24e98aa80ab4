"""GuardedVecEnv: rejects observations that no network can learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from gym_attrplan.error import InvalidEnvironment

Array = npt.NDArray[Any]

LARGEST = np.float32(1e10)
"""Maximum absolute value of an observation; larger products overflow float32 in training."""


class GuardedVecEnv(VecEnvWrapper):
    """Wrapper that checks every observation.

    One NaN that reaches a network makes all its weights NaN and destroys everything learned. A
    number outside its ``Discrete`` space has no one-hot code.

    Args:
        venv: The environments; their observation space is a ``Dict``.
        made_of: The id and arguments that they were made from, if any.
    """

    def __init__(self, venv: VecEnv, made_of: tuple[str, dict[str, Any]] | None = None) -> None:
        super().__init__(venv)
        self.made_of = made_of
        self._n_steps = 0

    def reset(self) -> VecEnvObs:
        """Begin new episodes in all environments.

        Raises:
            InvalidEnvironment: If a value is not finite, huge, or outside its ``Discrete`` space.
        """
        observations: Any = self.venv.reset()
        self._check(observations, lambda i: f"environment {i} was reset and")
        return observations  # type: ignore[no-any-return]

    def step_wait(self) -> VecEnvStepReturn:
        """Step the environments.

        Raises:
            InvalidEnvironment: If a value is not finite, huge, or outside its ``Discrete`` space.
        """
        observations, rewards, done, infos = self.venv.step_wait()
        self._n_steps += 1
        self._check(observations, lambda i: f"environment {i}, in step {self._n_steps},")
        for i in np.flatnonzero(done).tolist():
            last = infos[i]["terminal_observation"]
            rows = {key: np.asarray(part)[None] for key, part in last.items()}
            self._check(rows, lambda _, i=i: f"environment {i}, in its last step of an episode,")  # type: ignore[misc]
        return observations, rewards, done, infos

    def _check(self, observations: Any, who: Callable[[int], str]) -> None:
        assert isinstance(self.observation_space, spaces.Dict)  # as_vec_env has seen to it
        check_observations(observations, self.observation_space, who)


def check_observations(
    observations: Mapping[str, Array], space: spaces.Dict, who: Callable[[int], str]
) -> None:
    """Check that networks can read a batch ``{key: (n, …)}``.

    Args:
        observations: The batch.
        space: Space of a single row.
        who: Function from a row's number to the first words of the error message.

    Raises:
        InvalidEnvironment: If a value is not finite, huge, or outside its ``Discrete`` space.

    Example:
        >>> space = spaces.Dict({"place": spaces.Box(0, 1, (1,))})
        >>> check_observations({"place": np.array([[0.5], [np.nan]])}, space, "row {}".format)
        Traceback (most recent call last):
        ...
        gym_attrplan.error.InvalidEnvironment: row 1 has 'place': nan; it must be finite ...
    """
    for key, part in observations.items():
        if part.dtype.kind == "f":
            fine, rule = (
                np.abs(part) < LARGEST,
                f"it must be finite and below {LARGEST:.0e} in size",
            )
        elif isinstance(one := space.spaces[key], (spaces.Discrete, spaces.MultiDiscrete)):
            n = one.n if isinstance(one, spaces.Discrete) else one.nvec
            fine, rule = (part >= 0) & (part < n), f"its space is {one}, counted from 0"
        else:
            continue
        if not fine.all():
            where = tuple(np.argwhere(~fine)[0].tolist())
            raise InvalidEnvironment(
                f"{who(where[0])} has {key!r}: {part[where].item()}; {rule}. Fix the environment, "
                "or replace such values with gymnasium.wrappers.TransformObservation."
            )
