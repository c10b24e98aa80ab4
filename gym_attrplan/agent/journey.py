"""Journey: the progress of every environment of a batch along its plan."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.trail import Trail
from gym_attrplan.attributes import GoalSet
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import EpisodeMemory

BoolArray = npt.NDArray[np.bool_]


@dataclass
class Journey:
    """Progress of every environment of a batch along its plan: the ``state`` of ``predict``.

    Attributes:
        goals: ``(n, n_attributes)`` the goals.
        starts: Descriptions at the start of the running hops.
        targets: Targets of the running hops.
        edges: ``(n, 2)`` starts and targets as nodes of the graph; -1 for a vector without a node.
        n_steps: ``(n,)`` steps of the running hop so far.
        lost: Whether there is no plan, so that the explorer acts.
        foreseen: Whether the forward model has chosen an action.
        actions: ``(n, …)`` those actions; None without a forward model.
        next_best: Environment → its substitute goal, if its goal is out of reach.
        courses: Environment → the descriptions of its imagined plan.
        trail: The previous descriptions.
        memory: Extra costs within the episodes.
        tries: Counts of the actions tried within the episodes.
        given_up: Environment → goals of the episode that others replaced before they held.
        n_pushes: Number of steps in which some action was sampled, after a failure or when lost.
        n_choices: Number of choices of the forward model: the seed of its candidates.
        asked: The goal set that ``goals`` were chosen from; None for the goals of the
            observations.
        hidden: ``(n, …)`` hidden state of the hop policy after the last step; None if it has no
            memory, or before the first step. It lasts for the episode, over all hops and goals.
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
    given_up: dict[int, set[bytes]] = field(default_factory=dict, repr=False)
    n_pushes: int = 0
    n_choices: int = 0
    asked: GoalSet | None = None
    hidden: npt.NDArray[np.float32] | None = field(default=None, repr=False)

    @classmethod
    def resume(
        cls,
        journey: Journey | None,
        achieved: IntArray,
        goals: IntArray,
        new_episode: BoolArray,
        retry_cost: float,
    ) -> tuple[Journey, BoolArray]:
        """Return a journey to be changed, and ``(n,)`` whether each environment has a new goal.

        Args:
            journey: The last journey, which is not changed, so that the same state always has the
                same answer. None, or a different number of environments, starts a new journey.
            achieved: ``(n, n_attributes)`` the current descriptions.
            goals: ``(n, n_attributes)`` the current goals.
            new_episode: ``(n,)`` whether an episode has just begun.
            retry_cost: Extra cost of an action for each time it was tried.
        """
        if journey is None or len(journey.goals) != len(goals):
            return cls.begin(achieved, goals, retry_cost), np.ones(len(goals), np.bool_)
        new_goal = new_episode | (goals != journey.goals).any(axis=1)
        journey = copy.deepcopy(journey)
        journey.trail.update(achieved, new_episode)
        if journey.hidden is not None:
            journey.hidden[new_episode] = 0.0
        if new_goal.any():
            rows = np.flatnonzero(new_goal)
            journey.memory.reset(rows)
            fresh = []
            for row in rows.tolist():
                journey.next_best.pop(row, None)
                journey.courses.pop(row, None)
                if new_episode[row]:
                    journey.given_up.pop(row, None)
                if new_episode[row] or journey._leave_goal(row, achieved[row], goals[row]):
                    fresh.append(row)
            journey.tries.reset(fresh)
        return journey, new_goal

    def _leave_goal(self, row: int, achieved: IntArray, new: IntArray) -> bool:
        """Leave a goal for a new one; return whether it holds and the new one was not given up.

        Otherwise a sequence of goals may go in circles, and the actions tried still count.
        """
        given_up, last = self.given_up.setdefault(row, set()), self.goals[row]
        if ((achieved == last) | (last == FREE)).all():
            given_up.discard(last.tobytes())
            return new.tobytes() not in given_up
        given_up.add(last.tobytes())
        return False

    def begin_hops(self, rows: npt.NDArray[np.int64], starts: IntArray, goals: IntArray) -> None:
        """Begin a hop in each of the rows."""
        self.starts[rows], self.goals[rows] = starts[rows], goals[rows]
        self.n_steps[rows] = 1

    @classmethod
    def begin(cls, achieved: IntArray, goals: IntArray, retry_cost: float) -> Journey:
        """Create the journey at the start, before any step."""
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
