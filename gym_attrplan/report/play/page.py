"""The page: panels around a session, a timer that plays it, and keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nicegui import events, ui

from gym_attrplan.report.play.goal_panel import GoalPanel
from gym_attrplan.report.play.graph_panel import GraphPanel
from gym_attrplan.report.play.known_panel import KnownPanel
from gym_attrplan.report.play.lobby import Lobby
from gym_attrplan.report.play.plan_panel import PlanPanel
from gym_attrplan.report.play.player import counted
from gym_attrplan.report.play.quick_training import QuickTraining
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.stage_panel import StagePanel

STYLE = (Path(__file__).parent.parent / "templates" / "play.css").read_text()


async def open_page(lobby: Lobby) -> None:
    """Build the page of one tab: of the training while it lasts, then of its session."""
    ui.add_css(STYLE)
    ui.dark_mode(None)
    ui.colors(primary="#0b6477")
    ui.page_title(f"attrplan play · {lobby.env_id}")
    main = ui.element("main").classes("play")
    client = ui.context.client
    await client.connected()
    tab = client.tab_id or client.id

    async def begin() -> None:
        session = await lobby.session(tab)
        main.clear()
        with main:
            await View(lobby, session, client.id).open()

    if lobby.training is None:
        await begin()
        return
    with main:
        panel = _TrainingPanel(lobby.training)

    async def wait() -> None:
        panel.show()
        if lobby.training is None:
            timer.cancel()
            await begin()

    timer = ui.timer(0.5, wait)  # beside the panels: it outlives that of the training


class View:
    """The panels of one tab.

    Args:
        lobby: Where sessions play.
        session: What to show.
        owner: The id of the connection; after a reload the session belongs to the new one.
    """

    def __init__(self, lobby: Lobby, session: Session, owner: str) -> None:
        self._lobby, self._session, self._owner = lobby, session, owner
        session.owner = owner

    async def open(self) -> None:
        """Build the panels, and begin to listen to keys and the clock."""
        session = self._session
        counts = session.setup.agent.counts
        with ui.element("header"):
            ui.label(session.setup.env_id).classes("env").props("role=heading aria-level=1")
            ui.label(
                f"{counted(len(session.space), 'attribute')} · "
                f"{counted(counts.n_nodes, 'description')} · "
                f"{counted(counts.n_edges, 'transition')} seen in training"
            ).classes("quiet")
        self._stage = StagePanel(session, self._do)
        self._goal = GoalPanel(session, self._do)
        self._plan = PlanPanel(session)
        self._graph = GraphPanel(session)
        KnownPanel(session, lambda: self._lobby.do(session.setup.agent.find_missing))
        ui.label("space: play or pause · right arrow: step · n: new episode").classes("quiet keys")
        ui.keyboard(on_key=self._press)
        await self._lobby.do(self._graph.look)
        self._show()
        self._timer = ui.timer(1 / session.speed, self._tick)

    async def _tick(self) -> None:
        session = self._session
        self._timer.interval = 1 / session.speed
        if session.playing and session.owner == self._owner:
            await self._do(session.step)

    async def _do(self, change: Callable[[], None]) -> None:
        def change_and_look() -> None:
            change()
            self._graph.look()

        await self._lobby.do(change_and_look)
        self._show()

    def _show(self) -> None:
        for panel in (self._stage, self._goal, self._plan, self._graph):
            panel.show()

    async def _press(self, event: events.KeyEventArguments) -> None:
        if not event.action.keydown or event.action.repeat:
            return
        if event.key.space:
            await self._stage.toggle()
        elif event.key.arrow_right:
            await self._stage.step()
        elif event.key == "n":
            await self._stage.new_episode()


class _TrainingPanel:
    """How far a training has come."""

    def __init__(self, training: QuickTraining) -> None:
        self._training = training
        with ui.element("section").classes("panel training").props('aria-label="Training"'):
            ui.label(f"Training an agent in {training.env_id}").classes("title")
            self._bar = ui.linear_progress(show_value=False, size="10px").props("rounded")
            self._words = ui.label().classes("quiet").props("role=status")
            self._error = ui.label().classes("error").props("role=alert")
            self._stop = ui.button(
                "Play with what it knows now", on_click=training.stop, color=None
            )
            self._stop.props("outline no-caps")

    def show(self) -> None:
        training = self._training
        self._bar.set_value(training.progress)
        self._words.set_text(
            f"{training.n_steps:,} of {training.total_timesteps:,} steps, "
            f"{counted(training.n_descriptions, 'description')} seen"
        )
        self._error.set_text(training.error)
        self._stop.set_visibility(not training.error)
