"""Attributes of Crafter: what happens, what is in stock, and what the player stands before."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_attrplan.attributes.bins import Bins
from gym_attrplan.attributes.space import FREE, AttributeSpace, IntArray

N_ACHIEVEMENTS = 22
"""Number of achievements, which are the first attributes."""

PICKAXES = ("none", "wood", "stone", "iron")
NEAR = ("nothing", "table", "furnace", "both")
FACING = (
    "nothing",
    "water",
    "tree",
    "stone",
    "coal",
    "iron",
    "diamond",
    "cow",
    "zombie",
    "skeleton",
    "plant-ripe",
)
"""What the action ``do`` has an effect on; everything else is ``nothing``."""

STOCKS: dict[str, Bins | int] = {
    "wood": Bins([1, 2, 5], names=["none", "one", "2 to 4", "5 or more"]),
    "stone": Bins([1, 4], names=["none", "1 to 3", "4 or more"]),
    "coal": 2,
    "iron": 2,
    "sapling": 2,
}
"""Amounts that make a difference: a table takes 2 of wood, a furnace 4 of stone."""


class CrafterAttributes:
    """Attributes of Crafter.

    - The 22 achievements, such as ``collect_wood``: each holds in the step in which it happens. So
      it can be asked for at any time, and again, and descriptions do not grow with the past.
    - ``pickaxe``: the best one, which decides what can be collected.
    - ``wood``, ``stone``, ``coal``, ``iron``, ``sapling``: amounts in stock.
    - ``near``: whether a table, a furnace or both are near enough to make tools.
    - ``facing``: what is ahead of the player, if ``do`` has an effect on it.

    Health, food, drink and energy are left out. They multiply descriptions, and most of their
    changes happen by waiting. ``collect_drink``, ``eat_cow`` and ``wake_up`` raise them.

    Args:
        env: :class:`~gym_attrplan.envs.crafter.env.CrafterEnv`, wrapped or not.

    Example:
        >>> import gymnasium as gym, gym_attrplan
        >>> env = gym.make("AttrCrafter-v0").unwrapped
        >>> _ = env.reset(seed=0)
        >>> ready = CrafterAttributes(env)
        >>> now = dict(zip(ready.attribute_space.names, ready(env)))
        >>> now["collect_wood"], now["pickaxe"], now["wood"]
        (0, 0, 0)
    """

    def __init__(self, env: Any) -> None:
        self._achievements: tuple[str, ...] = env.unwrapped.achievement_names
        self.attribute_space = AttributeSpace(
            {
                **dict.fromkeys(self._achievements, 2),
                "pickaxe": list(PICKAXES),
                **STOCKS,
                "near": list(NEAR),
                "facing": list(FACING),
            }
        )

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """Return the current values of all attributes."""
        raw = env.unwrapped
        owned, happened, nearby, ahead = raw.inventory, raw.just_done, raw.nearby, raw.facing
        pickaxes = [i for i, name in enumerate(PICKAXES) if owned.get(f"{name}_pickaxe")]
        return [
            *(int(name in happened) for name in self._achievements),
            max(pickaxes, default=0),
            *(_amount(owned[name], levels) for name, levels in STOCKS.items()),
            ("table" in nearby) + 2 * ("furnace" in nearby),
            FACING.index(ahead) if ahead in FACING else 0,
        ]


def draw_achievements(achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
    """Draw one achievement as the goal of each episode: a goal sampler.

    Example:
        >>> starts = np.zeros((2, 31), np.int8)
        >>> (draw_achievements(starts, np.random.default_rng(0)) == 1).sum(axis=1)
        array([1, 1])
    """
    goals = np.full_like(achieved, FREE)
    goals[np.arange(len(goals)), rng.integers(N_ACHIEVEMENTS, size=len(goals))] = 1
    return goals


def _amount(n: int, levels: Bins | int) -> int:
    return int(n > 0) if isinstance(levels, int) else sum(n >= edge for edge in levels.edges)
