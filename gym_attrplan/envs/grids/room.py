"""RoomEnv: what the two MiniGrid environments share. Agents act on what they stand on."""

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

from gym_attrplan.envs.grids.objects import RoomObject
from gym_attrplan.envs.grids.rules import N_MOVES, CraftingRules, SwitchesRules
from gym_attrplan.envs.grids.views import VIEW_TILE, check_view, room_space
from gym_attrplan.envs.grids.words import PADDING, WALL, surrounding_words
from gym_attrplan.envs.grids.worlds import Worlds
from gym_attrplan.wrappers import GoalSampler

Rules = TypeVar("Rules", bound=SwitchesRules | CraftingRules)
Array = npt.NDArray[Any]

_ARROWS = ">v<^"


class RoomEnv(MiniGridEnv, Generic[Rules]):
    """A room to walk about in. It pays nothing and never ends: goals and limits are wrapped around.

    ``reset(options={"world": world})`` sets up a given room, a :class:`Worlds` of one, instead of a
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
        self._given_world: Worlds | None = None

    def reset(  # type: ignore[override]  # MiniGrid names a type that is bound nowhere
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin in a new random room, or in ``options["world"]``.

        Raises:
            InvalidEnvironment: If the world given is not one of this layout.
        """
        self._given_world = (options or {}).get("world")
        if self._given_world is not None:
            self.rules.layout.check(self._given_world, 1)
        observation: Array
        observation, info = super().reset(seed=seed)
        return observation, info

    def sampler(self, task: str) -> GoalSampler:
        """What draws the goals of a task."""
        return self.rules.sampler(task)

    def step(  # type: ignore[override]  # as above
        self, action: Any
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Move, or act on what the agent stands on."""
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
        """The attributes now."""

    @abstractmethod
    def attribute_tile(self, number: int, value: int) -> RoomObject | None:
        """What an attribute's value looks like in the panel that shows the goal; None: nothing."""

    def gen_obs(self) -> Array:
        """The room as the agent sees it, a fresh array."""
        if self.obs_type == "rgb":
            return self.get_full_render(self.highlight, VIEW_TILE)
        words = np.array(self._words(), self.rules.vocabulary.dtype)
        return (
            words if self.obs_type == "words" else self.rules.vocabulary.multi_hot(words[None])[0]
        )

    def get_full_render(self, highlight: bool, tile_size: int) -> npt.NDArray[np.uint8]:
        """The room from above. MiniGrid would first work out what the agent sees: here, all."""
        picture: npt.NDArray[np.uint8] = self.grid.render(tile_size, self.agent_pos, self.agent_dir)
        return picture

    def render(self) -> Any:
        """What the render mode says: a window, a picture or text."""
        return self.text() if self.render_mode == "ansi" else super().render()  # type: ignore[no-untyped-call]

    def text(self) -> str:
        """The room as text: ``#`` walls, two letters for an object, an arrow for the agent."""
        rows = []
        for y in range(self.height):
            cells = [self._cell_text(x, y) for x in range(self.width)]
            rows.append("".join(cells).rstrip())
        return "\n".join(rows)

    # --- what a game adds -------------------------------------------------------------------

    @abstractmethod
    def _place_objects(self, world: Worlds) -> None:
        """Put the objects of a world of one room into the grid."""

    @abstractmethod
    def _act(self, action: int, below: Any) -> None:
        """Do what is not a move, to what the agent stands on (None for nothing)."""

    @abstractmethod
    def _facts(self) -> list[int]:
        """The words without a place."""

    # --- helpers ----------------------------------------------------------------------------

    def _gen_grid(self, width: int, height: int) -> None:
        """MiniGrid's hook for building the room."""
        world = self._given_world or self.rules.layout.generate(1, self.np_random)
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for cell in world.walls[0].tolist():
            self.put_obj(Wall(), *self._position(cell))
        self._place_objects(world)
        self.agent_pos = self._position(int(world.agents[0]))
        self.agent_dir = 0
        self.world = world

    def _position(self, cell: int) -> tuple[int, int]:
        """A cell's column and row."""
        return cell % self.width, cell // self.width

    def _move(self, direction: int) -> None:
        self.agent_dir = direction
        x, y = self.front_pos.tolist()
        ahead = self.grid.get(x, y)
        if ahead is None or ahead.can_overlap():
            self.agent_pos = (x, y)

    def _words(self) -> list[int]:
        """Objects by number, obstacles from top left, the surrounding wall, then the facts."""
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
