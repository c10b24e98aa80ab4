"""The attributes of MiniGrid's environments in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.library import family_of
from gym_attrplan.attributes.library.floor_plan import FloorPlan

Array = npt.NDArray[Any]


class MiniGridBatchAttributes:
    """Batched attributes of MiniGrid's environments and of BabyAI's levels.

    They are those of :class:`~gym_attrplan.attributes.library.minigrid.MiniGridAttributes` or
    :class:`~gym_attrplan.attributes.library.babyai.BabyAIAttributes`.

    Args:
        envs: A batched MiniGrid, wrapped or not.
        parts: As for a single environment.

    Raises:
        InvalidAttributes: As for a single environment.
    """

    def __init__(self, envs: Any, parts: Sequence[str] | None = None) -> None:
        batch = envs.unwrapped
        single = family_of(batch.template)(batch.template, parts)
        self.attribute_space = single.attribute_space
        self._readers = single.readers
        self._plans = _Plans(batch)

    def __call__(self, envs: Any, observations: Any = None, /) -> Array:
        """Return ``(n, n_attributes)`` current values of all attributes."""
        snapshot = _Snapshot(envs.unwrapped, self._plans)
        return np.stack([reader.many(snapshot) for reader in self._readers], axis=1)


class _Plans:
    """Floor plans of a batch's layouts, as arrays; each is made once.

    Attributes:
        rooms: ``(n_slots, area)`` the number of the room at each cell.
        doors: ``(n_slots, k)`` cells; 0, which lies outside the grid, if there are fewer.
    """

    def __init__(self, batch: Any) -> None:
        self.rooms = np.zeros(batch.layouts.cells.shape, np.int16)
        self.doors = np.zeros((len(self.rooms), 1), np.int64)
        self._serials = np.zeros(len(self.rooms), np.int64)

    def update(self, layouts: Any, slots: Array) -> None:
        """Make the plans of new layouts in these slots."""
        new = slots[self._serials[slots] != layouts.serials[slots]]
        for slot in np.unique(new).tolist():
            self._make(layouts, slot)

    def _make(self, layouts: Any, slot: int) -> None:
        geometry = layouts.geometry
        kinds = layouts.things.ask(_kind)[geometry.inner(layouts.cells[slot])]
        plan = FloorPlan(kinds, geometry.position(layouts.agents[slot]))
        geometry.inner(self.rooms[slot])[...] = plan.rooms
        missing = len(plan.doors) - self.doors.shape[1]
        if missing > 0:
            self.doors = np.pad(self.doors, ((0, 0), (0, missing)))
        self.doors[slot] = 0
        self.doors[slot, : len(plan.doors)] = [geometry.cell(door) for door in plan.doors]
        self._serials[slot] = layouts.serials[slot]


class _Snapshot:
    """State of a batch after one step, for readers."""

    def __init__(self, batch: Any, plans: _Plans) -> None:
        plans.update(batch.layouts, batch.slots)
        rows = np.arange(len(batch.slots))
        self.carried, self.front, self.below = batch.carried, batch.front, batch.below
        self.rooms = plans.rooms[batch.slots, batch.agents]
        self.doors = batch.cells[rows[:, None], plans.doors[batch.slots]]
        self._batch, self._things = batch, batch.things

    @property
    def beyond(self) -> Array:
        """``(n, 3)`` the things beside the cell ahead."""
        things: Array = self._batch.beyond
        return things

    def ask(self, question: Callable[[Any], int]) -> Array:
        """Return a function's value for every thing of the catalogue."""
        answers: Array = self._things.ask(question)
        return answers


def _kind(thing: Any) -> str:
    return "" if thing is None else str(thing.type)
