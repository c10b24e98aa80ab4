"""BridgeCallback: gives users' callbacks the agent as ``model`` and one step counter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

Report = Callable[[], dict[str, float]]


class BridgeCallback(BaseCallback):
    """Callback that forwards the calls of an inner SB3 algorithm to the user's callback.

    Args:
        agent: The agent, which the user's callback sees as its ``model``.
        inner: The user's callback, already initialised with the agent.
        phase: Name of the phase, the first part of its logger keys.
        n_steps: Number of steps of the phase.
        report: Returns figures to log and to show beside the bar, called after every rollout.
        on_rollout: Called after every rollout.
        give_up: Called after every step; returns whether to stop because training is hopeless.
        progress: The progress bar, if one is wanted.
    """

    def __init__(
        self,
        agent: Any,
        inner: BaseCallback,
        *,
        phase: str,
        n_steps: int,
        report: Report,
        on_rollout: Callable[[], None],
        give_up: Callable[[], bool],
        progress: Progress | None,
    ) -> None:
        super().__init__()
        self._agent = agent
        self._inner = inner
        self._phase = phase
        self._report = report
        self._after_rollout = on_rollout
        self._give_up = give_up
        self._progress = progress
        self._n_steps = 0
        self.stopped = False
        if progress is not None:
            self._task = progress.add_task(phase, total=n_steps, figures="")

    def _on_training_start(self) -> None:
        self._learner_start = self.model.num_timesteps

    def _on_rollout_start(self) -> None:
        self._inner.on_rollout_start()

    def _on_step(self) -> bool:
        n_steps = self.num_timesteps - self._learner_start
        new, self._n_steps = n_steps - self._n_steps, n_steps
        self._agent.steps_done[self._phase] += new
        self._agent.num_timesteps += new
        self._inner.update_locals(self.locals)
        self.stopped = not self._inner.on_step() or self._give_up()
        if self._progress is not None:
            self._progress.update(self._task, completed=n_steps)
        return not self.stopped

    def _on_rollout_end(self) -> None:
        self._inner.on_rollout_end()
        self._after_rollout()
        figures = self._report()
        for name, value in figures.items():
            self.logger.record(f"{self._phase}/{name}", value)
        if self._progress is not None:
            text = "  ".join(f"{name} {_short(value)}" for name, value in figures.items())
            self._progress.update(self._task, figures=text)


class AgentLogger(Logger):
    """The agent's logger for its inner learners: it replaces their step count with the agent's.

    Args:
        agent: The agent whose logger and step count are used.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        super().__init__(agent.logger.dir, agent.logger.output_formats)
        self.name_to_value = agent.logger.name_to_value
        self.name_to_count = agent.logger.name_to_count
        self.name_to_excluded = agent.logger.name_to_excluded
        self.level = agent.logger.level

    def dump(self, step: int = 0) -> None:
        """Write everything recorded, at the agent's step count."""
        now = self._agent.num_timesteps
        if "time/total_timesteps" in self.name_to_value:
            self.record("time/total_timesteps", now, exclude="tensorboard")
        super().dump(now)


class _RateColumn(ProgressColumn):
    """Column with the steps per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed or 0:,.0f}/s", style="progress.data.speed")


@contextmanager
def make_progress_bar(wanted: bool) -> Iterator[Progress | None]:
    """Show one bar per phase: progress, speed, time left, and the phase's own figures."""
    if not wanted:
        yield None
        return
    with Progress(
        TextColumn("{task.description:8}"),
        BarColumn(bar_width=16),
        TaskProgressColumn(),
        _RateColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    ) as progress:
        yield progress


def _short(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"
