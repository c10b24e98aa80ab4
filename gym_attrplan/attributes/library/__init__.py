"""Ready attributes for environments of other packages, one file for each family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gym_attrplan.attributes.functions import AttributeFunction, load_function
from gym_attrplan.attributes.space import AttributeSpace, Sizes
from gym_attrplan.error import InvalidAttributes

_HERE = __name__
FAMILIES = {
    "minigrid.envs.babyai.core.roomgrid_level.RoomGridLevel": f"{_HERE}.babyai:BabyAIAttributes",
    "minigrid.minigrid_env.MiniGridEnv": f"{_HERE}.minigrid:MiniGridAttributes",
    "gym_attrplan.envs.minigrid.batched.MiniGridVectorEnv": (
        f"{_HERE}.minigrid_batch:MiniGridBatchAttributes"
    ),
    "gym_attrplan.envs.crafter.env.CrafterEnv": f"{_HERE}.crafter:CrafterAttributes",
    "gymnasium.envs.toy_text.taxi.TaxiEnv": f"{_HERE}.toy_text:TaxiAttributes",
    "gymnasium.envs.toy_text.frozen_lake.FrozenLakeEnv": f"{_HERE}.toy_text:LakeAttributes",
    "gymnasium.envs.toy_text.cliffwalking.CliffWalkingEnv": f"{_HERE}.toy_text:CliffAttributes",
    "gymnasium_robotics.envs.maze.maze.MazeEnv": f"{_HERE}.mazes:MazeAttributes",
    "gymnasium_robotics.envs.maze.maze_v4.MazeEnv": f"{_HERE}.mazes:MazeAttributes",
    "gymnasium.envs.mujoco.reacher_v4.ReacherEnv": f"{_HERE}.arms:ReacherAttributes",
    "gymnasium.envs.mujoco.reacher_v5.ReacherEnv": f"{_HERE}.arms:ReacherAttributes",
    "gymnasium.envs.mujoco.pusher_v5.PusherEnv": f"{_HERE}.arms:PusherAttributes",
}
"""Base class of environments → their attributes; both by name, so nothing is imported."""


class ReadyAttributes(Protocol):
    """Protocol of an attribute function with its own space."""

    attribute_space: AttributeSpace

    def __call__(self, env: Any, observation: Any, /) -> Any:
        """Return the current values of all attributes."""


def ready_attributes(env: Any) -> ReadyAttributes:
    """Return the attributes of the family that an environment belongs to.

    Raises:
        InvalidAttributes: If it belongs to none.

    Example:
        >>> import gymnasium as gym
        >>> ready = ready_attributes(gym.make("FrozenLake-v1"))
        >>> ready.attribute_space
        AttributeSpace({'row': 4, 'column': 4, 'at_goal': 2})
    """
    ready: ReadyAttributes = family_of(env)(env)
    return ready


def family_of(env: Any) -> Callable[..., Any]:
    """Return the class of the attributes of the family that an environment belongs to.

    Raises:
        InvalidAttributes: If it belongs to none.
    """
    for ancestor in type(env.unwrapped).__mro__:
        maker = FAMILIES.get(f"{ancestor.__module__}.{ancestor.__qualname__}")
        if maker is not None:
            found: Callable[..., Any] = load_function(maker)
            return found
    families = sorted({name.rpartition(".")[2].removesuffix("Env") for name in FAMILIES})
    raise InvalidAttributes(
        f"no attributes are ready for {env}; they are for {', '.join(families)}. Give "
        "AttributeWrapper a space and a function: AttributeWrapper(env, names, function)."
    )


def choose_attributes(
    env: Any, space: Sizes | None, function: AttributeFunction | str | None
) -> tuple[Sizes, AttributeFunction | str]:
    """Return the given attributes, or the ready ones if none are given.

    Raises:
        InvalidAttributes: If a space comes without a function, or nothing was given and nothing is
            ready.
    """
    if function is None and space is not None:
        raise InvalidAttributes(
            f"a space needs the function that gives its values; received {space} alone. Leave out "
            "both for the attributes that are ready."
        )
    reads = ready_attributes(env) if function is None else function
    sizes = getattr(reads, "attribute_space", None) if space is None else space
    if sizes is None:
        raise InvalidAttributes(
            f"a function without a space of its own needs one: AttributeWrapper(env, names, "
            f"{function!r})."
        )
    return sizes, reads
