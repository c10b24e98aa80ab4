"""ContinuousBlocksEnv: blocks dropped anywhere on a table, in MuJoCo."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.blocks.continuous_tasks import DropGoals
from gym_attrplan.envs.blocks.drop_table import N_NUMBERS, DropTable, Outcome
from gym_attrplan.envs.blocks.rules import Attributes, BlocksRules
from gym_attrplan.envs.blocks.views import block_space, draw_smooth
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import GoalSampler

Observation = npt.NDArray[Any]


class ContinuousBlocksEnv(gym.Env[Observation, npt.NDArray[np.float32]]):
    """
    ## Description

    Coloured blocks on a table. An action takes a block and drops it from above at any place of the
    table; it lands, slides, tips or pushes others until all rest. A block with another one on it
    does not move. A block that leaves the table is put back on a random free spot, and `info` says
    which. Starts are random: the blocks are dropped in random order on random places.

    ## Mission Space

    "make the attributes match the goal": the goal is in `desired_goal`, which
    `gym_attrplan.AttributeWrapper` adds.

    ## Action Space

    `Box(0, 1, (n_blocks + 2,))`: a score for each block, of which the highest chooses the block,
    then x (to the right) and y (away from the camera). `native_action_space` has the block's number
    and the place apart; `join_action` makes one of the other. `action_choices` is the number of
    scores.

    ## Observation Encoding

    - `pixels`: an image of the table, `image_size` pixels a side.
    - `state`: for each block its place (x, y, z in sides of the table) and the first two columns of
        its rotation matrix, 9 numbers.

    ## Rewards

    None here; `AttributeWrapper` pays 1 when the goal is met.

    ## Termination

    When the goal is met, or after 40 steps.

    ## Registered Configurations

    - `AttrBlocksContinuous-v0`

    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    # A window is opened round the environment by its factory.
    metadata = {"render_modes": ["human", "rgb_array"], "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: BlocksRules,
        *,
        obs_type: str = "pixels",
        image_size: int = 128,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise InvalidEnvironment(
                f"render_mode is None or 'rgb_array' (gym.make: or 'human'); received "
                f"{render_mode!r}."
            )
        n_blocks = rules.n_blocks
        self.action_choices = n_blocks
        self.action_space = spaces.Box(0, 1, (n_blocks + 2,))
        self.native_action_space = spaces.Tuple((spaces.Discrete(n_blocks), spaces.Box(0, 1, (2,))))
        self.observation_space = (
            spaces.Box(-1.5, 1.5, (N_NUMBERS * n_blocks,))
            if obs_type == "state"
            else block_space(rules, obs_type, image_size)
        )
        self.rules = rules
        self.obs_type = obs_type
        self.image_size = image_size
        self.render_mode = render_mode
        self.table = DropTable(rules)

    @property
    def attributes(self) -> Attributes:
        """``(n_attributes,)`` the current attributes."""
        return self.table.attributes.copy()

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task, see :class:`BlockGoals`."""
        return DropGoals(self.table, task)

    def join_action(self, action: tuple[int, npt.ArrayLike]) -> npt.NDArray[np.float32]:
        """Convert an action of ``native_action_space`` to one of ``action_space``."""
        block, place = action
        scores = np.eye(self.action_choices)[block]
        return np.concatenate([scores, np.asarray(place)]).astype(np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin at a random start, or at ``options["poses"]`` after they have settled.

        Raises:
            InvalidEnvironment: If the poses are not ``(n_blocks, 7)`` as in a scene.
        """
        super().reset(seed=seed)
        poses = (options or {}).get("poses")
        if poses is None:
            outcome = self.table.start(self.np_random)
        else:
            self.table.place(check_poses(poses, self.rules.n_blocks))
            outcome = self.table.settle(self.np_random)
        return self._observe(), self._info(outcome)

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Drop a block and simulate until all rest."""
        numbers = np.asarray(action, np.float32)
        if not self.action_space.contains(numbers):
            raise gym.error.InvalidAction(
                f"actions are {self.rules.n_blocks} scores, x and y, all from 0 to 1; received "
                f"{action!r}."
            )
        block = int(numbers[: self.action_choices].argmax())
        outcome = self.table.drop(block, numbers[self.action_choices :], self.np_random)
        return self._observe(), 0.0, False, False, self._info(outcome)

    def render(self) -> Any:
        """Return a 480 × 480 image for people, or None without a render mode."""
        return None if self.render_mode is None else draw_smooth(self.table.scene)

    def close(self) -> None:
        """Release OpenGL's memory."""
        self.table.scene.close()

    def _observe(self) -> Observation:
        if self.obs_type == "pixels":
            return self.table.scene.render(self.image_size)
        return self.table.observe()

    def _info(self, outcome: Outcome) -> dict[str, Any]:
        return {
            "moved": outcome.moved,
            "settled": outcome.settled,
            "fallen": tuple(self.rules.colors[block] for block in outcome.fallen),
        }


def check_poses(poses: npt.ArrayLike, n_blocks: int) -> npt.NDArray[np.float64]:
    """Return the poses with unit quaternions.

    Raises:
        InvalidEnvironment: If they are invalid.
    """
    given = np.array(poses, np.float64)
    if (
        given.shape != (n_blocks, 7)
        or not np.isfinite(given).all()
        or not given[:, 3:].any(1).all()
    ):
        raise InvalidEnvironment(
            f"poses are ({n_blocks}, 7): metres along x, y, z and a quaternion; received {poses!r}."
        )
    given[:, 3:] /= np.linalg.norm(given[:, 3:], axis=1, keepdims=True)
    return given
