"""GraphPanel: the graph around here and along the plan."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from gym_attrplan.report.play.player import counted
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.surroundings import Surroundings


class GraphPanel:
    """A chart of the descriptions near the way and the plan.

    Args:
        session: What to show.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._surroundings = Surroundings(session.planner)
        self._state: Any = None
        self._chart_options: dict[str, Any] = {}
        with ui.element("section").classes("panel graph").props('aria-label="Graph"'):
            with ui.element("div").classes("heading"):
                ui.label("Graph around here").classes("title")
                with ui.element("div").classes("legend"):
                    ui.label("visited").classes("visited")
                    ui.label("ahead").classes("ahead")
            self._chart = ui.echart({}).classes("chart")
            self._words = ui.label().classes("quiet")

    def look(self) -> None:
        """Lay out what is to be shown, in the session's thread: it takes its time."""
        if not self._session.players:
            return
        player = self._session.players[0]
        state = (len(player.visited), id(player.visited), id(player.plan))
        if state != self._state:
            self._state = state
            self._chart_options = self._surroundings.chart(player)

    def show(self) -> None:
        """Show what :meth:`look` has laid out."""
        if self._chart_options and self._chart.options is not self._chart_options:
            self._chart.options.clear()
            self._chart.options.update(self._chart_options)
            self._chart_options = self._chart.options
            self._chart.update()
        hidden = self._surroundings.n_hidden
        self._words.set_text(f"{counted(hidden, 'more description')} not drawn" if hidden else "")
