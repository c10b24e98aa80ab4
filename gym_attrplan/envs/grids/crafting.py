"""CraftingEnv: resources to grab and tables to craft at."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.grids.layout import Rooms
from gym_attrplan.envs.grids.objects import Resource, RoomObject, Table
from gym_attrplan.envs.grids.room import RoomEnv
from gym_attrplan.envs.grids.rules import CraftingActions, CraftingRules
from gym_attrplan.envs.grids.words import PADDING


class CraftingEnv(RoomEnv[CraftingRules]):
    """
    ## Description

    A room with resources to grab and a table for each product. Crafting at a table makes its
    product, if all ingredients are in the inventory and the product is not. The ingredients are
    kept; with `consume=True` they are used up, and resources that were used up grow back where they
    lay. The room and its obstacles are new in every episode, and everything can be walked to.

    ## Mission Space

    "make the attributes match the goal": the goal is in `desired_goal`, which
    `gym_attrplan.AttributeWrapper` adds.

    ## Action Space

    | Num | Name  | Action                                    |
    |-----|-------|-------------------------------------------|
    | 0   | right | Move right                                |
    | 1   | down  | Move down                                 |
    | 2   | left  | Move left                                 |
    | 3   | up    | Move up                                   |
    | 4   | grab  | Take the resource below the agent         |
    | 5   | craft | Make the product of the table below       |

    ## Observation Encoding

    - `words`: word numbers, 0 for none: each resource that is still there, each table and each
        obstacle at its place relative to the agent, the surrounding wall on the four sides, then
        each item in the inventory. `rules.vocabulary.describe(word)` reads them.
    - `multi_hot`: the same as one 0 or 1 for each word of the vocabulary.
    - `rgb`: the room from above, 8 pixels a cell; a table is lit while its product is in the
        inventory.

    ## Rewards

    None here; `AttributeWrapper` pays 1 when the goal is met.

    ## Termination

    When the goal is met, or after 300 steps.

    ## Registered Configurations

    - `AttrCrafting-v0`

    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    def _place_objects(self, room: Rooms) -> None:
        self._homes = [self._position(cell) for cell in room.objects[0].tolist()]
        owned = room.states[0].astype(bool).tolist()
        self._inventory = dict(zip(self.rules.items, owned, strict=True))
        for name, is_owned in list(self._inventory.items()):
            self._own(name, is_owned)

    def _act(self, action: int, below: Any) -> None:
        if action == CraftingActions.craft:
            if isinstance(below, Table):
                self._craft(below)
        elif isinstance(below, Resource) and not isinstance(below, Table):
            self._own(below.name, True)

    def _craft(self, table: Table) -> None:
        ingredients = self.rules.recipes[table.name]
        if self._inventory[table.name] or not all(self._inventory[one] for one in ingredients):
            return
        self._own(table.name, True)
        for name in ingredients if self.rules.consume else ():
            self._own(name, False)

    def _own(self, name: str, is_owned: bool) -> None:
        """Put an item into the inventory or take it out, and update its cell."""
        self._inventory[name] = is_owned
        number = self.rules.items.index(name)
        x, y = self._homes[number]
        if name in self.rules.recipes:
            self.put_obj(Table(number, name, made=is_owned), x, y)
        elif is_owned:
            self.grid.set(x, y, None)
        else:
            self.put_obj(Resource(number, name), x, y)

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_items,)`` 1 for each item in the inventory."""
        return np.array(list(self._inventory.values()), np.int8)

    def attribute_tile(self, number: int, value: int) -> RoomObject | None:
        """Return the item, if it is in the inventory."""
        return Resource(number, self.rules.items[number]) if value else None

    def _facts(self) -> list[int]:
        fact = self.rules.vocabulary.fact
        has = self._inventory.values()
        return [fact(i) if there else PADDING for i, there in enumerate(has)]
