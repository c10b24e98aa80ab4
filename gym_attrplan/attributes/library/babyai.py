"""Attributes of BabyAI's levels, in whose values their missions are goals."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

from gym_attrplan.attributes.library.babyai_missions import read_mission
from gym_attrplan.attributes.library.babyai_readers import (
    NOTHING,
    LockedDoor,
    LookAt,
    LookBeside,
)
from gym_attrplan.attributes.library.grid_attributes import GridAttributes, Named, things_in
from gym_attrplan.attributes.library.minigrid import COLORS, rooms_of
from gym_attrplan.attributes.library.minigrid_readers import Scene
from gym_attrplan.error import InvalidAttributes

PARTS = ("facing", "carrying", "beside", "locked", "room")

_N_SAMPLES = 32
"""Number of episodes sampled to find the kinds of missions and things of a level."""


class BabyAIAttributes(GridAttributes):
    """Attributes of one of BabyAI's levels, read from its grid; no mission changes them.

    A few episodes are sampled. What their missions ask for determines the attributes:

    - ``facing``: the thing ahead, such as ``red ball``, or ``nothing``: a step on the way to
      whatever a mission asks for. If some are to open doors, ``red door`` is closed and
      ``open red door`` is open.
    - ``carrying``: the thing in hand, or ``nothing``; unless all missions are to go or to open and
      no door is locked.
    - ``beside``: a thing beside the cell ahead, if that cell is empty, or ``nothing``; if some
      missions are to put a thing next to another.
    - ``locked``: the first locked door, or ``nothing``; if a door is ever locked.
    - ``room``: ``A``, ``B``, … in reading order, if there are several.

    Args:
        env: One of BabyAI's levels, wrapped or not; it is not changed.
        parts: The attributes to use, if the level has them; None chooses by the missions.

    Raises:
        InvalidAttributes: If a part is unknown, or the level has none of the given parts.

    Example:
        >>> import gymnasium as gym, minigrid
        >>> ready = BabyAIAttributes(gym.make("BabyAI-OpenRedDoor-v0"))
        >>> list(ready.attribute_space)
        ['facing', 'room']
        >>> ready.attribute_space.words["facing"][-2:]
        ('open red door', 'open yellow door')
    """

    def __init__(self, env: Any, parts: Sequence[str] | None = None) -> None:
        unknown = set(parts or ()) - set(PARTS)
        if unknown:
            raise InvalidAttributes(f"parts are some of {PARTS}; received {sorted(unknown)}.")
        envs = _sample_envs(env)
        verbs = {verb for one in envs for verb in _verbs(one.mission)}
        things = [thing for one in envs for thing in things_in(one.grid.grid)]
        scenes = [Scene(one) for one in envs]
        found = _found(things, scenes, opens="open" in verbs)
        chosen = _asked_for(verbs, has_locks="locked" in found) if parts is None else parts
        table = {part: found[part] for part in chosen if part in found}
        if not table:
            raise InvalidAttributes(f"{env} has none of the parts {list(chosen)}.")
        # Goals name rooms, so each has a letter of its own.
        super().__init__(table, scenes[-1], from_lock=False, changing=True)


def _sample_envs(env: Any) -> list[Any]:
    """Sample a few episodes on copies, without drawing from the environment's own generator."""
    envs = []
    for seed in range(_N_SAMPLES):
        sample = copy.deepcopy(env.unwrapped)
        with contextlib.redirect_stdout(None):  # BabyAI prints each layout that it rejects
            sample.reset(seed=seed)
        envs.append(sample)
    return envs


def _verbs(mission: str) -> set[str]:
    return {one.verb for step in read_mission(mission) for one in step}


def _asked_for(verbs: set[str], *, has_locks: bool) -> list[str]:
    """Return the parts that missions with these verbs need."""
    needed = {
        "facing": True,
        "carrying": has_locks or bool(verbs & {"pick up", "put"}),
        "beside": "put" in verbs,
        "locked": True,
        "room": True,
    }
    return [part for part in PARTS if needed[part]]


def _found(things: list[Any], scenes: list[Scene], *, opens: bool) -> Named:
    """Return the parts that a level has."""
    kinds = {thing.type for thing in things}
    light = [NOTHING, *_looks(kinds - {"door"})]
    every = [*light, *_looks(kinds & {"door"})]
    doors = [NOTHING, *_looks({"door"})]
    ahead = [*every, *(f"open {door}" for door in doors[1:])] if opens else every
    found: Named = {"facing": (ahead, LookAt("front", ahead)), **rooms_of(scenes)}
    if len(light) > 1:
        found["carrying"] = (light, LookAt("carried", light))
        found["beside"] = (every, LookBeside(every))
    if any(door.is_locked for scene in scenes for door in scene.doors):
        found["locked"] = (doors, LockedDoor(doors))
    return found


def _looks(kinds: set[str]) -> list[str]:
    return [f"{color} {kind}" for kind in sorted(kinds) for color in COLORS]
