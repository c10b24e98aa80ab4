"""GoalPanel: what is asked for: as text, by a suggestion, or attribute by attribute."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import events, ui

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.error import InvalidGoal
from gym_attrplan.report.play.doing import Doing
from gym_attrplan.report.play.player import counted
from gym_attrplan.report.play.session import Session
from gym_attrplan.report.play.suggestions import Suggestion

MANY = 8
"""More attributes than these get a field to filter them by."""

MAX_CONTROLS = 60
"""Controls shown at once; the filter finds the others."""

MAX_BUTTONS = 4
"""Values that fit on buttons side by side; more go into a menu."""


class GoalPanel:
    """The goal: text, suggestions, and a control for each attribute.

    Args:
        session: What to show.
        doing: How to change it.
    """

    def __init__(self, session: Session, doing: Doing) -> None:
        self._session, self._doing = session, doing
        self._suggested: list[Suggestion] | None = None
        self._controls: dict[int, ui.toggle | ui.select] = {}
        self._showing = False
        with ui.element("section").classes("panel goal").props('aria-label="Goal"'):
            ui.label("Goal").classes("title")
            self._text = (
                ui.input(label="in words, then Enter")
                .props("dense outlined autogrow")
                .on("keydown.enter.prevent", self._ask_text)
                .mark("goal text")
            )
            self._wrong = ui.label().classes("error").props("role=alert").mark("goal error")
            self._wrong.set_visibility(False)
            self._chips = ui.element("div").classes("chips")
            names = session.space.names
            self._filter = (
                ui.input(placeholder=f"filter {len(names)} attributes", on_change=self._rebuild)
                .props("dense clearable")
                .mark("filter")
            )
            self._filter.set_visibility(len(names) > MANY)
            self._list = ui.element("div").classes("controls")
        self._rebuild()

    def show(self) -> None:
        """Show the session as it is now."""
        session = self._session
        self._showing = True
        words = "" if session.goal is None else session.goal.describe()
        if words != self._text.value and not self._wrong.visible:
            self._text.set_value(words)
        vector = session.goal_vector()
        for column, control in self._controls.items():
            control.set_value(int(vector[column]))
        self._showing = False
        if session.suggestions != self._suggested:
            self._suggested = session.suggestions
            self._build_chips()

    def _build_chips(self) -> None:
        self._chips.clear()
        with self._chips:
            for one in self._suggested or []:
                with (
                    ui.button(on_click=self._asking(one.words), color=None)
                    .props("outline no-caps dense")
                    .classes("chip")
                    .mark("suggestion")
                ):
                    ui.label(one.words).classes("clamp")
                    ui.label(counted(one.n_hops, "hop")).classes("quiet")

    def _rebuild(self) -> None:
        """A control for each attribute whose name the filter lets through."""
        space, part = self._session.space, str(self._filter.value or "").lower()
        columns = [i for i, name in enumerate(space.names) if part in name.lower()]
        vector = self._session.goal_vector()
        self._list.clear()
        self._controls = {}
        with self._list:
            for column in columns[:MAX_CONTROLS]:
                ui.label(space.names[column]).classes("attribute")
                self._controls[column] = self._control(space, column, int(vector[column]))
            if len(columns) > MAX_CONTROLS:
                ui.label(f"and {len(columns) - MAX_CONTROLS} more: filter them").classes("quiet")

    def _control(self, space: AttributeSpace, column: int, value: int) -> ui.toggle | ui.select:
        def changed(event: events.ValueChangeEventArguments[Any]) -> Awaitable[None] | None:
            if self._showing:  # asked at once, not in a task that runs later
                return None
            return self._ask(lambda: self._session.ask_attribute(column, int(event.value)))

        options = {FREE: "free", **_values(space, column)}
        name = space.names[column].replace('"', "'")
        if len(options) - 1 <= MAX_BUTTONS:
            toggle = ui.toggle(options, value=value, on_change=changed)
            props = f'dense no-caps unelevated aria-label="{name}"'
            return toggle.props(props).mark(f"attribute {name}")
        select = ui.select(options, value=value, on_change=changed)
        props = f'dense outlined options-dense aria-label="{name}"'
        return select.props(props).mark(f"attribute {name}")

    async def _ask_text(self) -> None:
        text = str(self._text.value or "")
        await self._ask(lambda: self._session.ask(text))

    def _asking(self, words: str) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            await self._ask(lambda: self._session.ask(words))

        return ask

    async def _ask(self, ask: Callable[[], None]) -> None:
        """Change the goal, or say beside the text what is wrong with it."""
        text = self._text.value
        try:
            self._wrong.set_visibility(False)
            await self._doing(ask)
        except InvalidGoal as error:
            self._text.set_value(text)  # the page may have shown the old goal meanwhile
            self._wrong.set_text(str(error))
            self._wrong.set_visibility(True)


def _values(space: AttributeSpace, column: int) -> dict[int, str]:
    """The values of an attribute, in words."""
    name, size = space.names[column], int(space.sizes[column])
    words = space.words.get(name) or (("no", "yes") if size == 2 else map(str, range(size)))
    return dict(enumerate(words))
