"""RoomEnv: base class of the two MiniGrid environments."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Wall
from minigrid.minigrid_env import MiniGridEnv

from gym_attrplan.envs.grids.layout import Rooms
from gym_attrplan.envs.grids.objects import RoomObject
from gym_attrplan.envs.grids.rules import N_MOVES, CraftingRules, SwitchesRules
from gym_attrplan.envs.grids.views import VIEW_TILE, check_view, room_space
from gym_attrplan.envs.grids.words import PADDING, WALL, surrounding_words
from gym_attrplan.wrappers import GoalSampler

Rules = TypeVar("Rules", bound=SwitchesRules | CraftingRules)
Array = npt.NDArray[Any]

_ARROWS = ">v<^"


class RoomEnv(MiniGridEnv, Generic[Rules]):
    """Room in which an agent walks. Wrappers add rewards, goals and step limits.

    ``reset(options={"room": room})`` sets a given room, a :class:`Rooms` of one, instead of a
    random one.

    Args:
        rules: The game.
        obs_type: ``"words"``, ``"multi_hot"`` or ``"rgb"``.
        render_mode: ``"human"``, ``"rgb_array"``, ``"ansi"`` or None.
    """

    metadata = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012
    agent_pos: tuple[int, int]

    def __init__(
        self, rules: Rules, *, obs_type: str = "words", render_mode: str | None = None
    ) -> None:
        check_view(obs_type, render_mode, render_modes=self.metadata["render_modes"])
        super().__init__(
            mission_space=MissionSpace(mission_func=_mission),
            grid_size=rules.size,
            highlight=False,  # the whole room is seen
            render_mode=render_mode,
        )
        self.rules = rules
        self.obs_type = obs_type
        self.actions = rules.actions  # type: ignore[assignment]  # MiniGrid's are turns and drops
        self.action_space = spaces.Discrete(len(rules.actions))
        self.observation_space = room_space(rules, obs_type)
        self._given_room: Rooms | None = None

    def reset(  # type: ignore[override]  # MiniGrid uses an unbound type variable
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin in a new random room, or in ``options["room"]``.

        Raises:
            InvalidEnvironment: If the given room does not fit the layout.
        """
        self._given_room = (options or {}).get("room")
        if self._given_room is not None:
            self.rules.layout.check(self._given_room, 1)
        observation: Array
        observation, info = super().reset(seed=seed)
        return observation, info

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task."""
        return self.rules.sampler(task)

    def step(  # type: ignore[override]  # as above
        self, action: Any
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move, or act on the object in the agent's cell."""
        n_actions = len(self.rules.actions)
        if not 0 <= action < n_actions:
            raise gym.error.InvalidAction(f"actions are 0 to {n_actions - 1}; received {action!r}.")
        self.step_count += 1
        if action < N_MOVES:
            self._move(int(action))
        else:
            self._act(int(action), self.grid.get(*self.agent_pos))
        if self.render_mode == "human":
            self.render()
        return self.gen_obs(), 0.0, False, False, {}

    @property
    @abstractmethod
    def attributes(self) -> npt.NDArray[np.int8]:
        """The current attributes."""

    @abstractmethod
    def attribute_tile(self, number: int, value: int) -> RoomObject | None:
        """Return the tile of an attribute's value in the goal panel; None for nothing."""

    def gen_obs(self) -> Array:
        """Return the observation, a new array."""
        if self.obs_type == "rgb":
            return self.get_full_render(self.highlight, VIEW_TILE)
        words = np.array(self._words(), self.rules.vocabulary.dtype)
        return (
            words if self.obs_type == "words" else self.rules.vocabulary.multi_hot(words[None])[0]
        )

    def get_full_render(self, highlight: bool, tile_size: int) -> npt.NDArray[np.uint8]:
        """Draw the room from above, without MiniGrid's computation of the agent's view."""
        image: npt.NDArray[np.uint8] = self.grid.render(tile_size, self.agent_pos, self.agent_dir)
        return image

    def render(self) -> Any:
        """Return the result of the render mode: a window, an image or text."""
        return self.text() if self.render_mode == "ansi" else super().render()  # type: ignore[no-untyped-call]

    def text(self) -> str:
        """Return the room as text: ``#`` walls, two letters per object, an arrow for the agent."""
        rows = []
        for y in range(self.height):
            cells = [self._cell_text(x, y) for x in range(self.width)]
            rows.append("".join(cells).rstrip())
        return "\n".join(rows)

    # --- defined by a game ------------------------------------------------------------------

    @abstractmethod
    def _place_objects(self, room: Rooms) -> None:
        """Put the objects of a room, a batch of one, into the grid."""

    @abstractmethod
    def _act(self, action: int, below: Any) -> None:
        """Do an action that is not a move, on the object in the agent's cell (None for nothing)."""

    @abstractmethod
    def _facts(self) -> list[int]:
        """Return the words without a place."""

    # --- helpers ----------------------------------------------------------------------------

    def _gen_grid(self, width: int, height: int) -> None:
        """Build the room, as MiniGrid's hook."""
        room = self._given_room or self.rules.layout.generate(1, self.np_random)
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for cell in room.walls[0].tolist():
            self.put_obj(Wall(), *self._position(cell))
        self._place_objects(room)
        self.agent_pos = self._position(int(room.agents[0]))
        self.agent_dir = 0
        self.room = room

    def _position(self, cell: int) -> tuple[int, int]:
        """Return a cell's column and row."""
        return cell % self.width, cell // self.width

    def _move(self, direction: int) -> None:
        self.agent_dir = direction
        x, y = self.front_pos.tolist()
        ahead = self.grid.get(x, y)
        if ahead is None or ahead.can_overlap():
            self.agent_pos = (x, y)

    def _words(self) -> list[int]:
        """Return objects by number, obstacles from top left, the outer wall, and the facts."""
        place = self.rules.vocabulary.place
        x, y = self.agent_pos
        objects, walls = [PADDING] * self.rules.layout.n_objects, []
        for row in range(1, self.height - 1):
            first = row * self.width
            for column, cell in enumerate(self.grid.grid[first + 1 : first + self.width - 1], 1):
                if cell is None:
                    continue
                if isinstance(cell, RoomObject):
                    objects[cell.number] = place(1 + cell.number, column - x, row - y)
                else:
                    walls.append(place(WALL, column - x, row - y))
        last = self.width - 1
        around = surrounding_words(self.rules.vocabulary, last - x, last - y, -x, -y)
        return [*objects, *walls, *around, *self._facts()]

    def _cell_text(self, x: int, y: int) -> str:
        cell = self.grid.get(x, y)
        agent = _ARROWS[self.agent_dir] if (x, y) == self.agent_pos else " "
        if isinstance(cell, RoomObject):
            return agent + cell.symbol
        return "###" if cell is not None else f"{agent}· "


def _mission() -> str:
    return "make the attributes match the goal"
