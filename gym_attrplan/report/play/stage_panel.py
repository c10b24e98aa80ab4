"""StagePanel: the environments' pictures, and the buttons that make them move."""

from __future__ import annotations

from typing import Any

from nicegui import events as ui_events
from nicegui import ui

from gym_attrplan.report.play.doing import Doing
from gym_attrplan.report.play.pictures import Picture
from gym_attrplan.report.play.player import Player
from gym_attrplan.report.play.session import Session

ALONE = "nobody"


class StagePanel:
    """What happens now: a picture for each player, its result, and play, step, speed and seed.

    Args:
        session: What to show.
        doing: How to change it.
    """

    def __init__(self, session: Session, doing: Doing) -> None:
        self._session, self._doing = session, doing
        self._lanes: list[_Lane] = []
        with ui.element("section").classes("panel stage").props('aria-label="Environment"'):
            self._error = ui.label().classes("error").props("role=alert")
            self._scene = ui.element("div").classes("scene")
            self._build_buttons()
            self._build_choices()

    def _build_buttons(self) -> None:
        with ui.element("div").classes("buttons"):
            self._play = ui.button(on_click=self.toggle).props("unelevated no-caps").mark("play")
            ui.button("Step", icon="skip_next", on_click=self.step, color=None).props(
                'outline no-caps title="right arrow"'
            )
            ui.button("New episode", icon="replay", on_click=self.new_episode, color=None).props(
                'outline no-caps title="n"'
            )

    def _build_choices(self) -> None:
        with ui.element("div").classes("choices"):
            with ui.element("div").classes("speed"):
                self._speed_words = ui.label().classes("quiet")
                ui.slider(
                    min=1, max=60, value=self._session.speed, on_change=self._set_speed
                ).props('dense aria-label="steps per second"').mark("speed")
            self._seed = (
                ui.number("Seed", value=self._session.seed, min=0, precision=0)
                .props("dense outlined")
                .classes("seed")
                .on("change", self._set_seed)
                .mark("seed")
            )
            ui.select(
                [ALONE, *self._session.setup.rivals],
                label="Compare with",
                value=self._session.rival or ALONE,
                on_change=self._compare,
            ).props("dense outlined options-dense").classes("rival").mark("rival")
        for reason in self._session.setup.refused:
            ui.label(reason).classes("quiet clamp").props(f'title="{_plain(reason)}"')

    def show(self) -> None:
        """Show the session as it is now."""
        session = self._session
        self._play.set_text("Pause" if session.playing else "Play")
        self._play.set_icon("pause" if session.playing else "play_arrow")
        self._error.set_text(f"{session.error} A new episode tries again." if session.error else "")
        self._error.set_visibility(bool(session.error))
        self._speed_words.set_text(f"up to {session.speed} steps/s")
        self._seed.set_value(session.seed)
        if len(self._lanes) != len(session.players):
            self._scene.clear()
            names = ["the agent", session.rival or ""]
            with self._scene:
                self._lanes = [
                    _Lane(name if len(session.players) > 1 else "")
                    for name, _ in zip(names, session.players, strict=False)
                ]
        for lane, player, picture in zip(
            self._lanes, session.players, session.pictures, strict=False
        ):
            lane.show(player, picture)

    async def toggle(self) -> None:
        """Play or pause; after the end of an episode a new one begins."""
        session = self._session
        if not session.playing and (session.over or session.error):
            await self._doing(session.new_episode)
        session.playing = not session.playing and not session.error
        self.show()

    async def step(self) -> None:
        """Pause, and take one step."""
        self._session.playing = False
        await self._doing(self._session.step)

    async def new_episode(self) -> None:
        """Begin an episode with the next seed."""
        await self._doing(self._session.new_episode)

    def _set_speed(self, event: ui_events.ValueChangeEventArguments[Any]) -> None:
        self._session.speed = int(event.value)
        self._speed_words.set_text(f"up to {self._session.speed} steps/s")

    async def _set_seed(self) -> None:
        seed = int(self._seed.value or 0)
        await self._doing(lambda: self._session.new_episode(max(seed, 0)))

    async def _compare(self, event: ui_events.ValueChangeEventArguments[Any]) -> None:
        rival = None if event.value == ALONE else str(event.value)
        await self._doing(lambda: self._session.compare_with(rival))


class _Lane:
    """One player: its name, its picture, and what it is doing."""

    def __init__(self, name: str) -> None:
        with ui.element("figure").classes("lane"):
            if name:
                ui.label(name).classes("name")
            self._image = ui.element("img").props('alt="the environment now"')
            self._text = ui.element("pre").classes("text")
            with self._text:
                self._words = ui.label()
            self._step = ui.label().classes("quiet step")
            self._result = ui.label().classes("result").props("role=status")

    def show(self, player: Player, picture: Picture) -> None:
        self._image.set_visibility(bool(picture.url))
        self._text.set_visibility(not picture.url)
        if picture.url and self._image.props.get("src") != picture.url:
            self._image.props["src"] = picture.url
            self._image.update()
        self._words.set_text(picture.text)
        following = f" · now: {player.following}" if player.following else ""
        self._step.set_text(f"step {player.n_steps}{following}")
        self._result.set_text(player.result())
        self._result.set_visibility(player.over)
        self._result.classes(
            add="good" if player.reached else "bad", remove="bad" if player.reached else "good"
        )


def _plain(text: str) -> str:
    return text.replace('"', "'")
