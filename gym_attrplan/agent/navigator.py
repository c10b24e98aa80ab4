"""Navigator: chooses the next neighbour for each environment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.fingerprints import stand_for
from gym_attrplan.agent.foresight import Choice, Foresight
from gym_attrplan.agent.journey import BoolArray, Journey
from gym_attrplan.agent.lookahead import Lookahead
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.attributes import GoalLike, GoalSet
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import Plan, Planner, TransitionCounts
from gym_attrplan.graph.nearest import nearest_reachable

Observations = dict[str, npt.NDArray[Any]]
Rows = npt.NDArray[np.int64]
SuccessProbs = Callable[[Observations], npt.NDArray[np.floating[Any]]]

SURE = 0.9
"""Minimum probability of a plan of the graph for it to be followed without lookahead."""

_TREE_BYTES = 1 << 28
"""Maximum size in bytes of the cached paths to goals of a batch of environments."""


class Navigator:
    """Follows plans for a batch of environments; re-plans when attributes change or a hop fails.

    Args:
        counts: The graph.
        options: How to plan.
        max_hop_steps: Maximum length of a hop in steps, before another one is tried.
        continuum: Whether actions are continuous, for ``options.step_cost``.
        success_probs: The success model, for ``options.first_edge``; None if there is none yet.
        foresight: The forward model, for ``options.forward``; None if there is none.
        lookahead: Searches plans if the graph has no probable one; None without its models.
    """

    def __init__(
        self,
        counts: TransitionCounts,
        options: PlannerOptions,
        *,
        max_hop_steps: int,
        continuum: bool = False,
        success_probs: SuccessProbs | None = None,
        foresight: Foresight | None = None,
        lookahead: Lookahead | None = None,
    ) -> None:
        self.options = options
        trees = _TREE_BYTES // (12 * max(1, counts.n_nodes))
        self.foresight = foresight if options.forward else None
        self.lookahead = lookahead if options.forward else None
        step_cost = 1.0 if continuum else 1e-3
        self.planner = Planner(
            counts,
            estimator=options.estimator,
            step_cost=step_cost if options.step_cost is None else options.step_cost,
            max_trees=max(256, trees),
        )
        self.max_hop_steps = max_hop_steps
        self.success_probs = success_probs if options.first_edge else None

    def plan(
        self, description: npt.ArrayLike, goal: GoalLike, observation: Observations | None = None
    ) -> Plan | None:
        """Return the plan from a description, or from the most similar one; None if there is none.

        Args:
            description: The start.
            goal: The goal.
            observation: Key → ``(1, …)`` the current state, from which lookahead searches if the
                graph has no probable plan.
        """
        if not self.planner.counts.n_nodes:
            return None
        plan = self.planner.plan(description, goal)
        cost = np.inf if plan is None else plan.cost
        if self._unsure(cost) and self.lookahead is not None and observation is not None:
            imagined = self._imagined(self.lookahead, description, goal, observation, cost)
            if imagined is not None:
                return imagined
        return plan or self.planner.plan(description, goal, unknown_start="nearest")

    def _imagined(
        self,
        lookahead: Lookahead,
        description: npt.ArrayLike,
        goal: GoalLike,
        observation: Observations,
        cost: float,
    ) -> Plan | None:
        """Return the plan that lookahead finds; None if none costs less than ``cost``."""
        space = self.planner.counts.space
        wanted = space.read_goal(goal)
        if isinstance(wanted, GoalSet):
            return None
        start = np.asarray(description, space.dtype)[None]
        step_cost = self.planner.step_cost
        rows = {**observation, "achieved_goal": start}
        course = lookahead.find(rows, wanted, step_cost=step_cost, max_cost=cost)
        if not course.reached:
            return None
        return Plan(
            nodes=np.full(len(course.vectors) + 1, -1),
            vectors=np.concatenate([start, course.vectors]),
            edge_probs=course.probs,
            cost=course.cost(step_cost),
            space=space,
        )

    def advance(
        self, journey: Journey | None, observations: Observations, new_episode: BoolArray
    ) -> Journey:
        """Return the journey after one more step, with a target for every environment.

        Args:
            journey: The last journey; None at the start.
            observations: ``{key: (n, …)}`` with ``achieved_goal`` and ``desired_goal``.
            new_episode: ``(n,)`` whether an episode has just begun.
        """
        achieved, goals = observations["achieved_goal"], observations["desired_goal"]
        journey, new_goal = Journey.resume(
            journey, achieved, goals, new_episode, self.options.retry_cost
        )
        moved = (achieved != journey.starts).any(axis=1) & ~new_goal
        failed = (journey.n_steps >= self.max_hop_steps) & ~moved & ~new_goal
        if self.options.memory:
            self._remember(journey, achieved, moved, failed)
        journey.n_steps += 1
        rows = np.flatnonzero(new_goal | moved | failed)
        if len(rows):
            journey.begin_hops(rows, achieved, goals)
            self._aim(journey, rows, observations)
        return journey

    def _remember(
        self, journey: Journey, achieved: IntArray, moved: BoolArray, failed: BoolArray
    ) -> None:
        """Record the visited nodes and failed hops of each episode."""
        memory = journey.memory
        strayed = moved & (achieved != journey.targets).any(axis=1)
        sources, targets = journey.edges.T
        left = np.flatnonzero(moved & (sources >= 0))
        wrong = np.flatnonzero((failed | strayed) & (sources >= 0) & (targets >= 0))
        memory.visit(left, sources[left])
        memory.fail(wrong, sources[wrong], targets[wrong])

    def _aim(self, journey: Journey, rows: Rows, observations: Observations) -> None:
        """Give each row a target, or mark it as lost."""
        achieved, goals = journey.starts[rows], journey.goals[rows]
        met = ((achieved == goals) | (goals == FREE)).all(axis=1)
        journey.foreseen[rows] = journey.lost[rows] = False
        journey.targets[rows] = np.where(met[:, None], achieved, goals)
        nodes = np.full(len(rows), -1)
        if len(self.planner.counts.index):
            nodes = self.planner.counts.index.find(achieved).astype(np.int64)
            self._foresee(journey, rows[~met], nodes[~met], observations)
        open_rows = ~met & ~journey.foreseen[rows]
        if open_rows.any():
            self._follow_graph(journey, rows[open_rows], nodes[open_rows], observations)

    def _foresee(
        self, journey: Journey, rows: Rows, nodes: Rows, observations: Observations
    ) -> None:
        """Let the forward model choose actions if it finds a plan to the goal, or close to it."""
        if self.foresight is None:
            return
        goals = journey.goals[rows]
        costs = self._choose(journey, rows, nodes, goals, observations)
        if self.lookahead is not None:
            for i in np.flatnonzero(self._unsure(costs)):
                self._look_ahead(self.lookahead, journey, int(rows[i]), observations, costs[i])
        if self.options.unreachable != "nearest":
            return
        blind = np.flatnonzero(~journey.foreseen[rows] & (nodes >= 0))
        for i in blind:
            goals[i] = self._next_best(journey, int(rows[i]), int(nodes[i]))
        if len(blind):
            self._choose(journey, rows[blind], nodes[blind], goals[blind], observations)

    def _unsure(self, costs: float | npt.NDArray[np.float64]) -> BoolArray:
        """Whether plans of the graph are improbable enough to look ahead for better ones.

        Drawn actions are hundreds in each imagined state. They are searched only where the graph
        has no plan.
        """
        drawn = self.foresight is not None and self.foresight.draws
        return np.asarray(np.isinf(costs) if drawn else costs > -np.log(SURE))

    def _next_best(self, journey: Journey, row: int, node: int) -> IntArray:
        """Return a substitute for a goal that is out of reach; computed once per episode."""
        known = journey.next_best.get(row)
        if known is None or (known == journey.starts[row]).all():
            nearest = nearest_reachable(self.planner, node, journey.goals[row])
            known = journey.next_best[row] = self.planner.counts.index.vectors([nearest])[0]
        return known

    def _choose(
        self,
        journey: Journey,
        rows: Rows,
        nodes: Rows,
        goals: IntArray,
        observations: Observations,
    ) -> npt.NDArray[np.float64]:
        """Record the forward model's choices and return ``(n,)`` their costs, inf for none."""
        if not len(rows):
            return np.zeros(0)
        assert self.foresight is not None
        choice = self.foresight.choose(
            {key: part[rows] for key, part in observations.items()},
            goals,
            self.planner,
            envs=rows,
            nodes=nodes,
            memory=journey.memory if self.options.memory else None,
            seed=journey.n_choices,
        )
        _note(journey, rows, nodes, choice)
        return choice.costs

    def _look_ahead(
        self,
        lookahead: Lookahead,
        journey: Journey,
        row: int,
        observations: Observations,
        cost: float,
    ) -> None:
        """Record an action for one row on an imagined plan, if that costs less than the graph's.

        Args:
            lookahead: Searches the plan.
            journey: Records the action.
            row: The environment.
            observations: Of all environments.
            cost: Cost of the graph's plan; infinite if there is none.
        """
        foresight, step_cost = lookahead.foresight, self.planner.step_cost
        seed = journey.n_choices
        seen = {key: part[[row]] for key, part in observations.items()}
        here, goal = journey.starts[row], journey.goals[row]
        node = np.array([stand_for(here)])
        done, counted = None, self.options.memory and not foresight.draws
        if counted:
            actions = np.arange(foresight.n_actions)
            envs, nodes = (np.repeat(one, len(actions)) for one in (row, node))
            done = journey.memory.failures(envs, nodes, actions)
        course = _rest(journey.courses.get(row), here)
        if not len(course):
            banned = None if done is None else done > 0  # actions tried here are not repeated
            search = partial(
                lookahead.find, seen, goal, step_cost=step_cost, max_cost=cost, seed=seed
            )
            found = search(banned=banned)
            if not found.reached and banned is not None and banned.any():
                found = search()
            if found.reached or np.isinf(cost):  # a partial plan is better than none
                course = found.vectors
        journey.courses[row] = course
        if not len(course):
            return
        choice = foresight.follow(seen, course, step_cost=step_cost, extra=done, seed=seed)
        _note(journey, np.array([row]), np.array([-1]), choice)
        if counted and choice.found[0]:
            journey.memory.fail([row], node, choice.actions)

    def _follow_graph(
        self, journey: Journey, rows: Rows, nodes: Rows, observations: Observations
    ) -> None:
        """Give rows whose goal is not met the next node of their plan, or mark them as lost."""
        index, goals = self.planner.counts.index, journey.goals[rows]
        hops = np.full(len(rows), -1)
        if len(index):
            for i in np.flatnonzero(nodes < 0):
                nodes[i] = self._stand_in(journey.starts[rows[i]], goals[i])
            hops = self.planner.next_hops(
                nodes,
                goals,
                first_edge_probs=self._first_edge_probs(observations),
                memory=journey.memory if self.options.memory else None,
                envs=rows,
            ).astype(np.int64)
        for i in np.flatnonzero(hops < 0):
            hops[i] = self._towards_nearest(int(nodes[i]), goals[i])
        found = hops >= 0
        if found.any():
            journey.targets[rows[found]] = index.vectors(hops[found])
        journey.edges[rows] = np.stack([nodes, hops], axis=1)
        journey.lost[rows] = ~found

    def _first_edge_probs(self, observations: Observations) -> Any:
        """Return the success model's predictions for the edges out of the current states."""
        model, index = self.success_probs, self.planner.counts.index
        if model is None:
            return None

        def probs(
            envs: npt.NDArray[np.int64], sources: IntArray, targets: IntArray
        ) -> npt.NDArray[np.floating[Any]]:
            rows = {key: part[envs] for key, part in observations.items()}
            rows["desired_goal"] = index.vectors(targets)
            return model(rows)

        return probs

    def _stand_in(self, vector: IntArray, goal: IntArray) -> int:
        """Return the node most similar to an unknown vector with a plan to the goal; -1 if none."""
        plan = self.planner.plan(vector, goal, unknown_start="nearest")
        return -1 if plan is None else int(plan.nodes[0])

    def _towards_nearest(self, node: int, goal: IntArray) -> int:
        """Return the next node towards the nearest match of a goal; -1 if already there."""
        if node < 0 or self.options.unreachable == "explore":
            return -1
        nearest = nearest_reachable(self.planner, node, goal)
        return self.planner.next_hop(node, self.planner.counts.index.vectors([nearest])[0])


def _rest(course: IntArray | None, here: IntArray) -> IntArray:
    """Return the part of a course after a description; empty if it is not on the course."""
    if course is None:
        return here[None][:0]
    passed = np.flatnonzero((course == here).all(axis=1))
    return course[passed[-1] + 1 :] if len(passed) else course[:0]


def _note(journey: Journey, rows: Rows, nodes: Rows, choice: Choice) -> None:
    """Record the forward model's choices for rows."""
    journey.n_choices += 1
    if journey.actions is None:
        shape = (len(journey.goals), *choice.actions.shape[1:])
        journey.actions = np.zeros(shape, choice.actions.dtype)
    chosen = rows[choice.found]
    journey.actions[chosen] = choice.actions[choice.found]
    journey.targets[chosen] = choice.vectors[choice.found]
    journey.edges[chosen] = np.stack([nodes, choice.nodes], axis=1)[choice.found]
    journey.foreseen[chosen] = True
