"""SwitchesEnv: coloured switches in a room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.grids.layout import Rooms
from gym_attrplan.envs.grids.objects import RoomObject, Switch
from gym_attrplan.envs.grids.room import RoomEnv
from gym_attrplan.envs.grids.rules import SwitchesRules


class SwitchesEnv(RoomEnv[SwitchesRules]):
    """
    ## Description

    A room with switches, each showing one of several colours. Walking onto a switch and toggling it
    moves its colour on by one, and round again. The room, its obstacles and the first colours are
    new in every episode, and every switch can be walked to.

    ## Mission Space

    "make the attributes match the goal": the goal is in `desired_goal`, which
    `gym_attrplan.AttributeWrapper` adds.

    ## Action Space

    | Num | Name   | Action                            |
    |-----|--------|-----------------------------------|
    | 0   | right  | Move right                        |
    | 1   | down   | Move down                         |
    | 2   | left   | Move left                         |
    | 3   | up     | Move up                           |
    | 4   | toggle | Toggle the switch below the agent |

    ## Observation Encoding

    - `words`: word numbers: each switch and each obstacle at its place relative to the agent, the
        surrounding wall on the four sides, then each switch's colour.
        `rules.vocabulary.describe(word)` reads them.
    - `multi_hot`: the same as one 0 or 1 for each word of the vocabulary.
    - `rgb`: the room from above, 8 pixels a cell.

    ## Rewards

    None here; `AttributeWrapper` pays 1 when the goal is met.

    ## Termination

    When the goal is met, or after 300 steps.

    ## Registered Configurations

    - `AttrSwitches-v0`

    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    def _place_objects(self, room: Rooms) -> None:
        colors = room.states[0].tolist()
        self._switches = [Switch(i, color, self.rules.n_colors) for i, color in enumerate(colors)]
        for switch, cell in zip(self._switches, room.objects[0].tolist(), strict=True):
            self.put_obj(switch, *self._position(cell))

    def _act(self, action: int, below: Any) -> None:
        if isinstance(below, Switch):
            below.toggle(self, self.agent_pos)

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_switches,)`` the number of each switch's colour."""
        return np.array([switch.color_number for switch in self._switches], np.int8)

    def attribute_tile(self, number: int, value: int) -> RoomObject | None:
        """Return the switch in that colour."""
        return Switch(number, value, self.rules.n_colors)

    def _facts(self) -> list[int]:
        n_colors, fact = self.rules.n_colors, self.rules.vocabulary.fact
        return [fact(n_colors * one.number + one.color_number) for one in self._switches]
