"""PlanPanel: the hops ahead with their probabilities, and what has happened so far."""

from __future__ import annotations

from nicegui import ui

from gym_attrplan.report.play.player import Event, PlannedHop, Player, counted
from gym_attrplan.report.play.session import Session

MAX_EVENTS = 30
"""The newest so many are shown."""

ICONS = {
    "made": "check_circle",
    "failed": "error_outline",
    "lost": "help_outline",
    "goal": "flag",
    "end": "sports_score",
}


class PlanPanel:
    """The agent's plan from here, the hop that it follows, and a log of the episode.

    Args:
        session: What to show.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: tuple[list[PlannedHop], str] | None = None
        self._logged: list[Event] | None = None
        with ui.element("section").classes("panel plan").props('aria-label="Plan"'):
            with ui.element("div").classes("heading"):
                ui.label("Plan").classes("title")
                self._chance = ui.label().classes("quiet").mark("chance")
            self._trouble = ui.label().classes("trouble").props("role=status").mark("trouble")
            self._hops = ui.element("ol").classes("hops")
            ui.label("What happened").classes("title")
            self._log = ui.element("ul").classes("log").props("aria-live=polite")

    def show(self) -> None:
        """Show the session as it is now."""
        if not self._session.players:
            return
        player = self._session.players[0]
        self._trouble.set_text(player.trouble)
        self._trouble.set_visibility(bool(player.trouble))
        self._chance.set_text(_chance(player))
        if self._shown != (player.hops, player.following):
            self._shown = (player.hops, player.following)
            self._build_hops(*self._shown)
        if self._logged != player.events:
            self._logged = list(player.events)
            self._build_log(self._logged)

    def _build_hops(self, hops: list[PlannedHop], following: str) -> None:
        self._hops.clear()
        detour = following if following and following not in [hop.words for hop in hops[:1]] else ""
        with self._hops:
            if detour:
                with ui.element("li").classes("now detour"):
                    ui.label(detour).classes("clamp")
                    ui.label("instead, now" if hops else "now").classes("quiet")
            for number, hop in enumerate(hops):
                with ui.element("li").classes("now" if number == 0 and not detour else ""):
                    ui.label(hop.words).classes("clamp")
                    with ui.element("div").classes("bar").props("aria-hidden=true"):
                        ui.element("div").style(f"width:{100 * hop.prob:.0f}%")
                    ui.label(f"{hop.prob:.2f}").classes("number")

    def _build_log(self, events: list[Event]) -> None:
        self._log.clear()
        with self._log:
            for event in reversed(events[-MAX_EVENTS:]):
                with ui.element("li").classes(event.kind):
                    ui.icon(ICONS[event.kind])
                    ui.label(event.words).classes("clamp").tooltip(event.words)
                    ui.label(str(event.step)).classes("quiet number")


def _chance(player: Player) -> str:
    if player.plan is None:
        return ""
    return f"{counted(len(player.plan), 'hop')} · probability {player.plan.success_prob:.2f}"
