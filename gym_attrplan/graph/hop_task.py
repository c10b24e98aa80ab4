"""HopTask: a search problem reduced to the relevant attributes and hops."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph.bit_fields import BitFields, BoolArray

Places: TypeAlias = npt.NDArray[np.int64]

_MAX_ROOTS = 4_096
"""Maximum number of descriptions that meet a goal, for a search backwards from it."""


class HopTask(NamedTuple):
    """Search problem with only the relevant attributes and kinds of hops.

    Attributes:
        fields: The attributes, packed into bits.
        goal: ``(n_columns,)`` the goal's values, -1 for free attributes.
        numbers: ``(n_kinds,)`` the model's numbers of the kinds.
        kinds: ``(n_kinds, n_columns)`` the change of each kind.
        allowed: ``(n_kinds, n_columns, max_size)`` the values from which each may start.
        weights: ``(n_kinds,)`` the cost of each.
        free_order: ``(n_kinds,)`` whether its position in a plan does not matter.
        undoes_itself: ``(n_kinds,)`` whether doing it twice has no effect.
    """

    fields: BitFields
    goal: IntArray
    numbers: Places
    kinds: IntArray
    allowed: BoolArray
    weights: Places
    free_order: BoolArray
    undoes_itself: BoolArray

    @classmethod
    def of(
        cls,
        goal: IntArray,
        sizes: IntArray,
        kinds: IntArray,
        allowed: BoolArray,
        weights: Places,
    ) -> HopTask:
        """Return the task of reaching a goal with some kinds of hops."""
        within = np.arange(allowed.shape[2]) < sizes[:, None]
        needed: BoolArray = np.asarray((~allowed & within).any(axis=2))
        matters = goal != FREE
        while True:  # conditions of a hop are relevant if it changes a relevant attribute
            useful = (kinds[:, matters] != 0).any(axis=1)
            more = matters | needed[useful].any(axis=0)
            if (more == matters).all():
                break
            matters = more
        columns, rows = np.flatnonzero(matters), np.flatnonzero(useful)
        kinds, needed = kinds[np.ix_(rows, columns)], needed[np.ix_(rows, columns)]
        asked, changed = needed.any(axis=0), (kinds != 0).any(axis=0)
        moves = (kinds != 0) & asked
        free_order = ~moves.any(axis=1) & ~(needed & changed).any(axis=1)
        fields = BitFields(columns, sizes[columns])
        return cls(
            fields=fields,
            goal=goal[columns],
            numbers=rows,
            kinds=kinds,
            allowed=allowed[rows][:, columns],
            weights=weights[rows],
            free_order=free_order,
            undoes_itself=(2 * kinds.astype(np.int64) % fields.sizes == 0).all(axis=1),
        )

    def roots(self) -> IntArray | None:
        """Return the descriptions that meet the goal; None if there are too many."""
        free = np.flatnonzero(self.goal == FREE)
        sizes = self.fields.sizes[free]
        if np.prod(sizes.astype(float)) > _MAX_ROOTS:
            return None
        n = int(np.prod(sizes))
        vectors = np.tile(self.goal, (n, 1))
        if len(free):
            vectors[:, free] = np.stack(np.unravel_index(np.arange(n), sizes.tolist()), axis=1)
        return vectors
