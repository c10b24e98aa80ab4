"""Layouts: the starts of episodes that MiniGrid draws, as arrays."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.minigrid.geometry import Geometry
from gym_attrplan.envs.minigrid.rules import EndRule
from gym_attrplan.envs.minigrid.things import Numbers, Things
from gym_attrplan.error import InvalidEnvironment

IntArray = npt.NDArray[np.int64]

_STEPS_PER_FRESH = 1024
"""Number of steps, over all environments, after which a full pool gets a new layout.

Drawing it takes about as long as a quarter of them, however short the episodes are.
"""


class Layouts:
    """Starts of episodes, one in each slot.

    Args:
        env: MiniGrid's environment, which draws them.
        rule: Its end rule.
        n_slots: Number of slots.

    Attributes:
        cells: ``(n_slots, area)`` contents of the cells.
        agents: ``(n_slots,)`` cells.
        directions: ``(n_slots,)``.
        limits: ``(n_slots,)`` numbers of steps after which the episode is truncated.
        targets: ``(n_slots, k)`` targets of the end rule.
        missions: ``(n_slots,)`` texts.
        serials: ``(n_slots,)`` numbers that change whenever the slot gets another layout.
    """

    def __init__(self, env: Any, rule: EndRule, n_slots: int) -> None:
        self._env, self._rule = env, rule
        self.things = Things()
        self.geometry = Geometry.of(env)
        wall = self.things.number(_outer_wall())
        self.cells: Numbers = np.full((n_slots, self.geometry.area), wall, np.uint16)
        self.agents = np.zeros(n_slots, np.int64)
        self.directions = np.zeros(n_slots, np.int64)
        self.limits = np.zeros(n_slots, np.int64)
        self.targets = np.zeros((n_slots, rule.n_targets), np.int64)
        self.missions = np.full(n_slots, "", object)
        self.serials = np.zeros(n_slots, np.int64)

    def draw(self, slot: int, rng: np.random.Generator) -> None:
        """Let MiniGrid draw the next layout with a generator, into a slot.

        Raises:
            InvalidEnvironment: If the grid has another size than the others.
        """
        env, geometry = self._env, self.geometry
        env.np_random = rng
        with contextlib.redirect_stdout(None):  # BabyAI prints each layout that it rejects
            env.reset()
        grid = env.grid
        if (grid.width, grid.height) != (geometry.width, geometry.height) or env.carrying:
            raise InvalidEnvironment(
                f"episodes begin empty-handed in grids of {geometry.width} x {geometry.height}; "
                f"{env} drew {grid.width} x {grid.height} with {env.carrying} in hand."
            )
        number, target = self.things.number, self._rule.target(env)
        numbers = [number(cell, target) for cell in grid.grid]
        inner = geometry.inner(self.cells[slot])
        inner[...] = np.array(numbers, np.uint16).reshape(inner.shape)
        self.agents[slot] = geometry.cell(env.agent_pos)
        self.directions[slot] = env.agent_dir
        self.limits[slot] = env.max_steps
        self.targets[slot] = self._rule.read(env, geometry.cell)
        self.missions[slot] = env.mission
        self.serials[slot] += 1


class LayoutSource(ABC):
    """Base class of sources of layouts for new episodes."""

    layouts: Layouts

    @abstractmethod
    def seed(self, rows: IntArray, rngs: list[np.random.Generator]) -> None:
        """Restart with these generators."""

    @abstractmethod
    def take(self, rows: IntArray, n_steps: int) -> IntArray:
        """Return the slots of the layouts for the next episodes of these environments.

        Args:
            rows: The environments.
            n_steps: Number of steps so far, over all environments.
        """


class OwnLayouts(LayoutSource):
    """Source with a separate sequence of layouts for every environment, as in MiniGrid itself.

    Args:
        env: Draws the layouts.
        rule: The end rule.
        rngs: A generator for each environment.
    """

    def __init__(self, env: Any, rule: EndRule, rngs: list[np.random.Generator]) -> None:
        self.layouts = Layouts(env, rule, len(rngs))
        self._rngs = rngs

    def seed(self, rows: IntArray, rngs: list[np.random.Generator]) -> None:
        """Set the generators of these environments."""
        for row, rng in zip(rows.tolist(), rngs, strict=True):
            self._rngs[row] = rng

    def take(self, rows: IntArray, n_steps: int) -> IntArray:
        """Draw new layouts into the environments' own slots."""
        for row in rows.tolist():
            self.layouts.draw(row, self._rngs[row])
        return rows


