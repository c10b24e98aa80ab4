"""The attributes of MiniGrid's environments in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.library import family_of
from gym_attrplan.attributes.library.floor_plan import FloorPlan
from gym_attrplan.attributes.library.minigrid_readers import Look, only_place

Array = npt.NDArray[Any]

EMPTY = 1
"""Number of nothing in the batch's catalogue of things, as in MiniGrid's images."""


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
        if hasattr(single, "possible"):
            self.possible = self._possible
        self._plans = _Plans(batch, from_lock=single.from_lock)

    def __call__(self, envs: Any, observations: Any = None, /) -> Array:
        """Return ``(n, n_attributes)`` current values of all attributes."""
        snapshot = _Snapshot(envs.unwrapped, self._plans)
        return np.stack([reader.many(snapshot) for reader in self._readers], axis=1)

    def _possible(self, envs: Any, /) -> Array:
        """Return ``(n, n_attributes, n_values)`` the values that the things in each room allow."""
        snapshot = _Snapshot(envs.unwrapped, self._plans)
        every = np.arange(len(snapshot.contents))[:, None], snapshot.contents
        around = snapshot.around()
        n_values = int(self.attribute_space.sizes.max())
        possible = np.ones((len(snapshot.contents), len(self._readers), n_values), np.bool_)
        for i, reader in enumerate(self._readers):
            if isinstance(reader, Look):
                rows, things = around if reader.is_local else every
                possible[:, i] = False
                possible[rows, i, snapshot.ask(reader.value)[things]] = True
                possible[:, i, 0] = True
        return possible


class _Plans:
    """Floor plans of a batch's layouts, as arrays; each is made once.

    Args:
        batch: The batched MiniGrid.
        from_lock: As for :class:`~gym_attrplan.attributes.library.minigrid_readers.Scene`.

    Attributes:
        rooms: ``(n_slots, area)`` the number of the room at each cell.
        before: The same; of a doorway, the lower one.
        doors: ``(n_slots, k)`` cells; 0, which lies outside the grid, if there are fewer.
        contents: ``(n_slots, k)`` things, also as they are when toggled; nothing is one of them.
    """

    def __init__(self, batch: Any, *, from_lock: bool) -> None:
        self._from_lock = from_lock
        self.rooms = np.zeros(batch.layouts.cells.shape, np.int16)
        self.before = np.zeros_like(self.rooms)
        self.doors = np.zeros((len(self.rooms), 1), np.int64)
        self.contents = np.full((len(self.rooms), 1), EMPTY)
        self._serials = np.zeros(len(self.rooms), np.int64)

    def update(self, layouts: Any, slots: Array) -> None:
        """Make the plans of new layouts in these slots."""
        new = slots[self._serials[slots] != layouts.serials[slots]]
        for slot in np.unique(new).tolist():
            self._make(layouts, slot)

    def _make(self, layouts: Any, slot: int) -> None:
        geometry = layouts.geometry
        cells = geometry.inner(layouts.cells[slot])
        kinds, locked = (layouts.things.ask(question)[cells] for question in (_kind, _is_locked))
        lock = only_place(locked) if self._from_lock else None
        plan = FloorPlan(kinds, geometry.position(layouts.agents[slot]), lock)
        geometry.inner(self.rooms[slot])[...] = plan.rooms
        geometry.inner(self.before[slot])[...] = plan.before
        doors = [geometry.cell(door) for door in plan.doors]
        self.doors = _with_row(self.doors, slot, doors, missing=0)
        tables, numbers = layouts.things.tables, np.unique(geometry.inner(layouts.cells[slot]))
        every = np.unique([numbers, tables.toggled[numbers], tables.unlocked[numbers]])
        self.contents = _with_row(self.contents, slot, every.tolist(), missing=EMPTY)
        self._serials[slot] = layouts.serials[slot]


def _with_row(table: Array, row: int, values: list[int], *, missing: int) -> Array:
    """Return a table with a new row; it gets wider if the row does not fit."""
    too_few = len(values) - table.shape[1]
    if too_few > 0:
        table = np.pad(table, ((0, 0), (0, too_few)), constant_values=missing)
    table[row] = missing
    table[row, : len(values)] = values
    return table


class _Snapshot:
    """State of a batch after one step, for readers."""

    def __init__(self, batch: Any, plans: _Plans) -> None:
        plans.update(batch.layouts, batch.slots)
        rows = np.arange(len(batch.slots))
        self.carried, self.front, self.below = batch.carried, batch.front, batch.below
        self.rooms = plans.rooms[batch.slots, batch.agents]
        self.contents = plans.contents[batch.slots]
        self.doors = batch.cells[rows[:, None], plans.doors[batch.slots]]
        self._batch, self._things, self._plans = batch, batch.things, plans

    @property
    def beyond(self) -> Array:
        """``(n, 3)`` the things beside the cell ahead."""
        things: Array = self._batch.beyond
        return things

    def around(self) -> tuple[Array, Array]:
        """Return environments ``(m,)`` and things in their agents' rooms, also when toggled."""
        batch, slots, here = self._batch, self._batch.slots, self.rooms[:, None]
        near = (self._plans.rooms[slots] == here) | (self._plans.before[slots] == here)
        rows, cells = np.nonzero(near & (batch.cells != EMPTY))
        things, tables = batch.cells[rows, cells], self._things.tables
        states = things, tables.toggled[things], tables.unlocked[things], self.carried
        return np.concatenate([rows, rows, rows, np.arange(len(slots))]), np.concatenate(states)

    def ask(self, question: Callable[[Any], int]) -> Array:
        """Return a function's value for every thing of the catalogue."""
        answers: Array = self._things.ask(question)
        return answers


def _is_locked(thing: Any) -> bool:
    return bool(getattr(thing, "is_locked", False))


def _kind(thing: Any) -> str:
    return "" if thing is None else str(thing.type)
