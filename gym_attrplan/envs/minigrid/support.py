"""Support of MiniGrid's environments in batches: those whose rules are all known here."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym

from gym_attrplan.envs.minigrid.rules import END_RULES, EndRule
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment

_MAY_CHANGE = frozenset(
    {
        # drawing a layout, which is left to the class
        "__init__", "_gen_grid", "place_agent",
        # images and texts for people, which no rule reads
        "close", "get_frame", "get_full_render", "get_pov_render", "hash", "metadata",
        "pprint_grid", "render",
        # what Python adds to every class
        "__abstractmethods__", "__annotations__", "__doc__", "__firstlineno__", "__module__",
        "__orig_bases__", "__parameters__", "__static_attributes__", "_abc_impl",
    }
)  # fmt: skip
"""Names that a class may define without changing the result of a step."""


def make_template(env_id: str, kwargs: dict[str, Any]) -> tuple[Any, EndRule]:
    """Return MiniGrid's environment of an id, which draws the layouts, and its end rule.

    Raises:
        DependencyNotInstalled: If MiniGrid is missing.
        InvalidEnvironment: If the id is not MiniGrid's, an option is unknown, or the class changes
            a rule that is not known here.
    """
    try:
        import minigrid  # noqa: F401  registers its ids
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'{env_id} needs MiniGrid ({error}): pip install "gym_attrplan[minigrid]".'
        ) from error
    try:
        env: Any = gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped
    except (TypeError, AssertionError) as error:
        raise InvalidEnvironment(f"{env_id} does not take {kwargs}: {error}") from error
    rule = end_rule(type(env))
    # The batch computes the view of a new episode; MiniGrid's takes longer than the layout.
    env.gen_obs = lambda: None
    return env, rule


def end_rule(env_class: type[Any]) -> EndRule:
    """Return the end rule of a class.

    Raises:
        InvalidEnvironment: If it is not MiniGrid's or changes a rule that is not known here.
    """
    from minigrid.minigrid_env import MiniGridEnv

    name = f"{env_class.__module__}.{env_class.__qualname__}"
    if not issubclass(env_class, MiniGridEnv):
        raise InvalidEnvironment(
            f"the batch is for MiniGrid's environments, such as 'MiniGrid-DoorKey-8x8-v0'; "
            f"received {name}."
        )
    rule = END_RULES.get(_definer(env_class, "step"))
    changed = [one for one in vars(MiniGridEnv) if one != "step" and _changes(env_class, one)]
    if rule is None:
        changed.insert(0, "step")
    if rule is None or changed:
        raise InvalidEnvironment(
            f"{name} has a {changed[0]}() of its own, which the batch does not know. Use "
            "MiniGrid's environments one by one: gym.make_vec(id, vectorization_mode='sync')."
        )
    return rule


def _changes(env_class: type[Any], name: str) -> bool:
    if name in _MAY_CHANGE:
        return False
    return _definer(env_class, name) != "minigrid.minigrid_env.MiniGridEnv"


def _definer(env_class: type[Any], name: str) -> str:
    """Return the class that defines a method of a class."""
    for ancestor in inspect.getmro(env_class):
        if name in vars(ancestor):
            return f"{ancestor.__module__}.{ancestor.__qualname__}"
    return ""
