"""ChangeDrawer: what to ask for next."""

from __future__ import annotations

import numpy as np

from gym_attrplan.agent.hop_judge import BoolArray
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes


class ChangeDrawer:
    """Draws what to ask for next: a value of one attribute, as far as that needs practice.

    An attribute is not drawn more often for having more values: of an economy's ore there are
    dozens, and what matters is what it builds.

    Args:
        outcomes: How changes went.
        counts: What was seen to follow from what.
        settings: How practice is divided up.
        rng: Draws.
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        counts: TransitionCounts,
        settings: PracticeSettings,
        rng: np.random.Generator,
    ) -> None:
        self._outcomes, self._counts = outcomes, counts
        self._settings = settings
        self._rng = rng
        space = outcomes.space
        self.seen = np.zeros((len(space), int(space.sizes.max())), np.bool_)

    def see(self, descriptions: IntArray) -> None:
        """Note values that attributes can have."""
        self.seen[np.arange(descriptions.shape[1]), descriptions] = True

    def draw(self, descriptions: IntArray) -> IntArray:
        """``(n, n_attributes)`` a change for each row; all free where there is none to make."""
        column, value = np.nonzero(self.seen)
        singles = self._outcomes.singles(column, value)
        n, k = len(descriptions), len(singles)
        chances = self._outcomes.success_rates(
            np.repeat(descriptions, k, axis=0), np.tile(singles, (n, 1))
        ).reshape(n, k)
        near = self._settings.near * self._follows(descriptions)[:, column, value]
        need = (1.0 - chances) * (chances + near) + self._settings.floor
        need /= np.maximum(self.seen.sum(axis=1) - 1, 1)[column]
        need[descriptions[:, column] == value] = 0.0
        # A race of exponential clocks is won in proportion to their rates.
        clocks = np.full((n, k), np.inf)
        np.divide(self._rng.standard_exponential((n, k)), need, out=clocks, where=need > 0)
        changes: IntArray = singles[clocks.argmin(axis=1)]
        changes[~(need > 0).any(axis=1)] = FREE
        return changes

    def _follows(self, descriptions: IntArray) -> BoolArray:
        """``(n, n_attributes, n_values)`` what was seen to change at once from each row."""
        found = np.zeros((len(descriptions), *self.seen.shape), np.bool_)
        nodes = self._counts.index.find(descriptions).astype(np.int64)
        known = np.flatnonzero(nodes >= 0)
        owner, targets = self._counts.followers(nodes[known])
        after = self._counts.index.vectors(targets)
        row, column = np.nonzero(after != descriptions[known[owner]])
        found[known[owner[row]], column, after[row, column]] = True
        return found
