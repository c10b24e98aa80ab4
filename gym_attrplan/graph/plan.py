"""Plan: a path through the graph, with the change and the probability of each hop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.attributes.html_table import html_table
from gym_attrplan.graph.figures import draw_hops

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Plan:
    """Path of ``len(plan)`` hops from a start to a node that meets the goal.

    Args:
        nodes: ``(n_hops + 1,)`` node numbers, the start first.
        vectors: ``(n_hops + 1, n_attributes)`` their attribute vectors.
        edge_probs: ``(n_hops,)`` probability of each hop.
        cost: The minimised cost: -log of each probability, plus a step cost per hop.
        space: The attributes.
        changes: ``(n_hops, n_attributes)`` the change of each hop, -1 for free attributes; None if
            hops ask for whole descriptions.
        chance: Probability of reaching the goal, including retries and other ways; None if
            every hop must work.

    Example:
        >>> space = AttributeSpace(["key", "door"])
        >>> vectors = np.array([[0, 0], [1, 0], [1, 1]])
        >>> plan = Plan(np.arange(3), vectors, np.array([0.9, 0.5]), cost=0.8, space=space)
        >>> print(plan.describe())
        2 hops, success 0.45
        from not key, not door
        1. key   0.90
        2. door  0.50
    """

    nodes: IntArray
    vectors: IntArray
    edge_probs: npt.NDArray[np.float64]
    cost: float
    space: AttributeSpace = field(repr=False)
    changes: IntArray | None = None
    chance: float | None = None

    def __len__(self) -> int:
        return len(self.edge_probs)

    def __bool__(self) -> bool:
        return True  # a plan without hops is a plan: the goal already holds

    @property
    def success_prob(self) -> float:
        """Probability of reaching the goal: its chance, or the product of all hops."""
        return float(np.prod(self.edge_probs)) if self.chance is None else self.chance

    @property
    def hops(self) -> list[str]:
        """The change of each hop, in attribute words."""
        asked = self.changes
        if asked is None:
            asked = np.where(self.vectors[:-1] == self.vectors[1:], FREE, self.vectors[1:])
        return [self.space.describe(change) for change in asked]

    @property
    def summary(self) -> str:
        """The number of hops, and the probability of reaching the goal."""
        hops = "1 hop" if len(self) == 1 else f"{len(self)} hops"
        return f"{hops}, success {self.success_prob:.2f}"

    def describe(self) -> str:
        """Return the plan in attribute words: a line per hop, with its changes only."""
        lines = [self.summary, f"from {self.space.describe(self.vectors[0])}"]
        changes = [f"{number}. {words}" for number, words in enumerate(self.hops, 1)]
        width = max(map(len, changes), default=0)
        lines += [
            f"{change:<{width}}  {prob:.2f}"
            for change, prob in zip(changes, self.edge_probs, strict=True)
        ]
        return "\n".join(lines)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the plan, from its start at the top to the goal, with a bar for each hop.

        Args:
            ax: Axes to draw on; new ones by default.

        Raises:
            DependencyNotInstalled: If matplotlib is missing.
        """
        return draw_hops(self.summary, self.hops, self.edge_probs.tolist(), ax=ax)

    def _repr_html_(self) -> str:
        start = f"{self.summary}, from {self.space.describe(self.vectors[0])}"
        probs = [f"{prob:.2f}" for prob in self.edge_probs]
        rows = zip(range(1, len(self) + 1), self.hops, probs, strict=True)
        return html_table(start, ["", "hop", "probability"], rows)


def describe_change(space: AttributeSpace, before: IntArray, after: IntArray) -> str:
    """Return the attributes of ``after`` that differ from ``before``, in words."""
    return space.describe(np.where(before == after, FREE, after))
