"""KnownPanel: what the agent knows, what it does not, and where its attributes hide something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from gym_attrplan.report.aliasing import Aliasing
from gym_attrplan.report.play.session import Session

FindAliasing = Callable[[], Awaitable[Aliasing]]


class KnownPanel:
    """Attributes that never changed, hops that fail, and on demand aliasing.

    Args:
        session: What to show.
        find_aliasing: Looks for aliasing in fresh attempts.
    """

    def __init__(self, session: Session, find_aliasing: FindAliasing) -> None:
        self._find_aliasing = find_aliasing
        with ui.element("section").classes("panel known").props('aria-label="What is known"'):
            ui.label("What is known").classes("title")
            with ui.element("ul"):
                for words in session.setup.what_is_known():
                    with ui.element("li"):
                        ui.label(words).classes("clamp").tooltip(words)
            self._button = ui.button(
                "Look for aliasing", icon="search", on_click=self._look, color=None
            )
            self._button.props('outline no-caps dense title="tries 1,000 hops in new episodes"')
            self._found = ui.label().classes("found")

    async def _look(self) -> None:
        self._button.disable()
        self._found.set_text("trying hops …")
        try:
            aliasing = await self._find_aliasing()
            self._found.set_text(aliasing.describe())
        except Exception as error:  # the user's environment may raise anything
            self._found.set_text(f"{type(error).__name__}: {error}")
        self._button.enable()
