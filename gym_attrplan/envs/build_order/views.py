"""Common parts of the single and the batched economy: spaces, observations, attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.build_order.rules import EconomyRules
from gym_attrplan.envs.build_order.state import (
    BoolArray,
    State,
    economy_features,
    n_economy_features,
    n_unit_features,
    unit_features,
)
from gym_attrplan.error import InvalidEnvironment

Observation = dict[str, npt.NDArray[Any]]
RENDER_MODES = ("rgb_array",)


def check_render_mode(render_mode: str | None) -> None:
    """Check the render mode.

    Raises:
        InvalidEnvironment: On another render mode.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise InvalidEnvironment(
            f"render_mode is None or one of {list(RENDER_MODES)}; received {render_mode!r}."
        )


def slot_spaces(rules: EconomyRules) -> tuple[spaces.Dict, spaces.MultiDiscrete]:
    """Return the observation and action space of one economy, a row for each unit slot."""
    n_slots, n_actions = rules.n_slots, len(rules.actions)
    observation = spaces.Dict(
        {
            "action_mask": spaces.Box(0, 1, (n_slots, n_actions), np.int8),
            "economy": spaces.Box(-1.0, 1.0, (n_economy_features(rules),), np.float32),
            "slot_mask": spaces.Box(0, 1, (n_slots,), np.int8),
            "units": spaces.Box(-1.0, 1.0, (n_slots, n_unit_features()), np.float32),
        }
    )
    return observation, spaces.MultiDiscrete([n_actions] * n_slots)


def observe(
    rules: EconomyRules, state: State, spots: BoolArray, mask: npt.NDArray[np.int8]
) -> Observation:
    """Return the observations of a batch, as new arrays.

    Args:
        rules: The version.
        state: n economies.
        spots: ``(n, n_scvs)`` whether each SCV has a free site in reach.
        mask: ``(n, n_slots, n_actions)`` the legal actions.
    """
    return {
        "action_mask": mask,
        "economy": economy_features(rules, state),
        "slot_mask": state.present.astype(np.int8),
        "units": unit_features(rules, state, spots),
    }
