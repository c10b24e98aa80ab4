"""Support of MiniGrid's environments in batches: those whose rules are all known here."""

from __future__ import annotations

import inspect
from types import MethodType
from typing import Any

import gymnasium as gym

from gym_attrplan.envs.minigrid.rules import END_RULES, EndRule
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment

_LEVEL = "minigrid.envs.babyai.core.roomgrid_level.RoomGridLevel"
_LEVEL_RESETS = (_LEVEL, "minigrid.envs.babyai.putnext.PutNext")
"""BabyAI's classes whose ``reset`` also sets up the mission and the time limit."""

_MAX_TRIES = 1_000
"""Maximum number of times that an agent is placed in one layout."""

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


def make_template(
    env_id: str, kwargs: dict[str, Any], *, without_missions: bool = False
) -> tuple[Any, EndRule]:
    """Return MiniGrid's environment of an id, which draws the layouts, and its end rule.

    Args:
        env_id: The id.
        kwargs: Options of its class.
        without_missions: Whether to leave out what the class adds to the base class's ``step``.

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
    rule = end_rule(type(env), without_missions=without_missions)
    if getattr(env, "start_carrying", False):
        raise InvalidEnvironment(
            f"{env_id} begins with a thing in hand that its first observation does not show; a "
            "batch begins empty-handed. Use MiniGrid's environments one by one: "
            "gym.make_vec(id, vectorization_mode='sync')."
        )
    # The batch computes the view of a new episode; MiniGrid's takes longer than the layout.
    env.gen_obs = lambda: None
    if _is_level(type(env)):
        bound_placing(env)
    return env, rule


def bound_placing(env: Any) -> None:
    """Let one of BabyAI's levels give up a layout in which there is no place for the agent."""
    env.place_obj = MethodType(_place_obj, env)  # a copy of the level gets a copy of the method


def _place_obj(env: Any, thing: Any, *args: Any, **kwargs: Any) -> Any:
    """Place a thing, or the agent if it is None, as MiniGrid does.

    In a room so full that the agent would face a thing from every free cell, BabyAI tries forever
    to place it.

    Raises:
        RecursionError: If the agent was placed too often in one layout; BabyAI then draws another.
    """
    if thing is None:
        grid, n_tries = getattr(env, "agent_tries", (None, 0))
        n_tries = n_tries + 1 if grid is env.grid else 1
        env.agent_tries = env.grid, n_tries
        if n_tries > _MAX_TRIES:
            raise RecursionError("there is no place for the agent")
    return type(env).place_obj(env, thing, *args, **kwargs)


def _is_level(env_class: type[Any]) -> bool:
    return any(f"{one.__module__}.{one.__qualname__}" == _LEVEL for one in env_class.__mro__)


def end_rule(env_class: type[Any], *, without_missions: bool = False) -> EndRule:
    """Return the end rule of a class.

    Args:
        env_class: The class.
        without_missions: Whether to return the base class's rule instead.

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
    step = _definer(env_class, "step")
    rule = END_RULES.get(step)
    if without_missions and (rule is not None or step == _LEVEL):
        rule = EndRule()
    changed = [one for one in vars(MiniGridEnv) if one != "step" and _changes(env_class, one)]
    if rule is None and step == _LEVEL:
        raise InvalidEnvironment(
            f"{name} has a step() of its own, in which BabyAI's verifier ends missions; a batch "
            "has no verifier. Leave the missions out with without_missions=True, or use MiniGrid's "
            "environments one by one: gym.make_vec(id, vectorization_mode='sync')."
        )
    if rule is None:
        changed.insert(0, "step")
    if rule is None or changed:
        raise InvalidEnvironment(
            f"{name} has a {changed[0]}() of its own, which the batch does not know. Use "
            "MiniGrid's environments one by one: gym.make_vec(id, vectorization_mode='sync')."
        )
    return rule


def _changes(env_class: type[Any], name: str) -> bool:
    definer = _definer(env_class, name)
    if name in _MAY_CHANGE or (name == "reset" and definer in _LEVEL_RESETS):
        return False
    return definer != "minigrid.minigrid_env.MiniGridEnv"


def _definer(env_class: type[Any], name: str) -> str:
    """Return the class that defines a method of a class."""
    for ancestor in inspect.getmro(env_class):
        if name in vars(ancestor):
            return f"{ancestor.__module__}.{ancestor.__qualname__}"
    return ""
