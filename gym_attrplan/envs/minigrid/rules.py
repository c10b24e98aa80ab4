"""End rules: rewards and ends of MiniGrid's environments, for all environments at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.minigrid.things import EMPTY, BoolArray, Numbers, Tables

IntArray = npt.NDArray[np.int64]
Cell = Callable[[Any], int]

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)


@dataclass(frozen=True, eq=False)
class Turn:
    """A step of all environments, for end rules to evaluate.

    Attributes:
        actions: ``(n,)`` the actions.
        ahead: ``(n,)`` the cell ahead of each agent before the action.
        front: ``(n,)`` the thing in that cell.
        held: ``(n,)`` the thing that the agent carried before the action.
        carried: ``(n,)`` the thing that it carries now.
        agents: ``(n,)`` the agent's cell now.
        cells: ``(n, area)`` contents of the cells now.
        targets: ``(n, k)`` targets of the layout's end rule.
        stride: Difference between a cell's number and that of the cell below it.
        tables: Properties of things.
        success: ``(n,)`` MiniGrid's reward for success now.
        rewards: ``(n,)`` rewards, updated by each rule in turn.
        terminated: ``(n,)`` ends, updated likewise.
    """

    actions: IntArray
    ahead: IntArray
    front: Numbers
    held: Numbers
    carried: Numbers
    agents: IntArray
    cells: Numbers
    targets: IntArray
    stride: int
    tables: Tables
    success: npt.NDArray[np.float64]
    rewards: npt.NDArray[np.float64]
    terminated: BoolArray

    def end(self, where: BoolArray, won: BoolArray) -> None:
        """End the episodes ``where``, with a reward for those that are ``won``."""
        self.terminated[where] = True
        self.rewards[where] = np.where(won, self.success, 0.0)[where]

    def things_at(self, target: int) -> Numbers:
        """Return ``(n,)`` things in the cells of this column of the targets."""
        things: Numbers = self.cells[np.arange(len(self.cells)), self.targets[:, target]]
        return things

    def beside(self, cells: IntArray, others: IntArray) -> BoolArray:
        """Return whether cells share a side."""
        apart = np.abs(cells - others)
        near: BoolArray = (apart == 1) | (apart == self.stride)
        return near


@dataclass(frozen=True)
class EndRule:
    """Addition of a MiniGrid class to the base class's ``step``.

    Attributes:
        judge: Updates a turn's ``rewards`` and ``terminated``.
        reads: Functions of the environment and of ``cell(position)`` that give a layout's targets.
        target_name: The environment's attribute with the target object, if there is one.
        replaced: Action → action that it counts as.
    """

    judge: Callable[[Turn], None] | None = None
    reads: tuple[Callable[[Any, Cell], int], ...] = ()
    target_name: str | None = None
    replaced: Mapping[int, int] = field(default_factory=dict)

    @property
    def n_targets(self) -> int:
        """Number of targets of a layout."""
        return len(self.reads)

    def target(self, env: Any) -> Any:
        """Return the target object, or None."""
        return None if self.target_name is None else getattr(env, self.target_name)

    def read(self, env: Any, cell: Cell) -> list[int]:
        """Return the targets of the layout that MiniGrid's environment has drawn."""
        return [read(env, cell) for read in self.reads]


def _pick_up_target(turn: Turn) -> None:
    found = (turn.actions == PICK_UP) & turn.tables.target[turn.carried]
    turn.end(found, won=found)


def _unlock(turn: Turn) -> None:
    done = (turn.actions == TOGGLE) & turn.tables.opened[turn.things_at(0)]
    turn.end(done, won=done)


def _red_then_blue(turn: Turn) -> None:
    red, blue = (turn.tables.opened[turn.things_at(door)] for door in (0, 1))
    was_red, was_blue = (
        np.where(turn.ahead == turn.targets[:, door], turn.tables.opened[turn.front], now)
        for door, now in ((0, red), (1, blue))
    )
    turn.end(blue | (red & was_blue), won=blue & was_red)


