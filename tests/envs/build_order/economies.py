"""Economies worked out by hand, for the tests of the build order."""

from __future__ import annotations

import numpy as np

from gym_attrplan.envs.build_order import Economy, EconomyRules, Starts

CENTRE, BARRACKS = 10, 11
"""Slots of the command centre and of the first barracks."""


def begin(version="small", *, cells=((16, 16),) * 4, ore=50, side=0):
    """An economy with the minerals in the east, and SCVs in the command centre's cell."""
    start = Starts(np.array([side]), np.array([cells], np.int16))
    economy = Economy(EconomyRules(version), start)
    economy.ore = ore
    return economy


def act(economy, n_steps=1, **orders):
    """Give orders by slot, ``s0="mine"``, in one step; let the others pass."""
    numbers = {int(slot[1:]): economy.rules.actions.index(name) for slot, name in orders.items()}
    economy.step(numbers)
    for _ in range(n_steps - 1):
        economy.step({})


def words(**orders):
    """``s0="build_depot"`` → keyword arguments with the actions' own names."""
    return {slot: name.replace("_", " ", 1) for slot, name in orders.items()}


def legal(economy, slot):
    """The names of what a unit can be told."""
    return {name for name, ok in zip(economy.rules.actions, economy.legal(slot), strict=True) if ok}
