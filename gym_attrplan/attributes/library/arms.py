"""Attributes of MuJoCo's arms: Reacher's fingertip by zones, Pusher's object by its distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_attrplan.attributes.space import AttributeSpace


class ReacherAttributes:
    """In which quarter the fingertip is, whether the arm is stretched, and whether it is there.

    ``right`` and ``up`` are seen from the shoulder; ``stretched`` is more than ``reach`` from it.
    ``on_target`` is less than ``near`` from the target.

    Args:
        env: ``Reacher-v5``.
        reach: In metres; the arm's two links are 0.21 long.
        near: In metres.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("Reacher-v5")
        >>> _ = env.reset(seed=0)
        >>> ready = ReacherAttributes(env)
        >>> ready.attribute_space.describe(ready(env))
        'right, up, stretched, not on_target'
    """

    def __init__(self, env: Any, *, reach: float = 0.15, near: float = 0.03) -> None:
        self._reach, self._near = reach, near
        self.attribute_space = AttributeSpace(["right", "up", "stretched", "on_target"])

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """The values of all attributes now."""
        world = env.unwrapped
        tip, target = world.get_body_com("fingertip")[:2], world.get_body_com("target")[:2]
        stretched = np.hypot(*tip) > self._reach
        on_target = np.hypot(*(tip - target)) < self._near
        return [int(tip[0] > 0), int(tip[1] > 0), int(stretched), int(on_target)]


class PusherAttributes:
    """How far the arm's tip is from the object, and the object from its goal.

    Args:
        env: ``Pusher-v5``.
        tip: In metres: up to the first the tip is ``at_object``, up to the second ``near``.
        thing: In metres: up to the first the object is ``at_goal``, up to the second ``near``.

    Example:
        >>> import gymnasium as gym
        >>> env = gym.make("Pusher-v5")
        >>> _ = env.reset(seed=0)
        >>> ready = PusherAttributes(env)
        >>> ready.attribute_space.describe(ready(env))
        'tip=far, object=far'
    """

    def __init__(
        self,
        env: Any,
        *,
        tip: tuple[float, float] = (0.2, 0.4),
        thing: tuple[float, float] = (0.1, 0.2),
    ) -> None:
        self._tip, self._thing = tip, thing
        self.attribute_space = AttributeSpace(
            {"tip": ["at_object", "near", "far"], "object": ["at_goal", "near", "far"]}
        )

    def __call__(self, env: Any, observation: Any = None, /) -> list[int]:
        """The values of both attributes now."""
        world = env.unwrapped
        thing = world.get_body_com("object")
        tip = np.linalg.norm(thing - world.get_body_com("tips_arm"))
        left = np.linalg.norm((thing - world.get_body_com("goal"))[:2])
        return [int(np.searchsorted(self._tip, tip)), int(np.searchsorted(self._thing, left))]
