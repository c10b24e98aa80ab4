"""What there is to say about an agent: its attributes and hops by what it counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.advice import FEW_ATTEMPTS
from gym_attrplan.agent.evaluation import TaskResult, wilson_interval
from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.error import shortened
from gym_attrplan.report.page import Dots

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent

FloatArray: TypeAlias = npt.NDArray[np.float64]

MAX_LINES = 12
"""Hops and goals are shown one by one, up to so many."""


@dataclass(frozen=True, eq=False)
class HopTable:
    """Attempts at hops, by what they change and wherever they started; older ones count less.

    Args:
        space: The attributes.
        changes: ``(n, n_attributes)`` what they ask for, -1 for what is free.
        attempts: ``(n,)`` how often.
        successes: ``(n,)`` how often the change was made.
    """

    space: AttributeSpace
    changes: npt.NDArray[Any]
    attempts: FloatArray
    successes: FloatArray

    @classmethod
    def of(cls, agent: AttributePlannerAgent) -> HopTable:
        """What an agent has counted."""
        if agent.options.asks_for_changes:
            table, changes = agent.outcomes.table(), agent.outcomes.changes()
            number, attempts, successes = table.change, table.attempts, table.successes
        else:
            edges, index = agent.counts.edges(), agent.counts.index
            before, after = index.vectors(edges.source), index.vectors(edges.target)
            changed = np.where(before == after, FREE, after)
            changes, number = np.unique(changed, axis=0, return_inverse=True)
            attempts = edges.attempts.astype(np.float64)
            successes = edges.successes.astype(np.float64)
        return cls(
            agent.attribute_space,
            changes,
            np.bincount(number, attempts, len(changes)).astype(np.float64),
            np.bincount(number, successes, len(changes)).astype(np.float64),
        )

    @property
    def success_share(self) -> float:
        """Of all attempts, those that made their change."""
        return float(self.successes.sum() / max(self.attempts.sum(), 1.0))

    @property
    def panels(self) -> list[tuple[str, list[Dots]]]:
        """What fails and what is used most often, as far as either is known."""
        found = [("fail most often", self.most_failing()), ("used most often", self.most_used())]
        return [(title, lines) for title, lines in found if lines]

    def most_used(self) -> list[Dots]:
        """The changes that were asked for most often."""
        return self._lines(np.argsort(-self.attempts, kind="stable"))

    def most_failing(self) -> list[Dots]:
        """Of the changes tried often enough to judge, those that fail most often."""
        rates = self.successes / np.maximum(self.attempts, 1.0)
        order = np.argsort(rates, kind="stable")
        return self._lines(order[self.attempts[order] >= FEW_ATTEMPTS])

    def of_attribute(self, column: int) -> tuple[float, float]:
        """Attempts at changes of an attribute, and successes."""
        rows = self.changes[:, column] != FREE
        return float(self.attempts[rows].sum()), float(self.successes[rows].sum())

    def _lines(self, order: npt.NDArray[np.int64]) -> list[Dots]:
        tried = order[self.attempts[order] >= 1.0][:MAX_LINES]
        return [
            rate_line(
                self.space.describe(self.changes[i]),
                round(float(self.successes[i])),
                round(float(self.attempts[i])),
                "attempt",
            )
            for i in tried
        ]


def rate_line(name: str, successes: int, n: int, unit: str, more: str = "") -> Dots:
    """A success rate with its interval, as a line of a chart.

    Example:
        >>> rate_line("key", 3, 4, "attempt").small
        '4 attempts'
    """
    successes, units = min(successes, n), unit if n == 1 else f"{unit}s"
    low, high = wilson_interval(successes, n)
    said = f"{name}\n{successes:,} of {n:,} {units}, 95% interval {low:.0%} to {high:.0%}{more}"
    return Dots(
        shortened(name), f"{n:,} {units}", said, 100.0 * successes / n, (100 * low, 100 * high)
    )


def result_lines(groups: Mapping[str, TaskResult], most: int = MAX_LINES) -> list[Dots]:
    """Results of groups of tasks, the first of them."""
    return [
        rate_line(name, one.successes, one.n, "task", f"\n{one.n_steps.mean():.0f} steps a task")
        for name, one in [*groups.items()][:most]
    ]


def attribute_rows(agent: AttributePlannerAgent, hops: HopTable) -> list[dict[str, Any]]:
    """For each attribute its values, how many of them were seen, and how its hops go."""
    space, counts = agent.attribute_space, agent.counts
    vectors = counts.index.vectors(np.arange(counts.n_nodes))
    rows = []
    for column, name in enumerate(space.names):
        attempts, successes = hops.of_attribute(column)
        rows.append(
            {
                "name": name,
                "values": space.values_of(name),
                "n_seen": len(np.unique(vectors[:, column])),
                "size": int(space.sizes[column]),
                "attempts": attempts,
                "percent": 100.0 * successes / attempts if attempts >= 1.0 else None,
            }
        )
    return rows
