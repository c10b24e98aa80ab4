"""Comparison of environments with those that an agent was made for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gymnasium import spaces

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.observation import GOAL_KEYS
from gym_attrplan.wrappers.origin import Origin

_SHOWN = 6
"""Maximum number of differences named in one message; of others only the number is given."""

Kind = tuple[AttributeSpace, spaces.Dict, spaces.Space[Any]]
"""Attribute, observation and action space of one environment."""


def check_same_kind(mine: Kind, theirs: Kind) -> None:
    """Check that an environment has the spaces that an agent was made for.

    Args:
        mine: The spaces of the agent.
        theirs: The spaces of the environment.

    Raises:
        InvalidEnvironment: If they differ; the message says in which attributes, observation keys
            or actions.
    """
    parts = {
        "attributes": differences(mine[0].table, theirs[0].table),
        "observations": differences(_seen(mine[1]), _seen(theirs[1])),
        "actions": differences({"action": mine[2]}, {"action": theirs[2]}),
    }
    if not parts["attributes"] and mine[0].names != theirs[0].names:
        order = _listed(map(repr, theirs[0].names)), _listed(map(repr, mine[0].names))
        parts["attributes"] = [f"their order is {order[0]} instead of {order[1]}"]
    found = [f"{name}: {_listed(lines)}" for name, lines in parts.items() if lines]
    if found:
        raise InvalidEnvironment(
            f"the agent was made for another environment. {'; '.join(found)}. Give it the "
            "environment it was made for, or train a new agent."
        )


def differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return the missing, additional and different entries of another mapping, in words.

    Example:
        >>> differences({"key": 2, "door": 2}, {"door": 3, "lamp": 2})
        ["'key' is missing", "'lamp' is new", "'door' is 3 instead of 2"]
    """
    lines = [f"{name!r} is missing" for name in mine if name not in theirs]
    lines += [f"{name!r} is new" for name in theirs if name not in mine]
    lines += [
        f"{name!r} is {theirs[name]!r} instead of {mine[name]!r}"
        for name in mine
        if name in theirs and mine[name] != theirs[name]
    ]
    return lines


def origin_advice(trained: Origin | None, now: Origin | None) -> list[str]:
    """Return advice if an agent's environment was made differently from that of its training.

    Example:
        >>> one, other = ({"id": "Lake-v1", "kwargs": {"slippery": one}} for one in (False, True))
        >>> origin_advice(one, other)
        ["the agent was trained in Lake-v1 and is now in Lake-v1, whose 'slippery' is True ..."]
    """
    if trained is None or now is None or trained == now:
        return []
    lines = differences(trained["kwargs"], now["kwargs"])
    how = f", whose {_listed(lines)}" if lines else ""
    return [
        f"the agent was trained in {trained['id']} and is now in {now['id']}{how}: what it learned "
        "may not hold there."
    ]


def _seen(space: spaces.Dict) -> dict[str, Any]:
    """Return the observation's own parts; the goal keys differ if the attributes do."""
    return {key: part for key, part in space.spaces.items() if key not in GOAL_KEYS}


def _listed(lines: Iterable[str]) -> str:
    lines = list(lines)
    more = f", and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return ", ".join(lines[:_SHOWN]) + more
