"""Goals for continuous blocks: results of simulated drops from the true state, or new starts."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gym_attrplan.envs.blocks.drop_table import DropTable
from gym_attrplan.envs.blocks.rules import Attributes, IntArray
from gym_attrplan.envs.blocks.tasks import hold, read_kind, stack_goal, thin


@dataclass(frozen=True, eq=False)
class DropGoals:
    """Goal sampler for one table, by a task's name as in :class:`BlockGoals`.

    Random drops and random starts are simulated, from the current positions and on a second
    table.

    Args:
        table: The table whose blocks the goals are for.
        task: The task's name.

    Raises:
        InvalidEnvironment: If there is no such task, or if it needs more blocks.

    Example:
        >>> from gym_attrplan.envs.blocks.rules import BlocksRules
        >>> table = DropTable(BlocksRules())
        >>> goals = DropGoals(table, "one_step")
        >>> goals(table.attributes[None], np.random.default_rng(0)).shape
        (1, 36)
    """

    table: DropTable
    task: str

    def __post_init__(self) -> None:
        read_kind(self.task, self.table.rules)

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> Any:
        """Draw goals ``(n, n_attributes)``, none of which ``achieved`` meets."""
        return np.stack([self._draw_one(one, rng) for one in achieved])

    def _draw_one(self, achieved: IntArray, rng: np.random.Generator) -> Attributes:
        while True:
            goal: Attributes = thin(self.task, self._whole(achieved, rng)[None], rng)[0]
            if not hold(achieved, goal):
                return goal

    def _whole(self, achieved: IntArray, rng: np.random.Generator) -> Attributes:
        """Draw a complete goal, which may already hold."""
        rules = self.table.rules
        kind = read_kind(self.task, rules)
        if kind == "one_step":
            self._second.place(self.table.scene.poses())
            self._second.drop(int(rng.integers(rules.n_blocks)), rng.random(2), rng)
            return self._second.attributes
        if kind == "four_stack" and not hold(achieved, stack := stack_goal(rules)):
            return stack
        self._second.start(rng)
        return self._second.attributes

    @cached_property
    def _second(self) -> DropTable:
        return copy.deepcopy(self.table)
