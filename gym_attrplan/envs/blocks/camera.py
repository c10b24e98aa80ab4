"""Position of the camera: high enough to see behind stacks, low enough to see into them."""

from __future__ import annotations

from itertools import product

import numpy as np

_ELEVATION = np.radians(53)  # lower hides blocks behind stacks, higher the blocks of a stack
_DISTANCE = 4.0  # metres: far enough that all rows look alike


def camera_mjcf(half: float, height: float) -> str:
    """Return a distant camera whose image just contains the table with all stacks."""
    right = np.array([1.0, 0.0, 0.0])
    up = np.array([0.0, np.sin(_ELEVATION), np.cos(_ELEVATION)])
    corners = np.array(list(product((-half, half), (-half, half), (0.0, height))))
    seen = corners @ np.stack([right, up], axis=1)
    lowest, highest = seen.min(axis=0), seen.max(axis=0)
    middle = (lowest + highest) / 2
    eye = middle[0] * right + middle[1] * up + _DISTANCE * np.cross(right, up)
    angle = 2 * np.arctan((highest - lowest).max() / 2 / _DISTANCE)
    axes = " ".join(f"{value:.6f}" for value in (*right, *up))
    place = " ".join(f"{value:.6f}" for value in eye)
    return f'<camera pos="{place}" xyaxes="{axes}" fovy="{np.degrees(angle):.4f}"/>'
