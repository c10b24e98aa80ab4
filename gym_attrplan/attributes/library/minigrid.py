"""Attributes of any MiniGrid environment: carried object, doors, rooms, goal, object ahead."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Sequence
from string import ascii_uppercase
from typing import Any

from gym_attrplan.attributes.library.grid_attributes import GridAttributes, Named, things_in
from gym_attrplan.attributes.library.minigrid_readers import (
    OTHER_KEY,
    Carried,
    DoorState,
    LockedDoors,
    Room,
    Scene,
    ThingAt,
)
from gym_attrplan.error import InvalidAttributes

COLORS = ("blue", "green", "grey", "purple", "red", "yellow")
PARTS = ("carrying", "door", "room", "at_goal", "facing")

_N_SAMPLES = 16
"""Number of episodes sampled to find the contents, which vary between episodes."""

_PICK_UP = 3
"""MiniGrid's number of the action to pick up; environments with moves only do not have it."""

_MAX_NAMED_DOORS = 3
"""Maximum number of doors with an attribute each: more would multiply the descriptions."""


def symbol_names() -> dict[str, tuple[dict[int, str], ...]]:
    """Return the words of MiniGrid's symbols: objects, colours and doors in view, and directions.

    Everything but a closed or locked door has state 0, so that state has no word.
    """
    from minigrid.core.constants import IDX_TO_COLOR, IDX_TO_OBJECT, STATE_TO_IDX

    doors = {number: word for word, number in STATE_TO_IDX.items() if number}
    directions = dict(enumerate(("right", "down", "left", "up")))
    return {"image": (IDX_TO_OBJECT, IDX_TO_COLOR, doors), "direction": (directions,)}


class MiniGridAttributes(GridAttributes):
    """Attributes of a MiniGrid environment, read from its grid; for every id.

    A few episodes are sampled to find the contents of the grid. They determine the attributes:

    - ``carrying``: ``nothing``, or the type of the carried object; with its colour if objects of
      one episode differ only in colour. Where doors are locked and the colours of several keys
      vary between episodes, ``key`` fits a locked door, and ``other key`` does not.
    - ``door``: ``locked``, ``closed`` or ``open``, if there is one; ``red door`` and so on if every
      episode has the same colours; else ``locked_doors``, the number of locked doors.
    - ``room``: ``goal`` for the room of the goal, ``1 away`` for one doorway from there, and so on,
      with the same meaning in every layout. Without a goal square, but with one locked door, the
      room behind it is ``locked``, and others are so many doorways away from it; else rooms are
      ``A``, ``B``, … in reading order.
      Doors, gaps in walls and gaps in lava are doorways.
    - ``at_goal``: whether the agent stands on the goal square.
    - ``facing``: the object ahead of the agent; by default only in environments with neither
      ``door`` nor ``at_goal``.

    If nothing is ever locked and objects change their colours between episodes, ``possible(env)``
    says which values the things in the agent's room allow.

    Args:
        env: A MiniGrid environment, wrapped or not; it is not changed.
        parts: The attributes to use, if the environment has them; None chooses by itself.

    Raises:
        InvalidAttributes: If a part is unknown, or the environment has none of the given parts.

    Example:
        >>> import gymnasium as gym, minigrid
        >>> ready = MiniGridAttributes(gym.make("MiniGrid-DoorKey-8x8-v0"))
        >>> ready.attribute_space.table
        {'carrying': ['nothing', 'key'], 'door': ['locked', 'closed', 'open'],
         'room': ['goal', '1 away'], 'at_goal': 2}
    """

    def __init__(self, env: Any, parts: Sequence[str] | None = None) -> None:
        unknown = set(parts or ()) - set(PARTS)
        if unknown:
            raise InvalidAttributes(f"parts are some of {PARTS}; received {sorted(unknown)}.")
        envs = _sample_envs(env)
        things = [things_in(one.grid.grid) for one in envs]
        every = [thing for episode in things for thing in episode]
        light = [thing for thing in every if thing.can_pickup()]
        self._has_locks = any(getattr(thing, "is_locked", False) for thing in every)
        self._colors = _colors_by_kind(things, together=not self._has_locks)
        scenes = [Scene(one, from_lock=True) for one in envs]
        from_lock = all(scene.plan.first == "locked" for scene in scenes)
        if not from_lock:
            scenes = [Scene(one) for one in envs]
        can_carry = env.unwrapped.action_space.n > _PICK_UP
        found: dict[str, Named] = {
            "carrying": self._carrying(light if can_carry else []),
            "door": _doors([scene.doors for scene in scenes]),
            "room": rooms_of(scenes),
            "at_goal": _at_goal(scenes),
            "facing": self._facing(every),
        }
        table = {name: one for part in self._chosen(found, parts) for name, one in part.items()}
        if not table:
            raise InvalidAttributes(
                f"{env} has none of the parts {list(parts or PARTS)}: give AttributeWrapper a "
                "space and a function of your own."
            )
        changing = not self._has_locks and COLORS in self._colors.values()
        super().__init__(table, scenes[-1], from_lock=from_lock, changing=changing)

    def _chosen(self, found: dict[str, Any], parts: Sequence[str] | None) -> list[Any]:
        if parts is None:
            has_end = found["door"] or found["at_goal"]
            parts = [part for part in PARTS if part != "facing" or not has_end]
        return [found[part] for part in parts]

    def _words(self, things: Iterable[Any], plain: Collection[str] = ()) -> list[str]:
        """Return the names of the given things; kinds that are ``plain`` have no colour."""
        names = ["nothing"]
        for kind in sorted({thing.type for thing in things}):
            colors = () if kind in plain else self._colors.get(kind, ())
            names += [f"{color} {kind}" for color in colors] or [kind]
        return names

    def _carrying(self, things: list[Any]) -> Named:
        if not things:
            return {}
        if not self._has_locks or self._colors.get("key") != COLORS:
            words = self._words(things)
            return {"carrying": (words, ThingAt("carried", words, frozenset(self._colors)))}
        words = [*self._words(things, plain=["key"]), OTHER_KEY]
        return {"carrying": (words, Carried(words, frozenset(self._colors) - {"key"}))}

    def _facing(self, things: list[Any]) -> Named:
        words = self._words(things)
        reader = ThingAt("front", words, frozenset(self._colors))
        return {"facing": (words, reader)} if things else {}


