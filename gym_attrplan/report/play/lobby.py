"""Lobby: the sessions of all open tabs, and the one thread in which they play."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gym_attrplan.report.play.quick_training import QuickTraining
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.setup import Setup

T = TypeVar("T")

MAX_SESSIONS = 16
"""Tabs whose sessions are kept; the one that was opened longest ago goes first."""


class Lobby:
    """Gives every tab a session of its own, also after a reload.

    All sessions play in one thread: agents are shared and remember plans while they act, and
    drawing with OpenGL is tied to the thread that began it.

    Args:
        source: What to play with, or the training that will give it.
    """

    def __init__(self, source: Setup | QuickTraining) -> None:
        self._source = source
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="play")

    @property
    def env_id(self) -> str:
        """The id of the environment."""
        return self._source.env_id

    @property
    def training(self) -> QuickTraining | None:
        """The training that is not done yet; None if there is none."""
        source = self._source
        return source if isinstance(source, QuickTraining) and source.setup is None else None

    async def do(self, act: Callable[[], T]) -> T:
        """What a function returns that is called in the thread of the sessions."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, act)

    async def session(self, tab: str) -> Session:
        """The session of a tab; a new one for a new tab. There must be something to play with."""
        if tab not in self._sessions:
            setup = self._source if isinstance(self._source, Setup) else self._source.setup
            assert setup is not None  # the page waits for the training
            new = await self.do(lambda: Session(setup))
            self._sessions.setdefault(tab, new)
        self._sessions.move_to_end(tab)
        while len(self._sessions) > MAX_SESSIONS:
            _, oldest = self._sessions.popitem(last=False)
            await self.do(oldest.close)
        return self._sessions[tab]
