"""State: the economies of a batch as arrays, the source of observations and images."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.build_order.rules import (
    CENTRE,
    CENTRE_SUPPLY,
    LEAVABLE,
    ORE_LEVELS,
    ORE_UNIT,
    START_ORE,
    START_SCVS,
    Cells,
    EconomyRules,
    Job,
    Kind,
    Starts,
)

Ints = npt.NDArray[np.int16]
BoolArray = npt.NDArray[np.bool_]
NONE = -1
"""Number for no product and no site."""


@dataclass
class State:
    """Complete state of n economies.

    Attributes:
        sides: ``(n,)`` side of the minerals.
        ore: ``(n,)`` ore in stock.
        counts: ``(n, n_products)`` numbers of products, including unfinished ones.
        done: ``(n, n_products)`` numbers of finished products.
        present: ``(n, n_slots)`` whether there is a unit.
        cells: ``(n, n_slots, 2)`` columns and rows.
        jobs: ``(n, n_slots)`` numbers of :class:`Job`.
        making: ``(n, n_slots)`` the product being made, -1 for none.
        left: ``(n, n_slots)`` remaining steps of drilling or making.
        cargo: ``(n, n_slots)`` whether an SCV carries ore.
        site: ``(n, n_slots)`` site where an SCV builds, -1 for none.
        sites: ``(n, n_sites)`` the product on each site, -1 for none.
        built: ``(n, n_sites)`` whether it is finished.
    """

    sides: Ints
    ore: npt.NDArray[np.int64]
    counts: Ints
    done: Ints
    present: BoolArray
    cells: Cells
    jobs: Ints
    making: Ints
    left: Ints
    cargo: BoolArray
    site: Ints
    sites: Ints
    built: BoolArray

    @classmethod
    def begin(cls, rules: EconomyRules, starts: Starts) -> Self:
        """Return economies at the start of their episodes."""
        n, n_slots, n_sites = len(starts), rules.n_slots, rules.sites.shape[1]
        counts = np.zeros((n, len(rules.products)), np.int16)
        counts[:, 0] = START_SCVS
        present = np.zeros((n, n_slots), np.bool_)
        present[:, :START_SCVS] = present[:, rules.n_scvs] = True
        cells = np.full((n, n_slots, 2), CENTRE, np.int16)
        cells[:, :START_SCVS] = starts.scvs
        nothing = np.full((n, n_slots), NONE, np.int16)
        return cls(
            sides=starts.sides.astype(np.int16),
            ore=np.full(n, START_ORE, np.int64),
            counts=counts,
            done=counts.copy(),
            present=present,
            cells=cells,
            jobs=np.full((n, n_slots), Job.IDLE, np.int16),
            making=nothing,
            left=np.zeros((n, n_slots), np.int16),
            cargo=np.zeros((n, n_slots), np.bool_),
            site=nothing.copy(),
            sites=np.full((n, n_sites), NONE, np.int16),
            built=np.zeros((n, n_sites), np.bool_),
        )

    def __len__(self) -> int:
        return len(self.ore)

    def put(self, rows: Any, others: State) -> None:
        """Set the chosen economies to others, in place."""
        for name in _NAMES:
            getattr(self, name)[rows] = getattr(others, name)

    def row(self, i: int) -> Self:
        """Return economy i as a batch of one; a copy."""
        return type(self)(*(getattr(self, name)[i : i + 1].copy() for name in _NAMES))

    def attributes(self) -> npt.NDArray[np.int8]:
        """Return ``(n, 1 + n_products)``: ore in 25s, up to 40, then the counts."""
        values = np.empty((len(self), 1 + self.counts.shape[1]), np.int8)
        values[:, 0] = np.minimum(self.ore // ORE_UNIT, ORE_LEVELS - 1)
        values[:, 1:] = self.counts
        return values

    def supply(self, rules: EconomyRules) -> tuple[Ints, Ints]:
        """Return supply used, including unfinished units, and supply provided: ``(n,)`` each."""
        return self.counts @ rules.supply, CENTRE_SUPPLY + self.done @ rules.supply_given


_NAMES = tuple(one.name for one in fields(State))

ECONOMY_SCALARS = 4
UNIT_SCALARS = 8


def n_unit_features() -> int:
    """Return the number of features of a unit."""
    return len(Kind) + len(Job) + UNIT_SCALARS


def n_economy_features(rules: EconomyRules) -> int:
    """Return the number of features of an economy."""
    return ECONOMY_SCALARS + 2 * len(rules.products)


def economy_features(rules: EconomyRules, state: State) -> npt.NDArray[np.float32]:
    """Return ``(n, n_features)`` ore, supply, and finished and unfinished numbers of products.

    Ore comes twice: the whole stock, and the remainder above the attribute ``ore``.
    """
    n = len(state)
    used, given = state.supply(rules)
    features = np.empty((n, n_economy_features(rules)), np.float32)
    features[:, 0] = np.minimum(state.ore / (ORE_UNIT * ORE_LEVELS), 1.0)
    features[:, 1] = (state.ore % ORE_UNIT) / ORE_UNIT
    features[:, 2] = used / 20
    features[:, 3] = np.minimum((given - used) / 10, 1.0)
    finished, begun = np.split(features[:, ECONOMY_SCALARS:], 2, axis=1)
    finished[:] = state.done / rules.caps
    begun[:] = (state.counts - state.done) / rules.caps
    return features


def unit_features(rules: EconomyRules, state: State, spots: BoolArray) -> npt.NDArray[np.float32]:
    """Return ``(n, n_slots, n_features)`` features of units; zeros for empty slots.

    Kind and job as one-hot codes; steps left; cargo; whether there is a building site in reach
    (``spots``, of the SCVs); whether the unit is the first of its kind that can take an order,
    which lets equal units act differently; relative positions of command centre and own patch.
    """
    n, n_scvs, n_kinds = len(state), rules.n_scvs, len(Kind)
    features = np.zeros((n, rules.n_slots, n_unit_features()), np.float32)
    features[:, :, :n_kinds] = np.eye(n_kinds, dtype=np.float32)[rules.kinds]
    features[:, :, n_kinds:-UNIT_SCALARS] = _JOB_WORDS[state.jobs]
    scalars = features[:, :, -UNIT_SCALARS:]
    scalars[:, :, 0] = state.left / rules.steps.max()
    scalars[:, :, 1] = state.cargo
    scalars[:, :n_scvs, 2] = spots
    scalars[:, :, 3] = _first_of_kind(rules, state)
    scalars[:, :, 4:6] = (CENTRE - state.cells) / CENTRE
    patches = rules.patches[state.sides[:, None], np.arange(n_scvs) % rules.patches.shape[1]]
    scalars[:, :n_scvs, 6:8] = (patches - state.cells[:, :n_scvs]) / (2 * CENTRE)
    features *= state.present[:, :, None]
    return features


_JOB_WORDS = np.eye(len(Job), dtype=np.float32)
_IS_LEAVABLE = np.isin(np.array(list(Job)), LEAVABLE)


def takes_orders(state: State) -> BoolArray:
    """Return ``(n, n_slots)`` whether there is a unit that can take a new order."""
    free: BoolArray = state.present & _IS_LEAVABLE[state.jobs]
    return free


def _first_of_kind(rules: EconomyRules, state: State) -> BoolArray:
    free = takes_orders(state)
    first = np.zeros_like(free)
    for kind in Kind:
        own = rules.kinds == kind
        first[:, own] = free[:, own] & (np.cumsum(free[:, own], axis=1) == 1)
    return first
