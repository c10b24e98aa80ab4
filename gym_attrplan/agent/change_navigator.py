"""ChangeNavigator: which change each environment should ask for, step after step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.journey import BoolArray, Journey
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.attributes import GoalLike
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import Plan, Planner
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.nearest import nearest_reachable
from gym_attrplan.graph.outcomes import HopOutcomes

Observations = dict[str, npt.NDArray[Any]]
Rows = npt.NDArray[np.int64]
SuccessProbs = Callable[[Observations], npt.NDArray[np.floating[Any]]]

FAILED = 0.5
"""What is left of the faith in a change, for every time that it failed here in this episode."""


class ChangeNavigator:
    """Follows plans made of changes: asks for the next one where one holds or its time is up.

    Args:
        outcomes: What hops did.
        options: How to plan.
        max_hop_steps: The longest hop before another way is tried.
        success_probs: The success model, for ``options.first_edge``; None if there is none yet.
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        options: PlannerOptions,
        *,
        max_hop_steps: int,
        success_probs: SuccessProbs | None = None,
    ) -> None:
        self.outcomes = outcomes
        self.success_probs = success_probs if options.first_edge else None
        self.options = options
        self.max_hop_steps = max_hop_steps
        self.changes = ChangePlanner(outcomes)

    @cached_property
    def planner(self) -> Planner:
        """Plans over single ends of hops: what figures are drawn from."""
        return Planner(self.outcomes.hop_graph())

    def plan(self, description: npt.ArrayLike, goal: GoalLike) -> Plan | None:
        """The plan that :meth:`advance` follows from a description; None if there is none."""
        vector = np.asarray(description)
        found = self.changes.plan(vector, goal)
        if self.outcomes.index.find(vector)[0] < 0:
            stand_in = self._most_similar(vector, self.outcomes.space.goal(goal))
            found = None if stand_in is None else self.changes.plan(stand_in, goal)
        return found

    def advance(
        self, journey: Journey | None, observations: Observations, new_episode: BoolArray
    ) -> Journey:
        """The journey one step on, with a change to ask for in every environment.

        Args:
            journey: The last answer; None at the very beginning.
            observations: ``{key: (n, …)}`` with ``achieved_goal`` and ``desired_goal``.
            new_episode: ``(n,)`` where an episode has just begun.
        """
        achieved, goals = observations["achieved_goal"], observations["desired_goal"]
        if journey is None or len(journey.goals) != len(goals):
            journey = Journey.begin(achieved, goals, self.options.retry_cost)
            new_episode = np.ones(len(goals), np.bool_)
        else:
            journey = copy.deepcopy(journey)  # the same state given again has the same answer
        asked_anew = new_episode | (goals != journey.goals).any(axis=1)
        # Without a change to ask for, whatever happens is news.
        no_change = (journey.targets == FREE).all(axis=1)
        moved = (achieved != journey.starts).any(axis=1)
        holds = np.where(no_change, moved, _holds(achieved, journey.targets)) & ~asked_anew
        failed = (journey.n_steps >= self.max_hop_steps) & ~holds & ~asked_anew
        if asked_anew.any():
            journey.memory.reset(np.flatnonzero(asked_anew))
            journey.tries.reset(np.flatnonzero(asked_anew))
        if self.options.memory:
            wrong = np.flatnonzero(failed & (journey.edges >= 0).all(axis=1))
            journey.memory.fail(wrong, *journey.edges[wrong].T)
        journey.n_steps += 1
        rows = np.flatnonzero(asked_anew | holds | failed)
        if len(rows):
            journey.goals[rows], journey.starts[rows] = goals[rows], achieved[rows]
            journey.n_steps[rows] = 1
            self._aim(journey, rows, observations)
        return journey

    def _aim(self, journey: Journey, rows: Rows, observations: Observations) -> None:
        """Give the rows a change each; all free where none is known that could help."""
        starts, goals = journey.starts[rows], journey.goals[rows]
        nodes = self.outcomes.index.find(starts).astype(np.int64)

        def faith(which: Rows, changes: Rows) -> npt.NDArray[np.float64]:
            failures = journey.memory.failures(rows[which], nodes[which], changes)
            left: npt.NDArray[np.float64] = FAILED**failures
            return left

        def first_probs(which: Rows, changes: Rows) -> npt.NDArray[np.float64]:
            assert self.success_probs is not None
            asked = {key: part[rows[which]] for key, part in observations.items()}
            asked["desired_goal"] = self.outcomes.changes(changes)
            return np.asarray(self.success_probs(asked), np.float64)

        judged = first_probs if self.success_probs is not None else None
        numbers = self.changes.next_changes(starts, goals, first_probs=judged, faith=faith)
        met = _holds(starts, goals)
        for i in np.flatnonzero((numbers < 0) & ~met).tolist():
            numbers[i] = self._next_best(starts[i], goals[i])
        targets = np.where(met[:, None], goals, FREE).astype(goals.dtype)
        found = numbers >= 0
        if found.any():
            targets[found] = self.outcomes.changes(numbers[found])
        journey.targets[rows] = targets
        journey.edges[rows] = np.stack([nodes, numbers], axis=1)

    def _next_best(self, description: IntArray, goal: IntArray) -> int:
        """What to ask for where no plan leads to the goal; -1 for nothing, to explore."""
        node = int(self.outcomes.index.find(description)[0])
        stand_in: IntArray | None = description
        if node < 0:
            stand_in = self._most_similar(description, goal)
        elif self.options.unreachable == "nearest":
            nearest = nearest_reachable(self.planner, node, goal)
            goal_there = self.outcomes.index.vectors([nearest])[0]
            if nearest != node:
                return int(self.changes.next_changes([description], [goal_there])[0])
        if stand_in is not None:
            number = int(self.changes.next_changes([stand_in], [goal])[0])
            if number >= 0 and not _holds(description, self.outcomes.changes([number])[0]):
                return number
        return self._part_of(description, goal)

    def _part_of(self, description: IntArray, goal: IntArray) -> int:
        """Of what the goal wants otherwise, the change that works best elsewhere; -1 if none."""
        columns = np.flatnonzero((goal != FREE) & (goal != description))
        singles = np.full((len(columns), len(goal)), FREE, goal.dtype)
        singles[np.arange(len(columns)), columns] = goal[columns]
        numbers = self.outcomes.find_changes(singles)
        known = np.flatnonzero(numbers >= 0)
        if not len(known):
            return -1
        starts = np.repeat(description[None], len(known), axis=0)
        rates = self.outcomes.success_rates(starts, singles[known])
        return int(numbers[known[rates.argmax()]])

    def _most_similar(self, description: IntArray, goal: IntArray) -> IntArray | None:
        """The most similar description with a way to the goal; None if there is none."""
        values = self.changes.values(goal).nodes
        able = np.flatnonzero((values > 0) & (values < 1))
        if not len(able):
            return None
        vectors = self.outcomes.index.vectors(able)
        n_different = (vectors != description).sum(axis=1)
        nearest: IntArray = vectors[np.lexsort([-values[able], n_different])[0]]
        return nearest


def _holds(achieved: IntArray, wanted: IntArray) -> BoolArray:
    held: BoolArray = ((achieved == wanted) | (wanted == FREE)).all(axis=-1)
    return held