def _sample_envs(env: Any) -> list[Any]:
    """Sample a few episodes on copies, without drawing from the environment's own generator."""
    envs = []
    for seed in range(_N_SAMPLES):
        sample = copy.deepcopy(env.unwrapped)
        sample.reset(seed=seed)
        envs.append(sample)
    return envs


def _colors_by_kind(episodes: list[list[Any]], *, together: bool) -> dict[str, tuple[str, ...]]:
    """Return the colours that name things of a kind, if one episode has several of them.

    These are the kind's colours if they are the same in every episode, and else all colours.

    Args:
        episodes: The things of each sampled episode.
        together: Whether one such kind makes all kinds whose colours vary have coloured names.
    """
    colors = {}
    varying = set()
    for kind in sorted({thing.type for things in episodes for thing in things}):
        seen = {
            frozenset(thing.color for thing in things if thing.type == kind) for things in episodes
        }
        if max(map(len, seen)) > 1:
            colors[kind] = tuple(sorted(seen.pop())) if len(seen) == 1 else COLORS
        elif len(seen - {frozenset()}) > 1:
            varying.add(kind)
    if together and COLORS in colors.values():
        colors |= dict.fromkeys(sorted(varying), COLORS)
    return colors


def _doors(episodes: list[list[Any]]) -> Named:
    n_doors = max(len(doors) for doors in episodes)
    n_locked = max(sum(door.is_locked for door in doors) for doors in episodes)
    states = ["locked", "closed", "open"] if n_locked else ["closed", "open"]
    if n_doors == 1:
        return {"door": (states, DoorState(None, len(states)))}
    colors = {tuple(sorted(door.color for door in doors)) for doors in episodes}
    named = next(iter(colors))
    if len(colors) == 1 and 0 < len(set(named)) == n_doors <= _MAX_NAMED_DOORS:
        return {f"{one} door": (states, DoorState(one, len(states))) for one in named}
    return {"locked_doors": (n_locked + 1, LockedDoors(n_locked))} if n_locked else {}


def rooms_of(scenes: list[Scene]) -> Named:
    """Return the attribute ``room``, if an episode has several."""
    n_rooms = min(len(ascii_uppercase), max(scene.plan.n_rooms for scene in scenes))
    if n_rooms < 2:
        return {}
    words = list(ascii_uppercase[:n_rooms])
    first = next((scene.plan.first for scene in scenes if scene.plan.first), None)
    if first is not None:
        words = [first, *(f"{n} away" for n in range(1, n_rooms))]
    return {"room": (words, Room(n_rooms))}


def _at_goal(scenes: list[Scene]) -> Named:
    if not any(scene.plan.goals for scene in scenes):
        return {}
    return {"at_goal": (2, ThingAt("below", ["nothing", "goal"], frozenset()))}
