"""Curriculum: a Stable-Baselines3 callback that makes tasks harder as they are solved."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from stable_baselines3.common.callbacks import BaseCallback

from gym_attrplan.error import InvalidOption


class Curriculum(BaseCallback):
    """Callback that gives the environments harder tasks when enough recent ones were solved.

    The environments must have a method ``set_task(name)``, as those of
    :mod:`gym_attrplan.envs.regimes`, and ``is_success`` in the info at the end of an episode.

    Args:
        tasks: Names of tasks, from the easiest to those of the test.
        threshold: Share of recent episodes that must be solved before the next tasks.
        window: Number of episodes that count as recent.
        deadline: Share of all steps after which the last tasks begin at the latest, with the
            others evenly before; None waits for success alone. An early deadline removes nearby
            goals before they are learned.
        verbose: 1 prints when tasks change.

    Raises:
        InvalidOption: If there are no tasks, or a number is out of range.

    Example:
        >>> from stable_baselines3 import PPO
        >>> from gym_attrplan.envs.regimes import make_task_env
        >>> env = make_task_env("AttrSwitches-v0", "one_step")
        >>> model = PPO("MultiInputPolicy", env, n_steps=64, device="cpu")
        >>> model = model.learn(128, Curriculum(["one_step", "targets"], deadline=0.5))
        >>> env.task
        'targets'
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        threshold: float = 0.8,
        window: int = 500,
        deadline: float | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        if not tasks:
            raise InvalidOption("a curriculum needs at least one task; received none.")
        for name, value in (("threshold", threshold), ("deadline", deadline)):
            if value is not None and not 0 < value <= 1:
                raise InvalidOption(f"{name} is above 0 and at most 1; received {value!r}.")
        if window < 1:
            raise InvalidOption(f"window is at least 1 episode; received {window!r}.")
        self.tasks = tuple(tasks)
        self.threshold = threshold
        self.deadline = deadline
        self.level = 0
        self._recent: deque[bool] = deque(maxlen=window)

    @property
    def task(self) -> str:
        """Name of the current tasks."""
        return self.tasks[self.level]

    def _on_training_start(self) -> None:
        self._set(self.level)

    def _on_step(self) -> bool:
        for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
            if done:
                self._recent.append(bool(info["is_success"]))
        full = len(self._recent) == self._recent.maxlen
        solved = full and sum(self._recent) >= self.threshold * len(self._recent)
        if self.level < len(self.tasks) - 1 and (solved or self._overdue()):
            self._set(self.level + 1)
        return True

    def _on_rollout_end(self) -> None:
        self.logger.record("curriculum/level", self.level)

    def _overdue(self) -> bool:
        """Return whether the deadline of the next tasks has passed."""
        if self.deadline is None:
            return False
        share = self.num_timesteps / int(self.locals["total_timesteps"])
        return share >= self.deadline * (self.level + 1) / (len(self.tasks) - 1)

    def _set(self, level: int) -> None:
        self.level = level
        self._recent.clear()
        self.training_env.env_method("set_task", self.task)
        if self.verbose:
            print(f"step {self.num_timesteps:,}: tasks {self.task!r}")
