"""Goal samplers for the grid environments: frozen, comparable and batched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidGoal

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SwitchTargets:
    """Goals with a colour for every switch, drawn uniformly among those with given difficulty.

    Args:
        n_colors: Number of colours of each switch.
        min_toggles: Minimum number of toggles needed; 1 leaves out goals that already hold.
        max_toggles: Maximum number of toggles needed; None for no limit.

    Raises:
        InvalidGoal: When called, if no goal needs that number of toggles.

    Example:
        >>> one_away = SwitchTargets(n_colors=4, min_toggles=1, max_toggles=1)
        >>> start = np.zeros((1, 4), np.int8)
        >>> int(one_away(start, np.random.default_rng(0)).sum())
        1
    """

    n_colors: int
    min_toggles: int = 1
    max_toggles: int | None = None

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw goals ``(n, n_switches)`` for episodes that start from ``achieved``."""
        n, n_switches = achieved.shape
        ways = self._ways(n_switches)
        hardest = len(ways[-1]) - 1
        most = hardest if self.max_toggles is None else min(self.max_toggles, hardest)
        if not 0 <= self.min_toggles <= most:
            raise InvalidGoal(
                f"{n_switches} switches of {self.n_colors} colours take 0 to {hardest} toggles; "
                f"asked for {self.min_toggles} to {self.max_toggles}."
            )
        wanted = np.arange(self.min_toggles, most + 1)
        weights = ways[-1][wanted]
        left = rng.choice(wanted, size=n, p=weights / weights.sum())
        goals = achieved.copy()
        for i in range(n_switches):
            toggles = self._draw(left, ways[n_switches - i - 1], rng)
            goals[:, i] = (achieved[:, i] + toggles) % self.n_colors
            left = left - toggles
        return goals

    def _ways(self, n_switches: int) -> list[npt.NDArray[np.float64]]:
        """Return entry k, t: the number of ways to distribute t toggles over k switches."""
        ways = [np.ones(1)]
        for _ in range(n_switches):
            ways.append(np.convolve(ways[-1], np.ones(self.n_colors)))
        return ways

    def _draw(
        self, left: IntArray, ways: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> IntArray:
        """Draw the toggles of one switch, by the number of ways to distribute the rest."""
        rest = left[:, None] - np.arange(self.n_colors)
        possible = (rest >= 0) & (rest < len(ways))
        shares = np.where(possible, ways[np.clip(rest, 0, len(ways) - 1)], 0.0).cumsum(axis=1)
        marks = rng.random(len(left)) * shares[:, -1]
        toggles: IntArray = (marks[:, None] >= shares).sum(axis=1)
        return toggles


@dataclass(frozen=True)
class HaveItem:
    """Goals with one item, the rest free. Items in the inventory are not requested.

    Args:
        columns: The attributes to choose from.

    Example:
        >>> have = HaveItem(columns=(3, 5))
        >>> have(np.array([[0, 0, 0, 1, 0, 0]], np.int8), np.random.default_rng(0))
        array([[-1, -1, -1, -1, -1,  1]], dtype=int8)
    """

    columns: tuple[int, ...]

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw goals ``(n, n_items)`` for episodes that start from ``achieved``."""
        columns = np.array(self.columns)
        # An item in the inventory has the lowest mark: it is chosen only if nothing else is left.
        marks = rng.random((len(achieved), len(columns))) - achieved[:, columns]
        goals = np.full_like(achieved, -1)
        goals[np.arange(len(achieved)), columns[marks.argmax(axis=1)]] = 1
        return goals
