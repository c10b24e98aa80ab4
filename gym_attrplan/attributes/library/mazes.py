"""Attributes of Gymnasium-Robotics' mazes: the cell of the point or the ant."""

from __future__ import annotations

from typing import Any

import numpy as np

from gym_attrplan.attributes.space import AttributeSpace


class MazeAttributes:
    """Row and column of the maze's map.

    Args:
        env: A ``PointMaze`` or ``AntMaze`` environment.

    Example:
        >>> import gymnasium as gym, gymnasium_robotics
        >>> ready = MazeAttributes(gym.make("PointMaze_Medium-v3"))
        >>> ready.attribute_space
        AttributeSpace({'row': 8, 'column': 8})
    """

    def __init__(self, env: Any) -> None:
        maze = env.unwrapped.maze
        self._last = np.array([maze.map_length, maze.map_width]) - 1
        self.attribute_space = AttributeSpace({"row": maze.map_length, "column": maze.map_width})

    def __call__(self, env: Any, observation: Any = None, /) -> Any:
        """Return the current values of both attributes."""
        raw = env.unwrapped
        # An ant can climb over the outer wall; it then counts as on its edge.
        return np.clip(raw.maze.cell_xy_to_rowcol(raw.data.qpos[:2]), 0, self._last)
