"""FlatVectorWrapper: a batch of any environments with observations that SB3's policies read."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from gym_attrplan.wrappers.observation import FlatObservation

Batch = dict[str, Any]


class FlatVectorWrapper(VectorWrapper[Batch, Any, Any, Any, Any]):
    """Wrapper that makes a batch's observations one flat ``Dict``, see :class:`FlatObservation`.

    Text is dropped unless ``text`` is set, and images too small for SB3's image network become
    int16. Rewards and ends of episodes stay unchanged.

    Args:
        env: A vector environment, such as the batched MiniGrid.
        text: Number of bytes of text observations to keep; None drops them.

    Raises:
        InvalidEnvironment: If an observation part has no fixed shape.

    Example:
        >>> from gym_attrplan.envs.minigrid import MiniGridVectorEnv
        >>> envs = FlatVectorWrapper(MiniGridVectorEnv("MiniGrid-DoorKey-8x8-v0", 4))
        >>> observations, _ = envs.reset(seed=0)
        >>> sorted(observations), observations["image"].shape
        (['direction', 'image'], (4, 7, 7, 3))
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], *, text: int | None = None) -> None:
        super().__init__(env)
        self._flat = FlatObservation(env.single_observation_space, text=text)
        self.single_observation_space = spaces.Dict(self._flat.spaces)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Batch, dict[str, Any]]:
        """Reset the environments."""
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        return self._flat.convert(observations, batch_axes=1), info

    def step(self, actions: Any) -> tuple[Batch, Any, Any, Any, dict[str, Any]]:
        """Step the environments; the last observations of finished episodes are flattened too."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        if "final_obs" in info:
            lasts = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(info["_final_obs"]):
                lasts[i] = self._flat.convert(info["final_obs"][i])
            info = {**info, "final_obs": lasts}
        flat = self._flat.convert(observations, batch_axes=1)
        return flat, rewards, terminated, truncated, info
