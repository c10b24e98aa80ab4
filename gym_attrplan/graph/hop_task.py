"""HopTask: what is left to search when what does not matter has been left out."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph.bit_fields import BitFields, BoolArray

Places: TypeAlias = npt.NDArray[np.int64]

_MAX_ROOTS = 4_096
"""A goal that as many descriptions meet, or fewer, is searched from as well as for."""


class HopTask(NamedTuple):
    """A search without what does not matter: the attributes and the kinds of hops that are left.

    Attributes:
        fields: The attributes, as few bits each.
        goal: ``(n_columns,)`` what is wanted of them, -1 for what is free.
        numbers: ``(n_kinds,)`` which kinds of the model are left.
        kinds: ``(n_kinds, n_columns)`` what each changes.
        allowed: ``(n_kinds, n_columns, max_size)`` which values each may start from.
        weights: ``(n_kinds,)`` what each costs.
        free_order: ``(n_kinds,)`` whether it does not matter when they come.
        undoes_itself: ``(n_kinds,)`` whether twice is as good as not at all.
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
        """The task of reaching a goal with some kinds of hops."""
        within = np.arange(allowed.shape[2]) < sizes[:, None]
        needed: BoolArray = np.asarray((~allowed & within).any(axis=2))
        matters = goal != FREE
        while True:  # what a hop needs matters if the hop changes what matters
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
        """Descriptions that meet the goal; None if they are too many."""
        free = np.flatnonzero(self.goal == FREE)
        sizes = self.fields.sizes[free]
        if np.prod(sizes.astype(float)) > _MAX_ROOTS:
            return None
        n = int(np.prod(sizes))
        vectors = np.tile(self.goal, (n, 1))
        if len(free):
            vectors[:, free] = np.stack(np.unravel_index(np.arange(n), sizes.tolist()), axis=1)
        return vectors
