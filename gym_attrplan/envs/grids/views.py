"""Observations of a room, of MiniGrid's and the batched version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from gym_attrplan.envs.grids.rules import CraftingRules, SwitchesRules
from gym_attrplan.error import InvalidEnvironment

OBS_TYPES = ("words", "multi_hot", "rgb")
N_SIDES = 4
VIEW_TILE = 8
"""Number of pixels of a cell in ``rgb`` observations: enough for SB3's network at 8 × 8 cells."""


def check_view(obs_type: str, render_mode: str | None, *, render_modes: Sequence[str]) -> None:
    """Check the observation type and the render mode.

    Raises:
        InvalidEnvironment: On another observation type or render mode.
    """
    if obs_type not in OBS_TYPES:
        raise InvalidEnvironment(f"obs_type is one of {list(OBS_TYPES)}; received {obs_type!r}.")
    if render_mode is not None and render_mode not in render_modes:
        raise InvalidEnvironment(
            f"render_mode is None or one of {list(render_modes)}; received {render_mode!r}."
        )


def room_space(rules: SwitchesRules | CraftingRules, obs_type: str) -> spaces.Space[Any]:
    """Return the observation space of one room."""
    if obs_type == "rgb":
        side = VIEW_TILE * rules.size
        return spaces.Box(0, 255, (side, side, 3), np.uint8)
    if obs_type == "multi_hot":
        return spaces.MultiBinary(rules.vocabulary.n_words)
    layout = rules.layout
    n_slots = layout.n_objects + layout.n_walls + N_SIDES + len(rules.attributes)
    return rules.vocabulary.space(n_slots)
