"""Goals for the economy: an exact number of each unit."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class CountTargets:
    """Goals with a count for every attribute with a limit, drawn uniformly from reachable goals.

    A unit that requires another is only requested together with it: a marine without a barracks is
    impossible, since counts never fall. Goals that already hold are not drawn.

    Args:
        limits: Maximum count of each attribute; None leaves it free.
        requires: The attribute that each requires at least one of; None for nothing.
        least: Minimum of a goal's largest count.
        most: Maximum of all counts.

    Example:
        >>> targets = CountTargets((None, 2, 4), (None, None, 1), least=1, most=1)
        >>> targets.goals.tolist()
        [[-1, 1, 0], [-1, 1, 1]]
    """

    limits: tuple[int | None, ...]
    requires: tuple[int | None, ...]
    least: int
    most: int

    @cached_property
    def goals(self) -> npt.NDArray[np.int8]:
        """``(n_goals, n_attributes)`` all possible goals."""
        ranges = [
            range(FREE, 0) if limit is None else range(min(limit, self.most) + 1)
            for limit in self.limits
        ]
        every = np.array(list(itertools.product(*ranges)), np.int8)
        kept = every.max(axis=1) >= self.least
        for i, needed in enumerate(self.requires):
            if needed is not None:
                kept &= (every[:, i] <= 0) | (every[:, needed] != 0)
        goals: npt.NDArray[np.int8] = every[kept]
        return goals

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw goals ``(n, n_attributes)`` for episodes that start from ``achieved``."""
        goals = self.goals
        holds = ((goals == achieved[:, None]) | (goals == FREE)).all(axis=2)
        # At most one goal holds: draw among the others, and skip it.
        held = np.where(holds.any(axis=1), holds.argmax(axis=1), len(goals))
        drawn = rng.integers(len(goals) - holds.any(axis=1))
        chosen: IntArray = goals[drawn + (drawn >= held)]
        return chosen
