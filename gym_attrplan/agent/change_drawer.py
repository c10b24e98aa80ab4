"""ChangeDrawer: draws the next change to practise."""

from __future__ import annotations

import numpy as np

from gym_attrplan.agent.hop_judge import BoolArray
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes


class ChangeDrawer:
    """Draws changes to practise: a new value of one attribute, in proportion to the need.

    The number of values of an attribute does not raise its chance to be drawn. An economy has
    dozens of values of ore, but what the ore builds matters more.

    Args:
        outcomes: The outcomes of earlier hops.
        counts: The transitions seen.
        settings: The settings of practice.
        rng: Generator of the draws.
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
        """Record values that attributes can have."""
        self.seen[np.arange(descriptions.shape[1]), descriptions] = True

    def draw(self, descriptions: IntArray, possible: BoolArray | None = None) -> IntArray:
        """Draw a change for each row: ``(n, n_attributes)``, all free if there is none to make.

        Args:
            descriptions: ``(n, n_attributes)`` where the environments are.
            possible: ``(n, n_attributes, n_values)`` values that are possible; None
                if that is not known.
        """
        column, value = np.nonzero(self.seen)
        singles = self._outcomes.singles(column, value)
        n, k = len(descriptions), len(singles)
        chances = self._outcomes.success_rates(
            np.repeat(descriptions, k, axis=0), np.tile(singles, (n, 1))
        ).reshape(n, k)
        follows = self._follows(descriptions)[:, column, value]
        need = self._settings.need(chances, follows) + self._settings.floor
        usable = self.seen[None] if possible is None else self.seen & possible
        need /= np.maximum(usable.sum(axis=2) - 1, 1)[:, column]
        need *= usable[:, column, value]
        need[descriptions[:, column] == value] = 0.0
        # The first of several exponential clocks to ring is drawn in proportion to the rates.
        clocks = np.full((n, k), np.inf)
        np.divide(self._rng.standard_exponential((n, k)), need, out=clocks, where=need > 0)
        changes: IntArray = singles[clocks.argmin(axis=1)]
        changes[~(need > 0).any(axis=1)] = FREE
        return changes

    def _follows(self, descriptions: IntArray) -> BoolArray:
        """Return ``(n, n_attributes, n_values)`` changes seen in one transition from each row."""
        found = np.zeros((len(descriptions), *self.seen.shape), np.bool_)
        nodes = self._counts.index.find(descriptions).astype(np.int64)
        known = np.flatnonzero(nodes >= 0)
        owner, targets = self._counts.followers(nodes[known])
        after = self._counts.index.vectors(targets)
        row, column = np.nonzero(after != descriptions[known[owner]])
        found[known[owner[row]], column, after[row, column]] = True
        return found
