"""draw_off_screen: MuJoCo rendering on machines without a display."""

from __future__ import annotations

import ctypes
import os
import sys

GL_LIBRARIES = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
"""Backends of MuJoCo that need no display, in order of preference, and their libraries."""


def draw_off_screen() -> None:
    """Set ``MUJOCO_GL`` if there is no display and it is not set: the default would abort."""
    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform != "linux" or has_display or os.environ.get("MUJOCO_GL"):
        return
    found = [name for name, library in GL_LIBRARIES.items() if _loads(library)]
    if found:
        os.environ["MUJOCO_GL"] = found[0]


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
