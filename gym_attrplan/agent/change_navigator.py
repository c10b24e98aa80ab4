"""ChangeNavigator: chooses the next change for each environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.fingerprints import stand_for
from gym_attrplan.agent.journey import BoolArray, Journey
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.agent.ways import Ways
from gym_attrplan.attributes import GoalLike, GoalSet
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import EpisodeMemory, Plan, Planner
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.dependence import EVERYTHING, Dependence, Grouping
from gym_attrplan.graph.merging import Merged, group_of, merged, without
from gym_attrplan.graph.nearest import nearest_reachable
from gym_attrplan.graph.outcomes import HopOutcomes

Observations = dict[str, npt.NDArray[Any]]
Rows = npt.NDArray[np.int64]

DOUBT = 0.7
"""Factor on the probability of a change for each time that it was requested here in this episode.

It applies once more if the hop ran out of time: the episode has returned without progress.
"""

MAX_NAVIGATORS = 32
"""Maximum number of navigators that are kept for plans with some values merged."""

IMAGINED = 1 << 40
"""Offset of the number of a kind of hop, which keeps it apart from the number of a change."""


class ChangeNavigator:
    """Follows plans of changes: requests the next change when one holds or its time is up.

    Plans use the recorded outcomes of hops, or else the kinds of hops of a hop model.

    Args:
        outcomes: The outcomes of hops.
        options: How to plan.
        ways: Plans through descriptions that were never seen; None without a hop model.
        max_hop_steps: Maximum length of a hop in steps, before another one is tried.
        episode_steps: Length of an episode in steps, a limit on plans; None if unknown.
        grouping: Groups of attempts that count together; the outcomes have its values merged.
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        options: PlannerOptions,
        *,
        ways: Ways | None = None,
        max_hop_steps: int,
        episode_steps: int | None = None,
        grouping: Grouping = EVERYTHING,
    ) -> None:
        self.outcomes = outcomes
        self.options = options
        self.ways = ways
        self.max_hop_steps = max_hop_steps
        self.episode_steps = episode_steps
        self.changes = ChangePlanner(outcomes, grouping=grouping)
        ignored = options.ignore or ()
        self._ignored = [i for i, name in enumerate(outcomes.space.names) if name in ignored]
        self._merging: dict[Grouping, ChangeNavigator] = {}
        self._known_version = -1
        self._planner: Planner | None = None
        self._version = -1

    @property
    def planner(self) -> Planner:
        """The planner over single outcomes of hops, from which figures are drawn."""
        if self._planner is None or self._version != self.outcomes.version:
            self._planner, self._version = Planner(self.outcomes.hop_graph()), self.outcomes.version
        return self._planner

    def plan(
        self, description: npt.ArrayLike, goal: GoalLike, observation: Observations | None = None
    ) -> Plan | None:
        """Return the plan that :meth:`advance` follows from a description; None if there is none.

        Args:
            description: The start.
            goal: The goal.
            observation: Not used: changes do not depend on the rest of the state.
        """
        start = np.asarray(description, self.outcomes.space.dtype)[None]
        wanted = self.outcomes.space.read_goal(goal)
        merges, navigator = self._for(self._named(wanted))
        if navigator is not self:
            plan = navigator.plan(merged(start[0], merges), wanted)
            return None if plan is None else self._filled(plan, merges, start[0])
        if isinstance(wanted, GoalSet):
            plan = self.changes.plan(start[0], wanted, n_steps=self.episode_steps)
            if plan is None and self.ways is not None:
                plan = self.ways.plan_to_any(start[0], wanted)
            return plan
        if _holds(start, wanted)[0]:
            return self.changes.plan(start[0], wanted)
        nodes, numbers = self._choose(start, wanted[None], EpisodeMemory(1))
        if numbers[0] < 0:
            return None if self.ways is None else self.ways.plan(start[0], wanted)
        stand_in = self.outcomes.index.vectors(nodes)[0]
        first, n_steps = int(numbers[0]), self.episode_steps
        return self.changes.plan(stand_in, wanted, first=first, n_steps=n_steps)

    def _for(self, named: BoolArray) -> tuple[Merged, ChangeNavigator]:
        """Return the values that plans merge for some goals, and the navigator between the rest.

        Args:
            named: ``(n_attributes,)`` whether the goals name each attribute.
        """
        if self._known_version != self.outcomes.version:
            self._known_version = self.outcomes.version
            self._dependence = Dependence(self.outcomes)
            self._merging.clear()
        if self._ignored and not named[self._ignored].any():
            grouping = Grouping(without(self._ignored))
        elif self.options.ignore is None and self.ways is None:
            grouping = self._dependence.grouping(np.flatnonzero(named).tolist())
        else:
            return (), self
        if grouping == EVERYTHING:
            return (), self
        if grouping not in self._merging:
            if len(self._merging) == MAX_NAVIGATORS:
                del self._merging[next(iter(self._merging))]
            self._merging[grouping] = ChangeNavigator(
                self.outcomes.merge(grouping.merges),
                replace(self.options, ignore=()),
                max_hop_steps=self.max_hop_steps,
                episode_steps=self.episode_steps,
                grouping=grouping,
            )
        return grouping.merges, self._merging[grouping]

    def _named(self, goal: IntArray | GoalSet) -> BoolArray:
        """Return ``(n_attributes,)`` whether a goal names each attribute."""
        named: BoolArray = np.zeros(len(self.outcomes.space), np.bool_)
        if not isinstance(goal, GoalSet):
            named[:] = goal != FREE
            return named
        named[[place for alternative in goal.alternatives for place, _ in alternative]] = True
        return named

    def followed_plan(self, journey: Journey, env: int, description: IntArray) -> Plan | None:
        """Return the plan of an environment, from the hop that it has just begun.

        After a failure the episode may have chosen another hop than :meth:`plan` begins with.

        Args:
            journey: The progress of all environments.
            env: The environment.
            description: Its description.
        """
        goal, number = journey.goals[env], int(journey.edges[env, 1])
        if 0 <= number < IMAGINED:
            merges, navigator = self._for(goal != FREE)
            start, n_steps = merged(description, merges), self.episode_steps
            plan = navigator.changes.plan(start, goal, first=number, n_steps=n_steps)
            if plan is not None:
                return self._filled(plan, merges, description)
        return self.plan(description, goal)

    def _filled(self, plan: Plan, merges: Merged, start: IntArray) -> Plan:
        """Return a plan in which attributes keep their values until it changes their group."""
        vectors = plan.vectors.copy()
        for column, splits in merges:
            groups = group_of(vectors[:, column], splits)
            vectors[groups == groups[0], column] = start[column]
        return replace(plan, vectors=vectors, nodes=self.outcomes.index.find(vectors))

    def advance(
        self, journey: Journey | None, observations: Observations, new_episode: BoolArray
    ) -> Journey:
        """Return the journey after one more step, with a change for every environment to request.

        Args:
            journey: The last journey; None at the start.
            observations: ``{key: (n, …)}`` with ``achieved_goal`` and ``desired_goal``.
            new_episode: ``(n,)`` whether an episode has just begun.
        """
        achieved, goals = observations["achieved_goal"], observations["desired_goal"]
        journey, new_goal = Journey.resume(
            journey, achieved, goals, new_episode, self.options.retry_cost
        )
        # A row that requests no change is planned for after every change.
        no_change = (journey.targets == FREE).all(axis=1)
        moved = (achieved != journey.starts).any(axis=1)
        holds = np.where(no_change, moved, _holds(achieved, journey.targets)) & ~new_goal
        failed = (journey.n_steps >= self.max_hop_steps) & ~holds & ~new_goal
        if self.options.memory:
            wrong = np.flatnonzero(failed & (journey.edges >= 0).all(axis=1))
            journey.memory.fail(wrong, *journey.edges[wrong].T)
        journey.n_steps += 1
        rows = np.flatnonzero(new_goal | holds | failed)
        if len(rows):
            journey.begin_hops(rows, achieved, goals)
            self._aim(journey, rows)
        return journey

    def _aim(self, journey: Journey, rows: Rows) -> None:
        """Give each row a change; all attributes are free if no change is known to help."""
        named = journey.goals[rows] != FREE
        kinds, kind_of = np.unique(named, axis=0, return_inverse=True)
        for i, kind in enumerate(kinds):
            mine = rows[kind_of == i]
            merges, navigator = self._for(kind)
            navigator._head(journey, mine, merged(journey.starts[mine], merges))

    def _head(self, journey: Journey, rows: Rows, starts: IntArray) -> None:
        """Give each row the next change of its plan from a description."""
        goals = journey.goals[rows]
        nodes, numbers = self._choose(starts, goals, journey.memory, envs=rows)
        met = _holds(starts, goals)
        targets = np.where(met[:, None], goals, FREE).astype(goals.dtype)
        for i in np.flatnonzero((numbers < 0) & ~met).tolist():
            kind = self._imagine(starts[i], goals[i], journey.memory, int(rows[i]))
            if self.ways is None or kind < 0:
                numbers[i] = self._next_best(starts[i], goals[i])
            else:
                model = self.ways.search.model
                nodes[i], numbers[i] = stand_for(starts[i]), IMAGINED + model.numbers[kind]
                targets[i] = model.changes(starts[i], [kind])[0]
        found = (numbers >= 0) & ~met
        counted = found & (numbers < IMAGINED)
        if counted.any():
            targets[counted] = self.outcomes.changes(numbers[counted])
        journey.targets[rows] = targets
        journey.edges[rows] = np.stack([nodes, numbers], axis=1)
        if self.options.memory:
            noted = np.flatnonzero(found & (nodes >= 0))
            journey.memory.fail(rows[noted], nodes[noted], numbers[noted])
        journey.lost[rows] = ~found & ~met

    def _choose(
        self,
        starts: IntArray,
        goals: IntArray,
        memory: EpisodeMemory,
        envs: Rows | None = None,
    ) -> tuple[Rows, Rows]:
        """Return the nodes that represent descriptions, and the change to request; -1 for none."""
        envs = np.arange(len(starts)) if envs is None else envs
        nodes = self.outcomes.index.find(starts).astype(np.int64)
        if self.ways is None:
            for i in np.flatnonzero(nodes < 0).tolist():
                nodes[i] = self._most_similar(starts[i], goals[i])
        numbers = np.full(len(nodes), -1)
        known = np.flatnonzero(nodes >= 0)
        if not len(known):
            return nodes, numbers

        def faith(which: Rows, changes: Rows) -> npt.NDArray[np.float64]:
            rows = known[which]
            left = DOUBT ** memory.failures(envs[rows], nodes[rows], changes)
            asked = self.outcomes.changes(changes)
            return np.where(_holds(starts[rows], asked), 0.0, left)

        here = self.outcomes.index.vectors(nodes[known])
        numbers[known] = self.changes.next_changes(here, goals[known], faith=faith)
        return nodes, numbers

    def _imagine(
        self, description: IntArray, goal: IntArray, memory: EpisodeMemory, env: int
    ) -> int:
        """Return the kind of hop that the hop model proposes; -1 for none."""
        if self.ways is None:
            return -1
        node, numbers = stand_for(description), self.ways.search.model.numbers

        def failures(kinds: Rows) -> npt.NDArray[np.float64]:
            env_of, node_of = np.full(len(kinds), env), np.full(len(kinds), node)
            return memory.failures(env_of, node_of, IMAGINED + numbers[kinds])

        return self.ways.next_kind(description, goal, failures)

    def _next_best(self, description: IntArray, goal: IntArray) -> int:
        """Return the change to request if no plan reaches the goal; -1 to explore instead."""
        if self.options.unreachable == "explore":
            return -1
        node = int(self.outcomes.index.find(description)[0])
        if node >= 0:
            nearest = nearest_reachable(self.planner, node, goal)
            if nearest != node:
                instead = self.outcomes.index.vectors([nearest])
                return int(self.changes.next_changes([description], instead)[0])
        return self._part_of(description, goal)

    def _part_of(self, description: IntArray, goal: IntArray) -> int:
        """Return the change towards the goal that works best elsewhere; -1 if there is none."""
        columns = np.flatnonzero((goal != FREE) & (goal != description))
        singles = self.outcomes.singles(columns, goal[columns])
        numbers = self.outcomes.find_changes(singles)
        known = np.flatnonzero(numbers >= 0)
        if not len(known):
            return -1
        starts = np.repeat(description[None], len(known), axis=0)
        rates = self.outcomes.success_rates(starts, singles[known])
        return int(numbers[known[rates.argmax()]])

    def _most_similar(self, description: IntArray, goal: IntArray) -> int:
        """Return the node of the most similar description with a plan to the goal; -1 if none."""
        values = self.changes.values(goal).nodes
        able = np.flatnonzero((values > 0) & (values < 1))
        if not len(able):
            return -1
        n_different = (self.outcomes.index.vectors(able) != description).sum(axis=1)
        return int(able[np.lexsort([-values[able], n_different])[0]])


def _holds(achieved: IntArray, wanted: IntArray) -> BoolArray:
    held: BoolArray = ((achieved == wanted) | (wanted == FREE)).all(axis=-1)
    return held
