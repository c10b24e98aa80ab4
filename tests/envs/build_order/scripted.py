"""A build order played by hand: workers first, then what the goal lacks, dearest first."""

from __future__ import annotations

import numpy as np

from gym_attrplan.envs.build_order.rules import FIRST_ORDER, MINE, WAIT

N_WORKERS = 8


def orders(rules, observation):
    """An action for every slot of one economy."""
    goal, attributes = observation["desired_goal"], observation["achieved_goal"]
    mask, wanted = observation["action_mask"], next_product(rules, goal, attributes)
    actions = np.full(rules.n_slots, WAIT)
    actions[mask[:, MINE] == 1] = MINE
    if wanted is not None:
        able = np.flatnonzero(mask[:, FIRST_ORDER + wanted])
        actions[able[:1]] = FIRST_ORDER + wanted
    return actions


def next_product(rules, goal, attributes):
    """The product to save up for: None once everything is there."""
    lacking = np.maximum(goal - attributes, 0)[1:]
    names = [one.name for one in rules.products]
    supply = 10 + 8 * goal[1 + names.index("depot")] - goal[1 + names.index("marine")]
    lacking[0] = max(min(N_WORKERS, supply) - int(attributes[1]), 0)
    plan = ["scv", "barracks", "engineering_bay", "depot", "turret", "marine"]
    missing = [names.index(name) for name in plan if name in names and lacking[names.index(name)]]
    return missing[0] if missing else None
