"""The rules of the two games: contents of rooms, attributes, and recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.goals import read_task
from gym_attrplan.envs.grids.layout import Layout
from gym_attrplan.envs.grids.tasks import HaveItem, SwitchTargets
from gym_attrplan.envs.grids.words import Vocabulary
from gym_attrplan.error import InvalidEnvironment, did_you_mean

N_MOVES = 4
"""Number of moves, the first actions of every game, numbered as MiniGrid's directions."""

COLORS = ("red", "green", "blue", "yellow", "purple", "orange", "cyan", "white")
"""Colours of switches, in the order of toggling."""

RESOURCES = ("wood", "stone", "iron")
RECIPES: Mapping[str, Sequence[str]] = {
    "axe": ("wood", "stone"),
    "sword": ("wood", "iron"),
    "plank": ("wood", "axe"),
}
"""Default recipes: with ingredients kept, they give the paper's 16 inventories and 25 edges."""


class SwitchesActions(IntEnum):
    """Actions in a room with switches."""

    right = 0
    down = 1
    left = 2
    up = 3
    toggle = 4


class CraftingActions(IntEnum):
    """Actions in a room with resources and tables."""

    right = 0
    down = 1
    left = 2
    up = 3
    grab = 4
    craft = 5


@dataclass(frozen=True)
class SwitchesRules:
    """Switches in a room; toggling a switch changes it to its next colour.

    Args:
        size: Side of the room, including the surrounding wall.
        n_switches: Number of switches.
        n_colors: Number of colours of each switch.
        n_walls: Number of obstacles.

    Raises:
        InvalidEnvironment: On a number out of range, or more than the room can hold.

    Example:
        >>> rules = SwitchesRules(n_switches=2, n_colors=3)
        >>> rules.attributes
        {'switch 1': ['red', 'green', 'blue'], 'switch 2': ['red', 'green', 'blue']}
    """

    size: int = 8
    n_switches: int = 4
    n_colors: int = 4
    n_walls: int = 4

    actions: ClassVar[type[IntEnum]] = SwitchesActions

    def __post_init__(self) -> None:
        if self.n_switches < 1:
            raise InvalidEnvironment(f"n_switches must be at least 1; received {self.n_switches}.")
        if not 2 <= self.n_colors <= len(COLORS):
            raise InvalidEnvironment(
                f"n_colors must be 2 to {len(COLORS)}; received {self.n_colors}."
            )
        _ = self.layout  # raises now, not at the first reset, if the contents do not fit the room

    @cached_property
    def layout(self) -> Layout:
        """The layout of the room."""
        return Layout(self.size, self.n_switches, self.n_walls, n_states=self.n_colors)

    @property
    def objects(self) -> tuple[str, ...]:
        """The switches' names."""
        return tuple(f"switch {i + 1}" for i in range(self.n_switches))

    @property
    def colors(self) -> tuple[str, ...]:
        """The colours, in the order of toggling."""
        return COLORS[: self.n_colors]

    @property
    def attributes(self) -> dict[str, list[str]]:
        """Arguments of :class:`~gym_attrplan.AttributeSpace`: each switch's colours."""
        return {name: list(self.colors) for name in self.objects}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of a room; fact ``n_colors * i + c`` means that switch i has colour c."""
        facts = tuple(f"{name}={color}" for name in self.objects for color in self.colors)
        return Vocabulary(self.size, self.objects, facts)

    @cached_property
    def fact_words(self) -> npt.NDArray[Any]:
        """``(n_switches,)`` the word for each switch's first colour; those of the others follow."""
        first = [self.vocabulary.fact(self.n_colors * i) for i in range(self.n_switches)]
        return np.array(first, self.vocabulary.dtype)

    def sampler(self, task: str) -> SwitchTargets:
        """Return the goals of a task: ``targets``, or by toggles ``targets<=3``, ``targets==3``."""
        fewest, most = read_task(task, "targets", self.n_switches * (self.n_colors - 1))
        return SwitchTargets(self.n_colors, min_toggles=fewest, max_toggles=most)