def _fetch(turn: Turn) -> None:
    looks = turn.tables.looks[turn.carried]
    right = (looks[:, 0] == turn.targets[:, 0]) & (looks[:, 1] == turn.targets[:, 1])
    turn.end(turn.carried != EMPTY, won=right)


def _go_to(turn: Turn) -> None:
    stopped = turn.actions == DONE
    there = turn.beside(turn.agents, turn.targets[:, 0])
    turn.end(stopped | (turn.actions == TOGGLE), won=stopped & there)


def _put_near(turn: Turn) -> None:
    looks = turn.tables.looks[turn.carried]
    right = (looks[:, 0] == turn.targets[:, 0]) & (looks[:, 1] == turn.targets[:, 1])
    wrong = (turn.actions == PICK_UP) & (turn.carried != EMPTY) & ~right
    dropped = (turn.actions == DROP) & (turn.held != EMPTY)
    apart, stride = np.abs(turn.ahead - turn.targets[:, 2]), turn.stride
    near = (apart <= 1) | (np.abs(apart - stride) <= 1)
    turn.end(wrong | dropped, won=dropped & (turn.carried == EMPTY) & near)


def _match(turn: Turn) -> None:
    right, wrong = (turn.agents == turn.targets[:, place] for place in (0, 1))
    turn.end(right | wrong, won=right)


def _kind(name: str) -> Callable[[Any, Cell], int]:
    def read(env: Any, cell: Cell) -> int:
        from minigrid.core.constants import OBJECT_TO_IDX

        return int(OBJECT_TO_IDX[getattr(env, name)])

    return read


def _color(name: str) -> Callable[[Any, Cell], int]:
    def read(env: Any, cell: Cell) -> int:
        from minigrid.core.constants import COLOR_TO_IDX

        return int(COLOR_TO_IDX[getattr(env, name)])

    return read


def _position(name: str) -> Callable[[Any, Cell], int]:
    return lambda env, cell: cell(getattr(env, name))


def _door(name: str) -> Callable[[Any, Cell], int]:
    """Return the cell of a door, found in the grid: not every environment stores it."""

    def read(env: Any, cell: Cell) -> int:
        door, grid = getattr(env, name), env.grid
        row, column = divmod(next(i for i, one in enumerate(grid.grid) if one is door), grid.width)
        return cell((column, row))

    return read


_PICK_UP_TARGET = EndRule(_pick_up_target, target_name="obj")
_GO_TO = EndRule(_go_to, (_position("target_pos"),))

END_RULES = {
    "minigrid.minigrid_env.MiniGridEnv": EndRule(),
    "minigrid.envs.blockedunlockpickup.BlockedUnlockPickupEnv": _PICK_UP_TARGET,
    "minigrid.envs.keycorridor.KeyCorridorEnv": _PICK_UP_TARGET,
    "minigrid.envs.obstructedmaze.ObstructedMazeEnv": _PICK_UP_TARGET,
    "minigrid.envs.unlockpickup.UnlockPickupEnv": _PICK_UP_TARGET,
    "minigrid.envs.unlock.UnlockEnv": EndRule(_unlock, (_door("door"),)),
    "minigrid.envs.redbluedoors.RedBlueDoorEnv": EndRule(
        _red_then_blue, (_door("red_door"), _door("blue_door"))
    ),
    "minigrid.envs.fetch.FetchEnv": EndRule(_fetch, (_kind("targetType"), _color("targetColor"))),
    "minigrid.envs.gotodoor.GoToDoorEnv": _GO_TO,
    "minigrid.envs.gotoobject.GoToObjectEnv": _GO_TO,
    "minigrid.envs.putnear.PutNearEnv": EndRule(
        _put_near, (_kind("move_type"), _color("moveColor"), _position("target_pos"))
    ),
    "minigrid.envs.memory.MemoryEnv": EndRule(
        _match, (_position("success_pos"), _position("failure_pos")), replaced={PICK_UP: TOGGLE}
    ),
}
"""Class with a known ``step`` → its addition to that of the base class."""