class QuickGenerator(np.random.Generator):
    """Generator that draws single whole numbers from blocks, which is faster.

    MiniGrid draws some layouts by trial and error. Twelve rooms take about 100,000 numbers, and
    are drawn in a third of the time.

    Example:
        >>> rng = QuickGenerator(np.random.PCG64(0))
        >>> [rng.integers(-1, 2) for _ in range(8)]
        [1, -1, 0, 1, 1, 1, -1, -1]
    """

    _BLOCK = 1_024

    def __init__(self, bit_generator: np.random.BitGenerator) -> None:
        super().__init__(bit_generator)
        self._left: list[float] = []

    def integers(self, low: Any, high: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Draw from ``low`` to ``high - 1``, or as NumPy does if more is asked for."""
        if high is None or args or kwargs:
            return super().integers(low, high, *args, **kwargs)
        if not self._left:
            self._left = self.random(self._BLOCK).tolist()
        return low + int((high - low) * self._left.pop())


class LayoutPool(LayoutSource):
    """Source of shared layouts: drawing one costs as much as hundreds of batched steps.

    Episodes begin in new layouts until the pool is full, and then in one of the pool, drawn at
    random. Every 1,024 steps one begins in a new layout, which replaces the oldest.

    Args:
        env: Draws the layouts.
        rule: The end rule.
        rng: Generator of all layouts.
        num_envs: Number of environments.
        size: Number of layouts; more than environments, since no layout is replaced while in use.

    Raises:
        InvalidEnvironment: If the pool is too small.
    """

    def __init__(
        self, env: Any, rule: EndRule, rng: np.random.Generator, *, num_envs: int, size: int
    ) -> None:
        if size <= num_envs:
            raise InvalidEnvironment(
                f"pool_size must be greater than num_envs={num_envs}; received {size}."
            )
        self.layouts = Layouts(env, rule, size)
        self._rng = QuickGenerator(rng.bit_generator)
        self._in_use = np.full(num_envs, -1)
        self._n_held = self._next = self._n_paid = 0

    def seed(self, rows: IntArray, rngs: list[np.random.Generator]) -> None:
        """Empty the pool, which is then filled with the first generator."""
        self._rng = QuickGenerator(rngs[0].bit_generator)
        self._n_held = self._next = 0

    def take(self, rows: IntArray, n_steps: int) -> IntArray:
        """Return layouts of the pool, some of them new."""
        self._in_use[rows] = -1
        for row in rows.tolist():
            fresh = self._is_due(n_steps)
            self._in_use[row] = self._fresh() if fresh else self._rng.integers(self._n_held)
        return self._in_use[rows]

    def _is_due(self, n_steps: int) -> bool:
        """Return whether the next episode has a new layout, and count it if so."""
        if self._n_held < len(self.layouts.cells):
            self._n_paid = n_steps
            return True
        due = n_steps - self._n_paid >= _STEPS_PER_FRESH
        self._n_paid += _STEPS_PER_FRESH * due
        return due

    def _fresh(self) -> int:
        n_slots = len(self.layouts.cells)
        while (self._in_use == self._next).any():
            self._next = (self._next + 1) % n_slots
        slot, self._next = self._next, (self._next + 1) % n_slots
        self.layouts.draw(slot, self._rng)
        self._n_held = max(self._n_held, slot + 1)
        return slot


def _outer_wall() -> Any:
    """Return the wall that MiniGrid shows beyond the edge of a grid."""
    from minigrid.core.world_object import Wall

    return Wall()