@dataclass(frozen=True)
class CraftingRules:
    """Resources to grab, and a table for each product at which to craft it.

    An inventory holds at most one of each item. A resource lies in its cell exactly while it is
    not in the inventory: with ``consume=True``, used resources grow back.

    Args:
        recipes: Product → ingredients, which are resources or other products.
        resources: Names of the resources in the room.
        consume: Whether crafting uses up the ingredients.
        size: Side of the room, including the surrounding wall.
        n_walls: Number of obstacles.

    Raises:
        InvalidEnvironment: On an unknown ingredient, a cycle, a name given twice, or more items
            than the room can hold.

    Example:
        >>> recipes = {"paper": ["reed"], "book": ["paper", "leather"]}
        >>> rules = CraftingRules(recipes, resources=("reed", "leather"))
        >>> rules.items, [rules.depth(item) for item in rules.items]
        (('reed', 'leather', 'paper', 'book'), [0, 0, 1, 2])
    """

    recipes: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(RECIPES))
    resources: Sequence[str] = RESOURCES
    consume: bool = False
    size: int = 8
    n_walls: int = 4

    actions: ClassVar[type[IntEnum]] = CraftingActions

    def __post_init__(self) -> None:
        if not self.recipes or not self.resources:
            raise InvalidEnvironment(
                "crafting needs at least one resource and one recipe; received "
                f"resources={list(self.resources)}, recipes={dict(self.recipes)}."
            )
        for name in self.items:
            if self.items.count(name) > 1:
                raise InvalidEnvironment(f"an item is one resource or product; {name!r} is two.")
        for product, ingredients in self.recipes.items():
            self._check_recipe(product, ingredients)
        for product in self.recipes:
            self._check_no_cycle(product, ())
        _ = self.layout  # raises now, not at the first reset, if the contents do not fit the room

    @cached_property
    def layout(self) -> Layout:
        """The layout of the room: the resources, then a table for each product."""
        return Layout(self.size, len(self.items), self.n_walls)

    @property
    def items(self) -> tuple[str, ...]:
        """Resources, then products: the order of the attributes and of the objects in a room."""
        return (*self.resources, *self.recipes)

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects in a room."""
        return (*self.resources, *(f"{product} table" for product in self.recipes))

    @property
    def attributes(self) -> dict[str, int]:
        """Arguments of :class:`~gym_attrplan.AttributeSpace`: which items are in the inventory."""
        return dict.fromkeys(self.items, 2)

    @cached_property
    def needs(self) -> npt.NDArray[np.int8]:
        """``(n_products, n_items)`` 1 for each ingredient of each product."""
        rows = [
            [item in ingredients for item in self.items] for ingredients in self.recipes.values()
        ]
        return np.array(rows, np.int8)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of a room; fact i means that item i is in the inventory."""
        return Vocabulary(self.size, self.objects, tuple(f"have {item}" for item in self.items))

    @cached_property
    def fact_words(self) -> npt.NDArray[Any]:
        """``(n_items,)`` the word for having each item; there is none for not having it."""
        words = [self.vocabulary.fact(i) for i in range(len(self.items))]
        return np.array(words, self.vocabulary.dtype)

    def depth(self, item: str) -> int:
        """Return the number of consecutive crafts: 0 for resources, 1 for products of resources."""
        ingredients = self.recipes.get(item)
        return 0 if ingredients is None else 1 + max(map(self.depth, ingredients))

    def sampler(self, task: str) -> HaveItem:
        """Return the goals of a task: ``items``, or by depth ``items<=1``, ``items==2``."""
        depths = [self.depth(item) for item in self.items]
        fewest, most = read_task(task, "items", max(depths))
        return HaveItem(tuple(i for i, depth in enumerate(depths) if fewest <= depth <= most))

    def _check_recipe(self, product: str, ingredients: Any) -> None:
        if isinstance(ingredients, str) or not ingredients:
            raise InvalidEnvironment(
                f"a recipe is a list of ingredients; {product!r} has {ingredients!r}."
            )
        for name in ingredients:
            if name not in self.items:
                raise InvalidEnvironment(
                    f"the recipe of {product!r} names {name!r}, neither resource nor product. "
                    f"{did_you_mean(name, self.items)} Or add it to the resources or recipes."
                )

    def _check_no_cycle(self, item: str, above: tuple[str, ...]) -> None:
        if item in above:
            cycle = " needs ".join((*above[above.index(item) :], item))
            raise InvalidEnvironment(f"recipes must not go round in a cycle: {cycle}. Break it.")
        for ingredient in self.recipes.get(item, ()):
            self._check_no_cycle(ingredient, (*above, item))
