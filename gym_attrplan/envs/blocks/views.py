"""Observations of block environments, of MuJoCo's and the batched version: images or positions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.blocks.rules import PITCH, SIDE, BlocksRules
from gym_attrplan.envs.blocks.scene import BlockScene, Image, check_image_size
from gym_attrplan.error import InvalidEnvironment

OBS_TYPES = ("pixels", "state")

_RENDER_SIZE = 480
_OVERSAMPLE = 2


def block_space(rules: BlocksRules, obs_type: str, image_size: int) -> spaces.Box:
    """Return the observation space of one environment.

    Raises:
        InvalidEnvironment: On another observation type, or an invalid image size.
    """
    if obs_type not in OBS_TYPES:
        raise InvalidEnvironment(f"obs_type is one of {list(OBS_TYPES)}; received {obs_type!r}.")
    if obs_type == "pixels":
        size = check_image_size(image_size)
        return spaces.Box(0, 255, (size, size, 3), np.uint8)
    edge = rules.grid * PITCH / 2 / SIDE
    low = np.tile(np.array([-edge, -edge, 0.0], np.float32), rules.n_blocks)
    high = np.tile(np.array([edge, edge, rules.n_blocks], np.float32), rules.n_blocks)
    return spaces.Box(low, high, dtype=np.float32)


def as_state(positions: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Convert ``(..., n_blocks, 3)`` metres to ``(..., 3 * n_blocks)`` float32, in block sides."""
    return (positions / SIDE).astype(np.float32).reshape(*positions.shape[:-2], -1)


def draw_smooth(scene: BlockScene) -> Image:
    """Return a 480 × 480 image for people, with smooth edges unlike those of observations."""
    large = scene.render(_OVERSAMPLE * _RENDER_SIZE)
    parts = large.reshape(_RENDER_SIZE, _OVERSAMPLE, _RENDER_SIZE, _OVERSAMPLE, 3)
    smooth: Image = parts.mean(axis=(1, 3)).astype(np.uint8)
    return smooth


def check_jitter(jitter: float) -> float:
    """Check the jitter and return it.

    Raises:
        InvalidEnvironment: If it is out of range.
    """
    if not 0 <= jitter <= 1:
        raise InvalidEnvironment(
            f"jitter goes from 0 (exact drops) to 1 (8 mm, 15 degrees); received {jitter!r}. "
            "With more, stacks would fall over."
        )
    return float(jitter)
