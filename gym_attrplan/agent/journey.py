"""Journey: where every environment of a batch is on its way."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.trail import Trail
from gym_attrplan.attributes import GoalSet
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
        courses: Environment → the descriptions that it means to pass through, imagined ahead.
        trail: Where they have come from.
        memory: What this episode made more costly.
        tries: Which actions it tried where.
        n_pushes: Steps in which some environment's actions were drawn: a hop tried again, or lost.
        n_choices: Times that the forward model has chosen: the seed of its candidates.
        asked: The set of descriptions that ``goals`` were chosen from; None for the
            observations' own goals.
    """

    goals: IntArray
    starts: IntArray
    targets: IntArray
    edges: npt.NDArray[np.int64]
    n_steps: npt.NDArray[np.int64]
    lost: BoolArray
    foreseen: BoolArray
    trail: Trail = field(repr=False)
    memory: EpisodeMemory = field(repr=False)
    tries: EpisodeMemory = field(repr=False)
    actions: npt.NDArray[Any] | None = None
    next_best: dict[int, IntArray] = field(default_factory=dict, repr=False)
    courses: dict[int, IntArray] = field(default_factory=dict, repr=False)
    n_pushes: int = 0
    n_choices: int = 0
    asked: GoalSet | None = None

    @classmethod
    def go_on(
        cls,
        journey: Journey | None,
        achieved: IntArray,
        goals: IntArray,
        new_episode: BoolArray,
        retry_cost: float,
    ) -> tuple[Journey, BoolArray]:
        """A journey to be changed, and ``(n,)`` where something new is asked for.

        Args:
            journey: The last one, which is left as it is: the same state given again has the same
                answer. None, or one of another number of environments, begins anew.
            achieved: ``(n, n_attributes)`` where the environments are.
            goals: ``(n, n_attributes)`` what is asked for now.
            new_episode: ``(n,)`` where an episode has just begun.
            retry_cost: What an action costs for each time it was tried.
        """
        if journey is None or len(journey.goals) != len(goals):
            return cls.begin(achieved, goals, retry_cost), np.ones(len(goals), np.bool_)
        asked_anew = new_episode | (goals != journey.goals).any(axis=1)
        journey = copy.deepcopy(journey)
        journey.trail.go_on(achieved, new_episode)
        if asked_anew.any():
            rows = np.flatnonzero(asked_anew)
            journey.memory.reset(rows)
            journey.tries.reset(rows)
            for row in rows.tolist():
                journey.next_best.pop(row, None)
                journey.courses.pop(row, None)
        return journey, asked_anew

    def begin_hops(self, rows: npt.NDArray[np.int64], starts: IntArray, goals: IntArray) -> None:
        """Have a hop begin in each of the rows."""
        self.starts[rows], self.goals[rows] = starts[rows], goals[rows]
        self.n_steps[rows] = 1

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
            trail=Trail(achieved),
            memory=EpisodeMemory(n),
            tries=EpisodeMemory(n, fail_cost=retry_cost),
        )
