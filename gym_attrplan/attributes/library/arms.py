"""Attributes of MuJoCo's arms: zones of Reacher's fingertip, distances of Pusher's object."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_attrplan.attributes.space import AttributeSpace


class ReacherAttributes:
    """Quadrant of the fingertip, whether the arm is stretched, and whether it is on the target.

    ``right`` and ``up`` are relative to the shoulder. ``stretched`` means more than ``reach`` from
    it. ``on_target`` means less than ``near`` from the target.

    Args:
        env: ``Reacher-v5``.
        reach: Distance in metres; the arm's two links are 0.21 long.
        near: Distance in metres.

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
        """Return the current values of all attributes."""
        raw = env.unwrapped
        tip, target = raw.get_body_com("fingertip")[:2], raw.get_body_com("target")[:2]
        stretched = np.hypot(*tip) > self._reach
        on_target = np.hypot(*(tip - target)) < self._near
        return [int(tip[0] > 0), int(tip[1] > 0), int(stretched), int(on_target)]


class PusherAttributes:
    """Distances of the arm's tip from the object, and of the object from its goal.

    Args:
        env: ``Pusher-v5``.
        tip: Distances in metres: up to the first the tip is ``at_object``, up to the second
            ``near``.
        thing: Distances in metres: up to the first the object is ``at_goal``, up to the second
            ``near``.

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
        """Return the current values of both attributes."""
        raw = env.unwrapped
        thing = raw.get_body_com("object")
        tip = np.linalg.norm(thing - raw.get_body_com("tips_arm"))
        left = np.linalg.norm((thing - raw.get_body_com("goal"))[:2])
        return [int(np.searchsorted(self._tip, tip)), int(np.searchsorted(self._thing, left))]
