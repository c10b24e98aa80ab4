"""Missions of BabyAI as instructions: what to do with which thing, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gym_attrplan.attributes.library.minigrid import COLORS
from gym_attrplan.error import InvalidGoal, shown

FORMS = (
    "A mission is 'go to X', 'pick up X', 'open X' or 'put X next to X'. X is 'the' or 'a', then a "
    "colour or nothing, then 'ball', 'box', 'key', 'door' or 'object', then 'in front of you', "
    "'behind you', 'on your left', 'on your right' or nothing. Two missions are joined by ' and '; "
    "such pairs and single ones by ', then ' or ' after you '."
)
"""Description of all forms of a mission, for error messages."""

PLACES = {
    "in front of you": (1, 0),
    "behind you": (-1, 0),
    "on your right": (0, 1),
    "on your left": (0, -1),
}
"""Place → factors on the distances ahead and to the right; the sum is above 0 in that place."""

_THING = (
    rf"(?:the|a) (?:({'|'.join(COLORS)}) )?(ball|box|key|door|object)"
    rf"(?: ({'|'.join(PLACES)}))?"
)
_CLAUSE = re.compile(rf"(go to|pick up|open) {_THING}|put {_THING} next to {_THING}")


@dataclass(frozen=True)
class Thing:
    """Description of things in a mission.

    Attributes:
        color: None for any.
        kind: ``"ball"``, ``"box"``, ``"key"`` or ``"door"``; None for any.
        place: Where they were at the start of the episode, in the agent's room; None for anywhere.

    Example:
        >>> Thing("red", "ball", "on your left").place
        'on your left'
    """

    color: str | None = None
    kind: str | None = None
    place: str | None = None

    def find(self, env: Any) -> list[Any]:
        """Return the objects of MiniGrid's environment that are meant, at the start of an episode.

        Args:
            env: One of BabyAI's levels.
        """
        grid, (column, row) = env.grid, env.agent_pos
        room = env.room_from_pos(column, row)
        found = []
        for i, cell in enumerate(grid.grid):
            y, x = divmod(i, grid.width)
            if cell is not None and cell.type != "wall" and self._looks_like(cell):
                is_here = self.place is None or room.pos_inside(x, y)
                if is_here and self._is_placed(env, x - column, y - row):
                    found.append(cell)
        return found

    def _looks_like(self, cell: Any) -> bool:
        return self.color in (None, cell.color) and self.kind in (None, cell.type)

    def _is_placed(self, env: Any, x: int, y: int) -> bool:
        if self.place is None:
            return True
        (ahead_x, ahead_y), (right_x, right_y) = env.dir_vec, env.right_vec
        ahead, right = PLACES[self.place]
        distances = ahead * (x * ahead_x + y * ahead_y), right * (x * right_x + y * right_y)
        return bool(sum(distances) > 0)


@dataclass(frozen=True)
class Instruction:
    """One thing to do.

    Attributes:
        verb: ``"go to"``, ``"pick up"``, ``"open"`` or ``"put"``.
        thing: What to do it with.
        fixed: What to put it next to; None for the other verbs.
    """

    verb: str
    thing: Thing
    fixed: Thing | None = None


Steps = tuple[tuple[Instruction, ...], ...]
"""Instructions in their order; those of one step come in any order."""


def read_mission(text: str) -> Steps:
    """Return the instructions of a mission.

    Raises:
        InvalidGoal: If the text has none of the known forms.

    Example:
        >>> first, second = read_mission("open a red door after you pick up a key and go to a box")
        >>> [one.verb for one in first], [one.verb for one in second]
        (['pick up', 'go to'], ['open'])
    """
    if " after you " in text:
        second, first = text.split(" after you ", 1)
        parts = [first, second]
    else:
        parts = text.split(", then ")
    return tuple(tuple(_clause(one, text) for one in part.split(" and ")) for part in parts)


def _clause(clause: str, text: str) -> Instruction:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        raise InvalidGoal(f"{shown(clause)} is not an instruction; received {shown(text)}. {FORMS}")
    verb, *parts = found.groups()
    things = [
        Thing(color, None if kind == "object" else kind, place)
        for color, kind, place in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]
    return Instruction(verb, things[0]) if verb else Instruction("put", things[1], things[2])
