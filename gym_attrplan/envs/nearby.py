"""Goals near the start of an episode: one transition away, or a few random drops."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE
from gym_attrplan.envs.blocks.rules import Attributes
from gym_attrplan.envs.blocks.tasks import hold, thin
from gym_attrplan.envs.build_order.rules import EconomyRules
from gym_attrplan.envs.goals import read_task
from gym_attrplan.envs.grids.rules import CraftingRules

IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]

MOST_DROPS = 40


def _draw(possible: BoolArray, rng: np.random.Generator) -> IntArray:
    """Draw a possible column ``(n,)`` for each row ``(n, n_columns)``, uniformly."""
    # If nothing is possible, any column is chosen: the goal then holds, or cannot be met.
    marks: IntArray = (rng.random(possible.shape) + possible).argmax(axis=1)
    return marks


@dataclass(frozen=True)
class OneMoreItem:
    """Goals with an item that can be grabbed or crafted now, the rest free.

    Args:
        needs: The columns of each item's ingredients.

    Example:
        >>> more = OneMoreItem(needs=((), (), (0, 1)))
        >>> more(np.array([[1, 1, 0]], np.int8), np.random.default_rng(0))
        array([[-1, -1,  1]], dtype=int8)
    """

    needs: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, rules: CraftingRules) -> OneMoreItem:
        """Create the sampler for an environment's recipes."""
        ingredients: list[Sequence[str]] = [rules.recipes.get(item, ()) for item in rules.items]
        return cls(tuple(tuple(map(rules.items.index, names)) for names in ingredients))

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw goals ``(n, n_items)`` for episodes that start from ``achieved``."""
        ready = [achieved[:, list(names)].all(axis=1) for names in self.needs]
        chosen = _draw(np.stack(ready, axis=1) & (achieved == 0), rng)
        goals = np.full_like(achieved, FREE)
        goals[np.arange(len(goals)), chosen] = 1
        return goals


@dataclass(frozen=True)
class OneMoreUnit:
    """Goals with one more unit of a kind in the tasks that can be made now, and no other.

    Args:
        caps: Maximum number of each attribute; None leaves it free.
        requires: The attribute that each requires at least one of; None for nothing.

    Example:
        >>> more = OneMoreUnit(caps=(None, 2, 4), requires=(None, None, 1))
        >>> more(np.array([[7, 0, 0]], np.int8), np.random.default_rng(0))
        array([[-1,  1,  0]], dtype=int8)
    """

    caps: tuple[int | None, ...]
    requires: tuple[int | None, ...]

    @classmethod
    def of(cls, rules: EconomyRules) -> OneMoreUnit:
        """Create the sampler for an environment's products."""
        caps = [one.cap if one.limit else None for one in rules.products]
        requires = [None if i < 0 else 1 + int(i) for i in rules.requires]
        return cls((None, *caps), (None, *requires))

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw goals ``(n, n_attributes)`` for episodes that start from ``achieved``."""
        possible = achieved < np.array([cap or 0 for cap in self.caps])
        for i, needed in enumerate(self.requires):
            if needed is not None:
                possible[:, i] &= achieved[:, needed] > 0
        goals = achieved.copy()
        goals[np.arange(len(goals)), _draw(possible, rng)] += 1
        goals[:, [cap is None for cap in self.caps]] = FREE
        return goals


@dataclass(frozen=True, eq=False)
class DropsAway:
    """Goals with the attributes after some random drops from the true state, never the start's.

    Args:
        env: A raw block environment: discrete, batched, or continuous.
        task: ``drops<=d`` or ``drops==d``; with the suffix ``_70`` a random 70% of each goal.
    """

    env: Any
    task: str

    def __post_init__(self) -> None:
        _ = self.n_drops  # raises now if the name is wrong

    @cached_property
    def n_drops(self) -> tuple[int, int]:
        """Minimum and maximum number of drops."""
        return read_task(self.task.removesuffix("_70"), "drops", MOST_DROPS)

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> Any:
        """Draw goals ``(n, n_attributes)``, none of which ``achieved`` meets."""
        goals = np.full_like(achieved, FREE)
        left = np.arange(len(achieved))
        while len(left):
            fewest, most = self.n_drops
            n_drops = rng.integers(fewest, most + 1, size=len(left))
            ends = self._ends(left, n_drops, rng)
            goals[left] = thin(self.task, ends, rng)
            left = left[hold(achieved[left], goals[left])]
        return goals

    def _ends(self, rows: IntArray, n_drops: IntArray, rng: np.random.Generator) -> Attributes:
        """Return the attributes after ``n_drops`` drops in each of the new episodes."""
        rules = self.env.rules
        if hasattr(self.env, "table"):
            return np.stack([self._simulate(int(n), rng) for n in n_drops])
        states = self.env.start_states[rows]
        for i in range(int(n_drops.max())):
            moved = rules.move(states, rng.integers(rules.n_actions, size=len(states)))
            states = np.where(i < n_drops, moved, states)
        ends: Attributes = rules.evaluate(states)
        return ends

    def _simulate(self, n_drops: int, rng: np.random.Generator) -> Attributes:
        self._second.place(self.env.table.scene.poses())
        for _ in range(n_drops):
            block = int(rng.integers(self.env.rules.n_blocks))
            self._second.drop(block, rng.random(2), rng)
        attributes: Attributes = self._second.attributes
        return attributes

    @cached_property
    def _second(self) -> Any:
        return copy.deepcopy(self.env.table)
