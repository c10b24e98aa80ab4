"""PracticeNotes: a record of practice that can be counted again elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import TransitionCounts


class EndedHops(NamedTuple):
    """Finished hops, as arguments of :meth:`HopOutcomes.record`; ``(n, …)`` each."""

    starts: IntArray
    changes: IntArray
    ends: IntArray
    made: npt.NDArray[np.bool_]
    n_steps: npt.NDArray[np.int64]
    over: npt.NDArray[np.bool_]


class PracticeNotes:
    """Record of transitions and hops, in the order in which they were counted.

    Args:
        space: The attributes.

    Attributes:
        counts: The transitions.
    """

    def __init__(self, space: AttributeSpace) -> None:
        self.counts = TransitionCounts(space)
        nobody, nothing = np.zeros((0, len(space)), space.dtype), np.zeros(0, np.bool_)
        self._hops = [EndedHops(nobody, nobody, nobody, nothing, np.zeros(0, np.int64), nothing)]

    def note_hops(self, hops: EndedHops) -> None:
        """Add finished hops."""
        self._hops.append(hops)

    def hops(self) -> EndedHops:
        """Return all hops."""
        columns: Any = zip(*self._hops, strict=True)
        return EndedHops(*(np.concatenate(parts) for parts in columns))
