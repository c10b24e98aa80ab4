"""Journey: where every environment of a batch is on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import IntArray
from gym_attrplan.graph import EpisodeMemory

BoolArray = npt.NDArray[np.bool_]


@dataclass
class Journey:
    """Where every environment of a batch is on its way: what ``predict`` hands out as ``state``.

    Attributes:
        goals: ``(n, n_attributes)`` what was asked for.
        starts: Where the running hops began.
        targets: Where they head.
        edges: ``(n, 2)`` the same as nodes of the graph; -1 for a vector that is none.
        n_steps: ``(n,)`` steps on the running hop.
        lost: Where no plan leads on, and the explorer acts.
        foreseen: Where the forward model has chosen an action.
        actions: ``(n, …)`` those actions; None without a forward model.
        next_best: Environment → what it heads for, its goal being out of reach.
        memory: What this episode made dearer.
        tries: Which actions it tried where.
        n_pushes: Steps in which some hop was tried again with sampled actions.
        n_choices: Times that the forward model has chosen: the seed of its candidates.
    """

    goals: IntArray
    starts: IntArray
    targets: IntArray
    edges: npt.NDArray[np.int64]
    n_steps: npt.NDArray[np.int64]
    lost: BoolArray
    foreseen: BoolArray
    memory: EpisodeMemory = field(repr=False)
    tries: EpisodeMemory = field(repr=False)
    actions: npt.NDArray[Any] | None = None
    next_best: dict[int, IntArray] = field(default_factory=dict, repr=False)
    n_pushes: int = 0
    n_choices: int = 0

    @classmethod
    def begin(cls, achieved: IntArray, goals: IntArray, retry_cost: float) -> Journey:
        """Nobody has moved yet."""
        n = len(goals)
        return cls(
            goals=goals.copy(),
            starts=achieved.copy(),
            targets=goals.copy(),
            edges=np.full((n, 2), -1),
            n_steps=np.zeros(n, np.int64),
            lost=np.zeros(n, np.bool_),
            foreseen=np.zeros(n, np.bool_),
            memory=EpisodeMemory(n),
            tries=EpisodeMemory(n, fail_cost=retry_cost),
        )
