"""Practice: which hop each world tries next while π learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from gym_attrplan.graph import ESTIMATORS, TransitionCounts
from gym_attrplan.graph.costs import cost_matrix

Rows = npt.NDArray[np.int64]

PRACTICES = ("visits", "need", "plans")

PLANNED_SHARE = 0.8
"""Of the hops; the others go to neighbours drawn by their visits, wherever plans do not lead."""

N_GOALS = 32
"""Nodes headed for at a time."""

EDGES_A_STEP = 30_000
"""Edges to be searched in a step of the worlds: larger graphs are searched less often."""

N_SEARCHES = 16
"""Of the ways to a goal, on average, before another takes its place."""

N_TRIES = 6
"""Goals a world looks at before it takes its place to be a dead end."""

STEP_COST = 0.01


class Practice:
    """Chooses the neighbour that each world hops to.

    By ``visits``, as in the paper, worlds walk at random and stay where exploring has been most
    often. By ``need`` they try what fails as often as it works. By ``plans`` they follow plans to
    random nodes: everywhere, along the edges that the agent will ask for, and an edge that fails
    becomes dearer, so that the next plan takes another.

    Args:
        counts: The graph, with the attempts so far.
        n_worlds: Number of worlds.
        by: One of :data:`PRACTICES`.
        rng: Draws neighbours and goals.
    """

    def __init__(
        self, counts: TransitionCounts, n_worlds: int, *, by: str, rng: np.random.Generator
    ) -> None:
        self.by = by
        self._counts = counts
        self._rng = rng
        self._n_calls = 0
        self._goals: Rows = np.full(N_GOALS, -1)
        self._onward: npt.NDArray[np.int32] = np.full((N_GOALS, 0), -1, np.int32)
        self._slots: Rows = np.full(n_worlds, -1)
        self._nodes: Rows = np.full(n_worlds, -1)

    def next_nodes(self, worlds: Rows, nodes: Rows) -> Rows:
        """The node to hop to in each of these worlds, now at ``nodes``; -1 where none is known."""
        chosen = np.full(len(nodes), -1)
        known = nodes >= 0
        by = "need" if self.by == "need" else "visits"
        if known.any():
            chosen[known] = self._counts.sample_neighbours(nodes[known], self._rng, by=by)
        if self.by == "plans":
            planned = self._along_plans(worlds, nodes)
            follow = (planned >= 0) & (self._rng.random(len(nodes)) < PLANNED_SHARE)
            chosen[follow] = planned[follow]
        return chosen

    def tick(self) -> None:
        """A step has passed: now and then search anew for the ways to one of the goals."""
        wait = 1 + self._counts.n_edges // EDGES_A_STEP
        if self.by == "plans" and self._counts.n_nodes and self._n_calls % wait == 0:
            self._search(self._n_calls // wait % N_GOALS)
        self._n_calls += 1

    def _search(self, slot: int) -> None:
        n_nodes = self._counts.n_nodes
        if self._goals[slot] < 0 or self._rng.random() < 1 / N_SEARCHES:
            self._goals[slot] = self._rng.integers(n_nodes)
            self._slots[self._slots == slot] = -1
        edges = self._counts.edges()
        costs: Any = cost_matrix(edges, ESTIMATORS["beta_mean"](edges), step_cost=STEP_COST)
        goal = self._goals[slot]
        _, onward = csgraph.dijkstra(costs.T.tocsr(), indices=goal, return_predecessors=True)
        n_new = n_nodes - self._onward.shape[1]
        self._onward = np.pad(self._onward, ((0, 0), (0, n_new)), constant_values=-1)
        self._onward[slot] = np.maximum(onward, -1)

    def _along_plans(self, worlds: Rows, nodes: Rows) -> Rows:
        """The next node of each world's plan; at its goal, or stuck, it takes another."""
        self._slots[worlds[nodes == self._nodes[worlds]]] = -1
        self._nodes[worlds] = nodes
        answers = np.full(len(worlds), -1)
        known = (nodes >= 0) & (nodes < self._onward.shape[1])
        for attempt in range(N_TRIES):
            left = np.flatnonzero(known & (answers < 0))
            if attempt:
                self._slots[worlds[left]] = self._rng.integers(N_GOALS, size=len(left))
            left = left[self._slots[worlds[left]] >= 0]
            answers[left] = self._onward[self._slots[worlds[left]], nodes[left]]
        return answers
