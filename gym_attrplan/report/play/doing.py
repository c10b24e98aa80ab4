"""Doing: how a panel changes what the session is at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

Doing: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]
"""Runs a change of the session in its thread and then shows the session anew."""
