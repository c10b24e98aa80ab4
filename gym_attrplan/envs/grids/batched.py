"""The batched versions of both games: many rooms at once, in numpy.

A test checks that they agree with the MiniGrid environments, step by step.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.batch import Array, BatchEnv, BoolArray, IntArray, Seeds
from gym_attrplan.envs.grids.layout import RoomPool, Rooms
from gym_attrplan.envs.grids.rules import (
    N_MOVES,
    CraftingActions,
    CraftingRules,
    SwitchesActions,
    SwitchesRules,
)
from gym_attrplan.envs.grids.views import N_SIDES, VIEW_TILE, check_view, room_space
from gym_attrplan.envs.grids.words import WALL, PlaceWords
from gym_attrplan.wrappers import GoalSampler

if TYPE_CHECKING:
    from gym_attrplan.envs.grids.objects import Atlas  # needs MiniGrid, which only images do

Step = tuple[Array, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]
Rules = TypeVar("Rules", bound=SwitchesRules | CraftingRules)


class GridVectorEnv(BatchEnv[Array], Generic[Rules]):
    """Rooms in which agents walk; subclasses define the other actions.

    Resets without a seed draw many rooms in advance, which makes them fast.
    ``reset(options={"rooms": rooms})`` sets given rooms; see :class:`BatchEnv` for the other
    options.

    Args:
        rules: The game.
        num_envs: Number of rooms.
        obs_type: ``"words"``, ``"multi_hot"`` or ``"rgb"``.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.
        render_mode: ``"rgb_array"`` or None.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        num_envs: int,
        obs_type: str = "words",
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_view(obs_type, render_mode, render_modes=("rgb_array",))
        super().__init__(
            room_space(rules, obs_type),
            spaces.Discrete(len(rules.actions)),
            num_envs=num_envs,
            max_episode_steps=max_episode_steps,
            render_mode=render_mode,
        )
        self.rules = rules
        self.obs_type = obs_type
        self._prepare(rules)

    def _prepare(self, rules: Rules) -> None:
        """Allocate constant tables and the state."""
        layout, n = rules.layout, self.num_envs
        features = [*range(1, 1 + layout.n_objects), *[WALL] * layout.n_walls]
        self._place_words = PlaceWords(rules.vocabulary, features)
        self._moves = np.zeros(len(rules.actions), np.int64)
        self._moves[:N_MOVES] = 1, layout.size, -1, -layout.size
        self._atlases: dict[int, Atlas] = {}
        self._rows = np.arange(n)
        self._walled = np.zeros((n, layout.size**2), np.bool_)
        self._object_at = np.zeros((n, layout.size**2), np.int16)
        self._at_rest = np.zeros((n, len(features)), rules.vocabulary.dtype)
        self._facing = np.zeros(n, np.int64)
        self._agents = np.zeros(n, np.int64)
        self.attributes: npt.NDArray[np.int8] = np.zeros((n, len(rules.attributes)), np.int8)
        self._pool = RoomPool(layout, self.np_random)
        self._rooms = self._pool.take(n)
        self._enter(self._rooms, np.ones(n, np.bool_))

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes in all rooms, or in those in ``options["reset_mask"]``.

        Raises:
            InvalidEnvironment: If the number of seeds, marks or given rooms is wrong.
        """
        options = options or {}
        mask = self._checked_mask(options)
        rooms = options.get("rooms")
        if rooms is None:
            rooms = self._draw_rooms(seed, np.flatnonzero(mask))
        self.rules.layout.check(rooms, int(mask.sum()))
        self._enter(rooms, mask)
        return self._observe(), {}

    def step(self, actions: IntArray) -> Step:
        """Act in every room. Rewards are 0, since goals are not known here."""
        actions = self._checked_actions(actions)
        targets = self._agents + self._moves[actions]
        self._agents = np.where(self._walled[self._rows, targets], self._agents, targets)
        self._facing = np.where(actions < N_MOVES, actions, self._facing)
        self._act(actions)
        return self._observe(), *self._outcome()

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task."""
        return self.rules.sampler(task)

    def render(self) -> tuple[Array, ...] | None:
        """Return an image of every room, or None without a render mode."""
        if self.render_mode is None:
            return None
        from minigrid.core.constants import TILE_PIXELS

        return tuple(self._images(TILE_PIXELS))

    @property
    def rooms(self) -> Rooms:
        """The rooms in which the current episodes began; a copy."""
        return self._rooms[self._rows]

    # --- defined by a game ------------------------------------------------------------------

    @abstractmethod
    def _act(self, actions: IntArray) -> None:
        """Do actions that are not moves, after all moves."""

    @abstractmethod
    def _write_facts(self, words: Array) -> None:
        """Fill the last words, which have no place, and remove objects that are not in the room."""

    @abstractmethod
    def _object_tiles(self) -> IntArray:
        """Return ``(n_envs, n_objects)`` numbers of the objects' tiles in the atlas."""

    # --- helpers ----------------------------------------------------------------------------

    def _draw_rooms(self, seed: Seeds, rows: IntArray) -> Rooms:
        layout, rngs = self.rules.layout, self._generators(seed, rows)
        if rngs is None:
            return self._pool.take(len(rows))
        self._pool = RoomPool(layout, self.np_random)
        return Rooms.stack([layout.generate(1, rng) for rng in rngs])

    def _enter(self, rooms: Rooms, mask: BoolArray) -> None:
        """Set the marked environments to the given rooms."""
        layout = self.rules.layout
        self._rooms.put(mask, rooms)
        self._agents = np.where(mask, self._rooms.agents, self._agents)
        self._walled[mask] = layout.wall_map(rooms.walls)
        object_at = np.full((len(rooms), layout.size**2), -1, np.int16)
        numbers = np.arange(layout.n_objects, dtype=np.int16)
        np.put_along_axis(object_at, rooms.objects, numbers[None], axis=1)
        self._object_at[mask] = object_at
        cells = np.concatenate([rooms.objects, rooms.walls], axis=1)
        self._at_rest[mask] = self._place_words.at_rest(cells)
        self.attributes[mask] = rooms.states
        self._elapsed[mask] = 0
        self._facing[mask] = 0

    def _objects_below(self, actions: IntArray, action: int) -> tuple[IntArray, IntArray]:
        """Return the rows whose agents took the action on an object, and the objects' numbers."""
        rows = np.flatnonzero(actions == action)
        numbers = self._object_at[rows, self._agents[rows]].astype(np.int64)
        return rows[numbers >= 0], numbers[numbers >= 0]

    def _observe(self) -> Array:
        """Return a new array, so that earlier observations do not change."""
        if self.obs_type == "rgb":
            return self._images(VIEW_TILE)
        vocabulary, n_places = self.rules.vocabulary, self._at_rest.shape[1] + N_SIDES
        words = np.empty((self.num_envs, n_places + self.attributes.shape[1]), vocabulary.dtype)
        self._place_words.write(words[:, :n_places], self._at_rest, self._agents)
        self._write_facts(words)
        return words if self.obs_type == "words" else vocabulary.multi_hot(words)

    def _images(self, tile_size: int) -> Array:
        from gym_attrplan.envs.grids.objects import EMPTY_TILE, WALL_TILE, Atlas, object_tiles

        if tile_size not in self._atlases:
            self._atlases[tile_size] = Atlas(object_tiles(self.rules), tile_size)
        tiles = np.where(self._walled, WALL_TILE, EMPTY_TILE)
        np.put_along_axis(tiles, self._rooms.objects, self._object_tiles(), axis=1)
        return self._atlases[tile_size].draw(tiles, self._agents, self._facing)


