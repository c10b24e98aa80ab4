"""EconomyBatch: the rules of :class:`Economy` for many economies at once, in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.build_order.rules import (
    CARGO,
    CENTRE,
    FIRST_ORDER,
    MAP_SIZE,
    MINE,
    MOVES,
    REACH,
    WAIT,
    EconomyRules,
    IntArray,
    Job,
    Kind,
    Starts,
)
from gym_attrplan.envs.build_order.state import NONE, BoolArray, State, takes_orders
from gym_attrplan.envs.build_order.views import Observation, observe


class EconomyBatch:
    """n economies. A test checks that they agree with n :class:`Economy`, state by state.

    Args:
        rules: The version.
        starts: Their starts.

    Example:
        >>> batch = EconomyBatch(EconomyRules("small"), Starts.draw(3, np.random.default_rng(0)))
        >>> actions = np.zeros((3, 14), np.int64)
        >>> actions[1, 10] = batch.rules.actions.index("train scv")
        >>> batch.step(actions)
        >>> batch.state.ore.tolist(), batch.state.counts[:, 0].tolist()
        ([50, 0, 50], [4, 5, 4])
    """

    def __init__(self, rules: EconomyRules, starts: Starts) -> None:
        self.rules = rules
        self.state = State.begin(rules, starts)
        self._patch_of = np.arange(rules.n_scvs) % rules.patches.shape[1]
        self._moves = np.zeros((len(rules.actions), 2), np.int16)
        self._moves[1 : 1 + len(MOVES)] = rules.walk * MOVES
        self._makes = rules.kinds[:, None] == np.array([one.maker for one in rules.products])

    # --- what is allowed --------------------------------------------------------------------

    def observe(self) -> Observation:
        """Return the observations and action masks, in new arrays."""
        spots = self._spots()
        return observe(self.rules, self.state, spots, self._legal(spots))

    def _spots(self) -> BoolArray:
        """Return ``(n, n_scvs)`` whether each SCV has a free site in reach."""
        state = self.state
        free_sites = (state.sites == NONE) @ (1 << np.arange(state.sites.shape[1]))
        scvs = state.cells[:, : self.rules.n_scvs]
        near = self.rules.reach[state.sides[:, None], scvs[:, :, 0], scvs[:, :, 1]]
        spots: BoolArray = (near & free_sites[:, None]) != 0
        return spots

    def _legal(self, spots: BoolArray) -> npt.NDArray[np.int8]:
        """Return ``(n_envs, n_slots, n_actions)`` 1 for legal actions."""
        rules, state, n_scvs = self.rules, self.state, self.rules.n_scvs
        mask = np.zeros((len(self.state), rules.n_slots, len(rules.actions)), np.int8)
        mask[:, :, WAIT] = 1
        free = takes_orders(state)
        cells = state.cells[:, :n_scvs]
        mask[:, :n_scvs, 1:3] = (cells < MAP_SIZE - 1) & free[:, :n_scvs, None]
        mask[:, :n_scvs, 3:5] = (cells > 0) & free[:, :n_scvs, None]
        mask[:, :n_scvs, MINE] = free[:, :n_scvs] & (state.jobs[:, :n_scvs] == Job.IDLE)
        possible = self._possible()
        free[:, :n_scvs] &= spots
        mask[:, :, FIRST_ORDER:] = free[:, :, None] & possible[:, None] & self._makes
        return mask

    def _possible(self) -> BoolArray:
        """Return ``(n_envs, n_products)`` whether ore, supply, caps and the tech tree allow it."""
        rules, state = self.rules, self.state
        used, given = state.supply(rules)
        possible: BoolArray = (state.ore[:, None] >= rules.ore) & (state.counts < rules.caps)
        possible &= rules.supply <= (given - used)[:, None]
        possible &= (rules.requires < 0) | (state.done[:, rules.requires] > 0)
        return possible

    # --- a step -----------------------------------------------------------------------------

    def step(self, actions: IntArray) -> None:
        """Apply legal actions ``(n, n_slots)``, then advance the time by one step."""
        self._take_orders(actions)
        self._pass_time()

    def _take_orders(self, actions: IntArray) -> None:
        state, n_scvs = self.state, self.rules.n_scvs
        orders = actions[:, :n_scvs]
        jobs = state.jobs[:, :n_scvs]
        moves = self._moves[orders]
        state.cells[:, :n_scvs] = np.clip(state.cells[:, :n_scvs] + moves, 0, MAP_SIZE - 1)
        jobs[(orders > WAIT) & (orders < MINE)] = Job.IDLE
        to = np.where(state.cargo[:, :n_scvs], Job.RETURNING, Job.TO_PATCH)
        jobs[:] = np.where(orders == MINE, to, jobs)
        makes = actions >= FIRST_ORDER
        # One slot after another: an order's cost is not available to the units after it.
        for slot in np.flatnonzero(makes.any(axis=0)):
            rows = np.flatnonzero(makes[:, slot])
            self._begin(rows, int(slot), actions[rows, slot] - FIRST_ORDER)

    def _begin(self, rows: IntArray, slot: int, products: IntArray) -> None:
        """Start the products of one slot's units, where that is still possible."""
        state = self.state
        possible = self._possible_now(rows, products)
        sites = np.full(len(rows), NONE)
        if self.rules.kinds[slot] == Kind.SCV:
            sites, found = self._nearest_sites(rows, slot)
            possible &= found
        rows, products, sites = rows[possible], products[possible], sites[possible]
        state.ore[rows] -= self.rules.ore[products]
        state.counts[rows, products] += 1
        state.making[rows, slot] = products
        state.left[rows, slot] = self.rules.steps[products]
        state.site[rows, slot] = sites
        state.jobs[rows, slot] = Job.MAKING
        if self.rules.kinds[slot] == Kind.SCV:
            state.jobs[rows, slot] = Job.TO_SITE
            state.sites[rows, sites] = products

    def _possible_now(self, rows: IntArray, products: IntArray) -> BoolArray:
        """Return what is still possible after earlier orders; the tech tree stays within a step."""
        rules, state = self.rules, self.state
        used, given = (one[rows] for one in state.supply(rules))
        possible: BoolArray = (
            (state.ore[rows] >= rules.ore[products])
            & (state.counts[rows, products] < rules.caps[products])
            & (rules.supply[products] <= given - used)
        )
        return possible

    def _nearest_sites(self, rows: IntArray, slot: int) -> tuple[IntArray, BoolArray]:
        """Return the nearest free site of each row's SCV, and whether it is in reach."""
        state = self.state
        away = np.abs(self.rules.sites[state.sides[rows]] - state.cells[rows, slot, None]).max(2)
        away[state.sites[rows] != NONE] = MAP_SIZE
        nearest = away.argmin(axis=1)
        return nearest, away[np.arange(len(rows)), nearest] <= REACH

    def _pass_time(self) -> None:
        state = self.state
        at_work = (state.jobs == Job.DRILLING) | (state.jobs == Job.MAKING)
        jobs = state.jobs[:, : self.rules.n_scvs]
        on_foot = (jobs == Job.TO_PATCH) | (jobs == Job.RETURNING) | (jobs == Job.TO_SITE)
        state.left -= at_work
        ended = at_work & (state.left == 0)
        drilled = ended & (state.jobs == Job.DRILLING)
        finished = ended & ~drilled
        state.jobs[drilled] = Job.RETURNING
        state.cargo |= drilled
        for slot in np.flatnonzero(finished.any(axis=0)):
            self._finish(np.flatnonzero(finished[:, slot]), int(slot))
        self._walk(on_foot)

    def _finish(self, rows: IntArray, slot: int) -> None:
        """Finish the products of one slot's units; those that can act get a slot of their own."""
        state, rules = self.state, self.rules
        products, sites = state.making[rows, slot], state.site[rows, slot]
        for name, kind in (("scv", Kind.SCV), ("barracks", Kind.BARRACKS)):
            number = [one.name for one in rules.products].index(name)
            made = products == number
            born, cells = rows[made], rules.sites[state.sides[rows], sites][made]
            slots = rules.first_slot(kind) + state.done[born, number]
            state.present[born, slots] = True
            state.cells[born, slots] = cells if kind == Kind.BARRACKS else CENTRE
        state.done[rows, products] += 1
        on_site = sites != NONE
        state.built[rows[on_site], sites[on_site]] = True
        state.jobs[rows, slot] = Job.IDLE
        state.making[rows, slot] = state.site[rows, slot] = NONE

    def _walk(self, on_foot: BoolArray) -> None:
        """Move walkers towards the patch, the command centre or the site, and let them arrive."""
        state, rules, n_scvs = self.state, self.rules, self.rules.n_scvs
        jobs, cells = state.jobs[:, :n_scvs], state.cells[:, :n_scvs]
        targets = rules.patches[state.sides[:, None], self._patch_of]
        targets[jobs == Job.RETURNING] = CENTRE
        rows, slots = np.nonzero(jobs == Job.TO_SITE)
        targets[rows, slots] = rules.sites[state.sides[rows], state.site[rows, slots]]
        way = np.clip(targets - cells, -rules.walk, rules.walk)
        cells += way * on_foot[:, :, None]
        arrived = on_foot & (cells == targets).all(axis=2)
        home = arrived & (jobs == Job.RETURNING)
        state.ore += CARGO * home.sum(axis=1)
        state.cargo[:, :n_scvs] &= ~home
        at_patch = arrived & (jobs == Job.TO_PATCH)
        jobs[home] = Job.TO_PATCH
        jobs[arrived & (jobs == Job.TO_SITE)] = Job.MAKING
        self._drill(at_patch)

    def _drill(self, at_patch: BoolArray) -> None:
        """Let SCVs at their patches drill; SCVs at an occupied patch wait."""
        n_scvs, n_patches = self.rules.n_scvs, self.rules.patches.shape[1]
        jobs = self.state.jobs[:, :n_scvs]
        left = self.state.left[:, :n_scvs]
        taken = np.zeros((len(self.state), n_patches), np.bool_)
        # SCVs whose numbers differ by the number of patches share a patch.
        groups = [
            slice(first, min(first + n_patches, n_scvs)) for first in range(0, n_scvs, n_patches)
        ]
        for group in groups:
            drilling = jobs[:, group] == Job.DRILLING
            taken[:, : drilling.shape[1]] |= drilling
        for group in groups:
            busy = taken[:, : group.stop - group.start]
            begin = at_patch[:, group] & ~busy
            jobs[:, group][begin] = Job.DRILLING
            left[:, group][begin] = self.rules.drill_steps
            busy |= begin
