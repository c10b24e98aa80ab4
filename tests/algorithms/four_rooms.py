"""Four rooms with a door between each two neighbours: the usual playground of options."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces

PLAN = [
    "###########",
    "#....#....#",
    "#....#....#",
    "#.........#",
    "#....#....#",
    "##.####...#",
    "#....###.##",
    "#....#....#",
    "#.........#",
    "#....#....#",
    "###########",
]
WALLS = np.array([[cell == "#" for cell in row] for row in PLAN])
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
FREE = np.argwhere(~WALLS)


class FourRooms(gym.Env):
    """Start anywhere, reach the corner of the last room; 1 on arrival, in at most 60 steps."""

    observation_space = spaces.Box(0, 1, (WALLS.size,), np.float32)
    action_space = spaces.Discrete(4)
    goal = (9, 9)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.goal
        while self.place == self.goal:
            self.place = tuple(FREE[self.np_random.integers(len(FREE))].tolist())
        self.n_steps = 0
        return self._observe(), {}

    def step(self, action):
        row, column = (a + b for a, b in zip(self.place, MOVES[action], strict=True))
        if not WALLS[row, column]:
            self.place = row, column
        self.n_steps += 1
        there = self.place == self.goal
        return self._observe(), float(there), there, self.n_steps >= 60, {}

    def _observe(self):
        seen = np.zeros(WALLS.shape, np.float32)
        seen[self.place] = 1.0
        return seen.ravel()
