"""Attributes of Gymnasium's toy text environments: Taxi, FrozenLake and CliffWalking."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_attrplan.attributes.space import AttributeSpace

STANDS = ("red", "green", "yellow", "blue")


class TaxiAttributes:
    """Location of the passenger and stand of the taxi; the destination is left out.

    Args:
        env: ``Taxi-v4``.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("Taxi-v4")
        >>> _ = env.reset(seed=0)
        >>> ready = TaxiAttributes(env)
        >>> ready.attribute_space.describe(ready(env))
        'passenger=blue, taxi=between'
    """

    def __init__(self, env: Any) -> None:
        self.attribute_space = AttributeSpace(
            {"passenger": [*STANDS, "in taxi"], "taxi": [*STANDS, "between"]}
        )

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """Return the current values of both attributes."""
        raw = env.unwrapped
        row, column, passenger, _ = raw.decode(int(raw.s))
        place = (row, column)
        return [passenger, raw.locs.index(place) if place in raw.locs else len(STANDS)]


class LakeAttributes:
    """Row and column on the frozen lake, and whether that is the goal.

    Args:
        env: ``FrozenLake-v1`` of any map.
    """

    def __init__(self, env: Any) -> None:
        lake = env.unwrapped.desc
        self._n_columns = lake.shape[1]
        self._at_goal = (lake == b"G").ravel().tolist()
        self.attribute_space = AttributeSpace(
            {"row": lake.shape[0], "column": lake.shape[1], "at_goal": 2}
        )

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """Return the current values of all attributes."""
        cell = int(env.unwrapped.s)
        return [*divmod(cell, self._n_columns), int(self._at_goal[cell])]


class CliffAttributes:
    """Row and column beside the cliff, and whether that is the goal.

    Args:
        env: ``CliffWalking-v1``.
    """

    def __init__(self, env: Any) -> None:
        self._shape = tuple(env.unwrapped.shape)
        self.attribute_space = AttributeSpace(
            {"row": self._shape[0], "column": self._shape[1], "at_goal": 2}
        )

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """Return the current values of all attributes."""
        cell = int(env.unwrapped.s)
        row, column = divmod(cell, self._shape[1])
        return [row, column, int(cell == np.prod(self._shape) - 1)]
