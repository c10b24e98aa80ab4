"""BatchEnv: base class of the batched environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gym_attrplan.error import InvalidEnvironment

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Outcome = tuple[npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]
Seeds = int | Sequence[int | None] | None
Observation = TypeVar("Observation")


class BatchEnv(VectorEnv[Observation, IntArray, Array]):
    """Many environments in numpy. A wrapper resets them and gives them goals.

    ``reset(seed=s)`` starts environment i like a single one that is reset with seed ``s + i``, and
    ``reset(seed=[...])`` takes a seed for each; later resets draw from one generator.
    ``reset(options={"reset_mask": mask})`` resets the marked environments only.

    Args:
        observation_space: Of a single environment.
        action_space: Of a single environment: ``Discrete``, or ``MultiDiscrete`` with equal parts.
        num_envs: Number of environments.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.
        render_mode: ``"rgb_array"`` or None.

    Raises:
        InvalidEnvironment: If ``num_envs`` is below 1.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Discrete | spaces.MultiDiscrete,
        *,
        num_envs: int,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if num_envs < 1:
            raise InvalidEnvironment(f"num_envs must be at least 1; received {num_envs}.")
        self.metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.DISABLED}
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.max_episode_steps = max_episode_steps
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        if isinstance(action_space, spaces.MultiDiscrete):
            self._n_actions = int(action_space.nvec[0])
        else:
            self._n_actions = int(action_space.n)
        self._elapsed = np.zeros(num_envs, np.int64)

    def _outcome(self, **info: Any) -> Outcome:
        """Return rewards (0, since goals are not known here), ends and infos of a step."""
        self._elapsed += 1
        limit = np.inf if self.max_episode_steps is None else self.max_episode_steps
        ended = np.zeros(self.num_envs, np.bool_)
        return np.zeros(self.num_envs), ended, self._elapsed >= limit, info

    def _checked_actions(self, actions: Any) -> IntArray:
        array, shape = np.asarray(actions), self.action_space.shape
        if array.shape != shape or array.dtype.kind not in "iu":
            raise gym.error.InvalidAction(
                f"actions are whole numbers of shape {shape}; received {array.dtype} of shape "
                f"{array.shape}."
            )
        if array.min() < 0 or array.max() >= self._n_actions:
            last = self._n_actions - 1
            raise gym.error.InvalidAction(f"actions are 0 to {last}; received {array}.")
        return array

    def _checked_mask(self, options: dict[str, Any]) -> BoolArray:
        """Return the environments to reset: those in ``options["reset_mask"]``, or all."""
        mask = options.get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_:
            raise InvalidEnvironment(
                f"reset_mask holds {self.num_envs} booleans; received {array.dtype} "
                f"of shape {array.shape}."
            )
        return array

    def _generators(self, seed: Seeds, rows: IntArray) -> list[np.random.Generator] | None:
        """Return a generator for each row, as in single environments; None for the batch's own."""
        n = self.num_envs
        if seed is None:
            return None
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(n)]
        if len(seed) != n:
            raise InvalidEnvironment(
                f"{n} environments need as many seeds, or one; received {len(seed)}."
            )
        # A generator independent of the environments' own, which draw from the same seeds.
        entropy = np.random.SeedSequence([one or 0 for one in seed], spawn_key=(2,))
        self.np_random = np.random.default_rng(entropy)
        return [gym.utils.seeding.np_random(seed[i])[0] for i in rows]