class SwitchesVectorEnv(GridVectorEnv[SwitchesRules]):
    """The batched version of ``AttrSwitches-v0``, without goals.

    Example:
        >>> envs = SwitchesVectorEnv(SwitchesRules(), num_envs=1024, max_episode_steps=300)
        >>> words, _ = envs.reset(seed=0)
        >>> words.shape, [envs.rules.vocabulary.describe(word) for word in words[0, [0, -4]]]
        ((1024, 16), ['switch 1 at (0, 5)', 'switch 1=yellow'])
    """

    def _act(self, actions: IntArray) -> None:
        rows, switches = self._objects_below(actions, SwitchesActions.toggle)
        turned = self.attributes[rows, switches] + 1
        self.attributes[rows, switches] = turned % self.rules.n_colors

    def _write_facts(self, words: Array) -> None:
        np.add(self.rules.fact_words, self.attributes, out=words[:, -self.rules.n_switches :])

    def _object_tiles(self) -> IntArray:
        first = self.rules.n_colors * np.arange(self.rules.n_switches)
        tiles: IntArray = first + self.attributes
        return tiles


class CraftingVectorEnv(GridVectorEnv[CraftingRules]):
    """The batched version of ``AttrCrafting-v0``, without goals."""

    def _act(self, actions: IntArray) -> None:
        inventory, n_resources = self.attributes, len(self.rules.resources)
        rows, numbers = self._objects_below(actions, CraftingActions.grab)
        grabbed = numbers < n_resources
        inventory[rows[grabbed], numbers[grabbed]] = 1
        rows, numbers = self._objects_below(actions, CraftingActions.craft)
        at_table = numbers >= n_resources
        rows, numbers = rows[at_table], numbers[at_table]
        needs = self.rules.needs[numbers - n_resources]
        can = (inventory[rows] >= needs).all(axis=1) & (inventory[rows, numbers] == 0)
        rows, numbers = rows[can], numbers[can]
        inventory[rows, numbers] = 1
        if self.rules.consume:
            inventory[rows] -= needs[can]

    def _write_facts(self, words: Array) -> None:
        n_items = len(self.rules.items)
        np.multiply(self.rules.fact_words, self.attributes, out=words[:, -n_items:])
        n_resources = len(self.rules.resources)
        words[:, :n_resources] *= 1 - self.attributes[:, :n_resources]

    def _object_tiles(self) -> IntArray:
        tiles: IntArray = 2 * np.arange(len(self.rules.items)) + self.attributes
        return tiles
