"""BlocksEnv: blocks dropped on a table, through MuJoCo's physics."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.blocks.rules import (
    SIDE,
    Attributes,
    BlocksRules,
    draw_jitter,
)
from gym_attrplan.envs.blocks.scene import BlockScene, upright
from gym_attrplan.envs.blocks.tasks import BlockGoals
from gym_attrplan.envs.blocks.views import as_state, block_space, check_jitter, draw_smooth
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import GoalSampler

_DROP = 0.01
"""Height above its final place from which a block is dropped, in metres."""


Array = npt.NDArray[Any]


class BlocksEnv(gym.Env[Array, Any]):
    """
    ## Description

    Coloured blocks on a table with 3 × 3 marked cells. An action lifts a block, if nothing is on
    it, and lets it go just above what stands on a cell; MuJoCo then simulates until all blocks
    rest. Drops are a little off-centre and turned. Attributes are read from where blocks rest.

    ## Mission Space

    "make the attributes match the goal": the goal is in `desired_goal`, which
    `gym_attrplan.AttributeWrapper` adds.

    ## Action Space

    `Discrete(n_blocks * n_cells)`: action `block * n_cells + cell`. Cells are numbered row by row,
    the farthest row first, each from left to right. A covered block stays where it is.

    ## Observation Encoding

    - `pixels`: an image of `image_size` × `image_size` pixels, RGB.
    - `state`: x, y, z of each block, in sides of a block (40 mm): x to the right, y away from the
        camera, z up; the middle of the table's top is the origin.

    ## Rewards

    None here; `AttributeWrapper` pays 1 when the goal is met.

    ## Termination

    When the goal is met, or after 40 steps.

    ## Registered Configurations

    - `AttrBlocks-v0`

    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    # A window is opened round the environment by its factory.
    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: BlocksRules,
        *,
        obs_type: str = "pixels",
        image_size: int = 128,
        jitter: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise InvalidEnvironment(
                f"render_mode is None or 'rgb_array' (gym.make: or 'human'); received "
                f"{render_mode!r}."
            )
        self.observation_space = block_space(rules, obs_type, image_size)
        self.action_space = spaces.Discrete(rules.n_actions)
        self.rules = rules
        self.obs_type = obs_type
        self.image_size = image_size
        self.jitter = check_jitter(jitter)
        self.render_mode = render_mode
        self.scene = BlockScene(rules.colors, rules.grid)
        self.start_states = np.zeros(1, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin from a random start, or from the state number ``options["state"]``.

        Raises:
            InvalidEnvironment: If there is no such state.
        """
        super().reset(seed=seed)
        given = (options or {}).get("state")
        if given is None:
            given = self.rules.random_starts(1, self.np_random)[0]
        self.start_states = self.rules.check_states([given], 1)
        cells, heights = self.rules.decode(self.start_states)
        jitter = draw_jitter((self.rules.n_blocks,), self.jitter, self.np_random)
        positions = self.rules.centers(cells[0], heights[0])
        positions[:, :2] += jitter[:, :2]
        self.scene.place(upright(positions, jitter[:, 2]))
        self.scene.settle()
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Lift a block and drop it on a cell."""
        if not 0 <= action < self.rules.n_actions:
            last = self.rules.n_actions - 1
            raise gym.error.InvalidAction(f"actions are 0 to {last}; received {action!r}.")
        block, cell = divmod(int(action), self.rules.n_cells)
        if not self._is_covered(block):
            self._drop(block, cell)
        return self._observe(), 0.0, False, False, {}

    def render(self) -> Any:
        """Return a 480 × 480 image for people, or None without a render mode."""
        return None if self.render_mode is None else draw_smooth(self.scene)

    def close(self) -> None:
        """Release OpenGL's memory."""
        self.scene.close()

    @property
    def attributes(self) -> Attributes:
        """``(n_attributes,)`` the attributes, computed from the blocks' positions."""
        values: Attributes = self.rules.read(self.scene.positions()[None])[0]
        return values

    @property
    def state(self) -> int:
        """The number of the state, computed from the blocks' positions."""
        return int(self.rules.locate(self.scene.positions()[None])[0])

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task, see :class:`BlockGoals`."""
        return BlockGoals(self.rules, task).of(self)

    def _is_covered(self, block: int) -> bool:
        n_pairs = len(self.rules.pairs)
        on = self.attributes[-n_pairs:]
        return bool(on[self.rules.pairs[:, 1] == block].any())

    def _drop(self, block: int, cell: int) -> None:
        x, y, z = self.rules.centers(cell, 0)
        positions = np.delete(self.scene.positions(), block, axis=0)
        there = (np.abs(positions[:, :2] - (x, y)) < SIDE).all(axis=1)
        z = max([z, *(positions[there, 2] + SIDE)])
        dx, dy, yaw = draw_jitter((), self.jitter, self.np_random)
        self.scene.drop(block, x + dx, y + dy, z + _DROP, yaw)
        self.scene.settle()

    def _observe(self) -> Array:
        if self.obs_type == "pixels":
            return self.scene.render(self.image_size)
        return as_state(self.scene.positions())
