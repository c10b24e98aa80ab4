"""Economy: the rules, unit by unit. A test checks that the batched version agrees with it.

A step has two halves. First every unit takes its order, in the order of the slots. The cost of an
order is not available to the units after it. An order that cannot be carried out is refused and
costs nothing. Then the time advances: work continues, walkers walk, and finished products appear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.build_order.rules import (
    CARGO,
    CENTRE,
    CENTRE_SUPPLY,
    FIRST_ORDER,
    LEAVABLE,
    MAP_SIZE,
    MINE,
    MOVES,
    REACH,
    START_ORE,
    START_SCVS,
    WAIT,
    EconomyRules,
    Job,
    Kind,
    Product,
    Starts,
)
from gym_attrplan.envs.build_order.state import State
from gym_attrplan.error import InvalidEnvironment

Cell = tuple[int, int]
_CENTRE: Cell = (CENTRE, CENTRE)


@dataclass
class Building:
    """Building on a site."""

    product: int
    done: bool = False


@dataclass
class Unit:
    """An SCV, the command centre or a barracks."""

    slot: int
    kind: Kind
    cell: Cell
    job: Job = Job.IDLE
    making: int | None = None
    left: int = 0
    cargo: bool = False
    site: int | None = None


class Economy:
    """One economy.

    Args:
        rules: The version.
        start: Its start: a :class:`Starts` of one.

    Raises:
        InvalidEnvironment: If there is not one start.

    Example:
        >>> start = Starts.draw(1, np.random.default_rng(0))
        >>> economy = Economy(EconomyRules("small"), start)
        >>> economy.step({10: economy.rules.actions.index("train scv")})
        >>> economy.ore, economy.counts, economy.done
        (0, [5, 0, 0, 0], [4, 0, 0, 0])
    """

    def __init__(self, rules: EconomyRules, start: Starts) -> None:
        if len(start) != 1:
            raise InvalidEnvironment(f"needed: 1 start; received {len(start)}.")
        self.rules = rules
        self.side = int(start.sides[0])
        self.ore = START_ORE
        self.counts = [START_SCVS] + [0] * (len(rules.products) - 1)
        self.done = list(self.counts)
        cells = [_cell(cell) for cell in start.scvs[0]]
        units = [Unit(slot, Kind.SCV, cell) for slot, cell in enumerate(cells)]
        centre = Unit(rules.first_slot(Kind.CENTRE), Kind.CENTRE, _CENTRE)
        self.units = {unit.slot: unit for unit in [*units, centre]}
        self.patches = [_cell(cell) for cell in rules.patches[self.side]]
        self.sites = [_cell(cell) for cell in rules.sites[self.side]]
        self.buildings: dict[int, Building] = {}

    # --- what is allowed --------------------------------------------------------------------

    def legal(self, slot: int) -> npt.NDArray[np.int8]:
        """Return ``(n_actions,)`` 1 for actions that the unit can take; waiting is always legal."""
        mask = np.zeros(len(self.rules.actions), np.int8)
        mask[WAIT] = 1
        unit = self.units.get(slot)
        if unit is None or unit.job not in LEAVABLE:
            return mask
        if unit.kind == Kind.SCV:
            x, y = unit.cell
            mask[1 : 1 + len(MOVES)] = x < MAP_SIZE - 1, y < MAP_SIZE - 1, x > 0, y > 0
            mask[MINE] = unit.job == Job.IDLE
        mask[FIRST_ORDER:] = [self._can_make(unit, i) for i in range(len(self.rules.products))]
        return mask

    def _can_make(self, unit: Unit, number: int) -> bool:
        product = self.rules.products[number]
        required = int(self.rules.requires[number])
        return (
            product.maker == unit.kind
            and self.ore >= product.ore
            and self.counts[number] < product.cap
            and (required < 0 or self.done[required] > 0)
            and max(product.supply, 0) <= self.supply - self.supply_used
            and (unit.kind != Kind.SCV or self.nearest_site(unit) is not None)
        )

    @property
    def supply_used(self) -> int:
        """Supply of all units, including unfinished ones."""
        pairs = zip(self.rules.products, self.counts, strict=True)
        return sum(max(product.supply, 0) * count for product, count in pairs)

    @property
    def supply(self) -> int:
        """Supply that the command centre and the finished depots provide."""
        pairs = zip(self.rules.products, self.done, strict=True)
        return CENTRE_SUPPLY + sum(max(-product.supply, 0) * count for product, count in pairs)

    def nearest_site(self, unit: Unit) -> int | None:
        """Return the nearest free site in an SCV's reach."""
        away = {i: _distance(unit.cell, site) for i, site in enumerate(self.sites)}
        near = [i for i in away if away[i] <= REACH and i not in self.buildings]
        return min(near, key=lambda i: (away[i], i), default=None)

    def spots(self) -> npt.NDArray[np.bool_]:
        """Return ``(1, n_scvs)`` whether each SCV has a free site in reach; True for others."""
        scvs = [self.units.get(slot) for slot in range(self.rules.n_scvs)]
        return np.array([[scv is None or self.nearest_site(scv) is not None for scv in scvs]])

    # --- a step -----------------------------------------------------------------------------

    def step(self, actions: Mapping[int, int]) -> None:
        """Give orders to units by their slots, then advance the time by one step."""
        for slot in sorted(actions):
            self._take_order(slot, int(actions[slot]))
        at_work = [unit for unit in self.units.values() if unit.job in (Job.DRILLING, Job.MAKING)]
        on_foot = [unit for unit in self.units.values() if self._target(unit) is not None]
        for unit in sorted(at_work, key=lambda unit: unit.slot):
            self._work(unit)
        for unit in sorted(on_foot, key=lambda unit: unit.slot):
            self._walk(unit)

    def _take_order(self, slot: int, action: int) -> None:
        if action == WAIT or not self.legal(slot)[action]:
            return
        unit = self.units[slot]
        if action == MINE:
            unit.job = Job.RETURNING if unit.cargo else Job.TO_PATCH
        elif action < MINE:
            self._move(unit, MOVES[action - 1].tolist())
        else:
            self._begin(unit, action - FIRST_ORDER)

    def _move(self, unit: Unit, direction: Cell) -> None:
        """Walk in a direction for a step, up to the map's edge."""
        x, y = (
            min(max(at + self.rules.walk * way, 0), MAP_SIZE - 1)
            for at, way in zip(unit.cell, direction, strict=True)
        )
        unit.cell, unit.job = (x, y), Job.IDLE

    def _begin(self, unit: Unit, number: int) -> None:
        self.ore -= self.rules.products[number].ore
        self.counts[number] += 1
        unit.making, unit.left = number, int(self.rules.steps[number])
        unit.job = Job.MAKING
        if unit.kind == Kind.SCV:
            unit.job, unit.site = Job.TO_SITE, self.nearest_site(unit)
            assert unit.site is not None  # the order was legal
            self.buildings[unit.site] = Building(number)

    def _target(self, unit: Unit) -> Cell | None:
        """Return the cell that a unit is walking to."""
        if unit.job == Job.TO_PATCH:
            return self.patches[unit.slot % len(self.patches)]
        if unit.job == Job.RETURNING:
            return _CENTRE
        return self.sites[unit.site] if unit.job == Job.TO_SITE and unit.site is not None else None

    def _work(self, unit: Unit) -> None:
        unit.left -= 1
        if unit.left:
            return
        if unit.job == Job.DRILLING:
            unit.job, unit.cargo = Job.RETURNING, True
            return
        unit.job, number, unit.making = Job.IDLE, unit.making, None
        assert number is not None
        self._finish(unit, number)

    def _finish(self, maker: Unit, number: int) -> None:
        """Finish a product; if it can act, add a new unit."""
        product: Product = self.rules.products[number]
        born = {"scv": Kind.SCV, "barracks": Kind.BARRACKS}.get(product.name)
        if born is not None:
            slot = self.rules.first_slot(born) + self.done[number]
            cell = self.sites[maker.site] if maker.site is not None else _CENTRE
            self.units[slot] = Unit(slot, born, cell)
        self.done[number] += 1
        if maker.site is not None:
            self.buildings[maker.site].done = True
            maker.site = None

    def _walk(self, unit: Unit) -> None:
        """Walk straight or diagonally; obstacles cost no time."""
        target, walk = self._target(unit) or unit.cell, self.rules.walk
        x, y = (
            at + min(max(to - at, -walk), walk) for at, to in zip(unit.cell, target, strict=True)
        )
        unit.cell = (x, y)
        if unit.cell == target:
            self._arrive(unit)

    def _arrive(self, unit: Unit) -> None:
        if unit.job == Job.RETURNING:
            self.ore += CARGO
            unit.job, unit.cargo = Job.TO_PATCH, False
        elif unit.job == Job.TO_SITE:
            unit.job = Job.MAKING
        elif not self._is_drilled(unit.slot % len(self.patches)):
            unit.job, unit.left = Job.DRILLING, self.rules.drill_steps

    def _is_drilled(self, patch: int) -> bool:
        """Return whether an SCV drills at a patch, so that others wait."""
        return any(
            unit.job == Job.DRILLING and unit.slot % len(self.patches) == patch
            for unit in self.units.values()
        )

    # --- as arrays --------------------------------------------------------------------------

    def state(self) -> State:
        """Return the economy as a batch of one."""
        start = Starts(np.array([self.side]), np.zeros((1, START_SCVS, 2), np.int16))
        state = State.begin(self.rules, start)
        state.ore[0], state.counts[0], state.done[0] = self.ore, self.counts, self.done
        for slot, unit in self.units.items():
            state.present[0, slot] = True
            state.cells[0, slot] = unit.cell
            state.jobs[0, slot], state.left[0, slot] = unit.job, unit.left
            state.making[0, slot] = -1 if unit.making is None else unit.making
            state.site[0, slot] = -1 if unit.site is None else unit.site
            state.cargo[0, slot] = unit.cargo
        for site, building in self.buildings.items():
            state.sites[0, site], state.built[0, site] = building.product, building.done
        return state


def _cell(cell: npt.NDArray[np.int16]) -> Cell:
    return int(cell[0]), int(cell[1])


def _distance(one: Cell, other: Cell) -> int:
    """Return the number of steps of one cell, including diagonal ones."""
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))
