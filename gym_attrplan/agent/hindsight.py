"""ChangeReplayBuffer: hindsight replay for hops that ask for changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.algorithms import TerminalHerReplayBuffer
from gym_attrplan.attributes import FREE


class ChangeReplayBuffer(TerminalHerReplayBuffer):
    """Replay buffer that relabels a transition to an attribute that changed later in its segment.

    If nothing changed, the transition keeps its goal.
    """

    def _draw_goals(
        self, batch_indices: npt.NDArray[Any], env_indices: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        start = self.ep_start[batch_indices, env_indices]
        length = self.ep_length[batch_indices, env_indices]
        last = (start + length - 1) % self.buffer_size
        here = self.observations["achieved_goal"][batch_indices, env_indices]
        end = self.next_observations["achieved_goal"][last, env_indices]
        goals: npt.NDArray[Any] = self.observations["desired_goal"][
            batch_indices, env_indices
        ].copy()
        # The maximum of random numbers over the changed attributes selects one of them uniformly.
        luck = np.where(here != end, np.random.random_sample(here.shape), -1.0)  # noqa: NPY002  as SB3
        column = luck.argmax(axis=1)
        changed = np.flatnonzero(luck.max(axis=1) >= 0)
        goals[changed] = FREE
        goals[changed, column[changed]] = end[changed, column[changed]]
        return goals
