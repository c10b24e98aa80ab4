"""KnownPanel: what the agent knows, what it does not, and what its attributes miss."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from gym_attrplan.agent.missing import Missing
from gym_attrplan.report.play.session import Session

FindMissing = Callable[[], Awaitable[list[Missing]]]
_MAX_SHOWN = 5


class KnownPanel:
    """Attributes that never changed, hops that fail, and on demand what the attributes miss.

    Args:
        session: What to show.
        find_missing: Looks for hops that depend on more than the attributes.
    """

    def __init__(self, session: Session, find_missing: FindMissing) -> None:
        self._find_missing = find_missing
        with ui.element("section").classes("panel known").props('aria-label="What is known"'):
            ui.label("What is known").classes("title")
            with ui.element("ul"):
                for words in session.setup.what_is_known():
                    with ui.element("li"):
                        ui.label(words).classes("clamp").tooltip(words)
            self._button = ui.button(
                "Do the attributes say enough?", icon="search", on_click=self._look, color=None
            )
            self._button.props('outline no-caps dense title="looks at the attempts of training"')
            self._found = ui.label().classes("found")

    async def _look(self) -> None:
        self._button.disable()
        self._found.set_text("looking …")
        found = await self._find_missing()
        lines = [str(one) for one in found[:_MAX_SHOWN]]
        self._found.set_text(
            "\n".join(lines) or "No hop depends on more than the attributes, as far as we can tell."
        )
        self._button.enable()
