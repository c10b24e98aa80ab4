"""Foresight: choice of actions by the forward model's predictions, and a graph built from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import EpisodeMemory, Planner, TransitionCounts
from gym_attrplan.graph.nearest import best_neighbours
from gym_attrplan.models.forward import ForwardModel, Outcomes

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
Judge = Callable[[npt.NDArray[np.float32]], tuple[Array, IntArray, Rows]]

MIN_PROB = 0.5
"""Minimum predicted probability of a transition for it to be an edge of the graph."""

N_BEST = 16
"""Number of the best actions around which further candidates are drawn."""

NEARBY = 0.04
"""Standard deviation of these candidates, as a share of the action range."""

N_NEIGHBOURS = 15
"""Maximum number of neighbours in the graph that serve as targets, beside the goal."""

MIN_CHANCE = 1e-3
"""Minimum probability with which an action must lead to a target to be considered for it."""

_CHUNK = 2_048  # states imagined at a time


class Choice(NamedTuple):
    """The best action of each row, its predicted outcome, that outcome's node, and its cost."""

    actions: Array
    vectors: IntArray
    nodes: Rows
    costs: npt.NDArray[np.float64]

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """``(n,)`` whether any action leads towards the goal."""
        return np.isfinite(self.costs)


class Aims(NamedTuple):
    """Targets of actions: ``(n, k, …)`` vectors, which may be partial, nodes and costs."""

    vectors: IntArray
    nodes: Rows
    costs: npt.NDArray[np.float64]

    def improve(
        self, costs: npt.NDArray[np.float64], targets: Rows, outcomes: Outcomes
    ) -> tuple[npt.NDArray[np.float64], IntArray, Rows]:
        """Return ``(n, m)`` costs, vectors and nodes: of the best target if it costs less."""
        chances = outcomes.chances(self.vectors).astype(np.float64)
        aimed = np.where(chances < np.log(MIN_CHANCE), np.inf, self.costs[:, None] - chances)
        best = aimed.argmin(axis=2)
        row, column = np.nonzero(np.take_along_axis(aimed, best[..., None], 2)[..., 0] < costs)
        aim = best[row, column]
        named, vectors = self.vectors[row, aim], outcomes.vectors.copy()
        vectors[row, column] = np.where(named == FREE, vectors[row, column], named)
        costs, targets = costs.copy(), targets.copy()
        costs[row, column], targets[row, column] = aimed[row, column, aim], self.nodes[row, aim]
        return costs, vectors, targets


class Foresight:
    """Chooses actions by the forward model's predictions.

    A small discrete action space is searched completely. Otherwise candidates are drawn at random,
    and as many again around the best of them.

    Args:
        model: A fitted forward model, or any object with its ``foresee`` and ``layout``.
        n_candidates: Number of candidates, if actions cannot be enumerated.
        rng: Generator of the candidates, except in :meth:`choose`, which has a seed.
    """

    def __init__(
        self,
        model: ForwardModel,
        *,
        n_candidates: int = 256,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.model = model
        self._all = model.layout.all_actions()
        self._n_candidates = n_candidates
        self._rng = np.random.default_rng(0) if rng is None else rng

    @property
    def draws(self) -> bool:
        """Whether candidates are drawn because there are too many actions to enumerate."""
        return self._all is None

    @property
    def n_actions(self) -> int:
        """Number of actions considered in a state at first."""
        return self._n_candidates if self.draws else self.model.layout.n_choices

    def choose(
        self,
        observations: Mapping[str, Array],
        goals: IntArray,
        planner: Planner,
        *,
        envs: Rows,
        nodes: Rows,
        memory: EpisodeMemory | None,
        seed: int = 0,
    ) -> Choice:
        """Choose for each row the action with the lowest cost of itself and of the plan after it.

        An action is judged by its most probable outcome, by its probability to meet the goal at
        once, and by its probabilities to reach the best neighbours in the graph. So an action that
        works once in five times may still be the best.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal``.
            goals: ``(n, n_attributes)``.
            planner: Gives the cost from each outcome to the goal.
            envs: ``(n,)`` the environment of each row, for the memory.
            nodes: ``(n,)`` the rows' nodes, -1 for a vector without a node.
            memory: Extra costs within the running episodes.
            seed: Seed of the candidates; the same seed gives the same choice.
        """
        achieved = observations["achieved_goal"]

        def remembered(targets: Rows) -> npt.NDArray[np.float64]:
            extra = np.zeros(targets.shape)
            if memory is not None:
                row, column = np.nonzero((targets >= 0) & (nodes >= 0)[:, None])
                known = targets[row, column]
                extra[row, column] = memory.extra_cost(envs[row], nodes[row], known)
            return extra

        aims = self._aims(goals, planner, nodes)
        aims = aims._replace(costs=aims.costs + remembered(aims.nodes))

        def judge(candidates: npt.NDArray[np.float32]) -> tuple[Array, IntArray, Rows]:
            outcomes = self.model.foresee(observations, candidates)
            costs, targets = self._costs(achieved, goals, outcomes, planner)
            return aims.improve(costs + remembered(targets), targets, outcomes)

        return self._best(judge, len(goals), np.random.default_rng(seed))

    def follow(
        self,
        observations: Mapping[str, Array],
        course: IntArray,
        *,
        step_cost: float,
        extra: npt.NDArray[np.float64] | None = None,
        seed: int = 0,
    ) -> Choice:
        """Choose in a single state the action that leads best to any later description of a course.

        Args:
            observations: Key → ``(1, …)`` rows with ``achieved_goal``.
            course: ``(k, n_attributes)`` the remaining descriptions.
            step_cost: Cost of each action beside its improbability.
            extra: ``(m,)`` extra cost of each action, if actions can be enumerated.
            seed: Seed of the candidates.
        """
        left = step_cost * np.arange(len(course), 0, -1.0)
        aims = Aims(course[None], np.full((1, len(course)), -1), left[None])

        def judge(candidates: npt.NDArray[np.float32]) -> tuple[Array, IntArray, Rows]:
            outcomes = self.model.foresee(observations, candidates)
            none = np.full(outcomes.probs.shape, np.inf)
            costs, vectors, targets = aims.improve(none, np.full(none.shape, -1), outcomes)
            return costs if extra is None else costs + extra, vectors, targets

        return self._best(judge, 1, np.random.default_rng(seed))

    def _aims(self, goals: IntArray, planner: Planner, nodes: Rows) -> Aims:
        """Return the goals themselves, and the best neighbours in the graph, as targets."""
        index = planner.counts.index
        neighbours, onward = best_neighbours(planner, nodes, goals, N_NEIGHBOURS)
        vectors = index.vectors(np.maximum(neighbours, 0).ravel())
        whole = (goals != FREE).all(axis=1)
        goal_nodes = np.where(whole, index.find(np.where(whole[:, None], goals, 0)), -1)
        targets = np.concatenate([goal_nodes[:, None], neighbours], axis=1)
        costs = planner.step_cost + np.pad(onward, ((0, 0), (1, 0)))  # no cost remains at the goal
        vectors = np.concatenate([goals[:, None], vectors.reshape(*neighbours.shape, -1)], axis=1)
        return Aims(vectors, targets, costs)

    def seek(self, observations: Mapping[str, Array], pairs: npt.NDArray[np.float64]) -> Choice:
        """Choose for each row the action that changes something and has the highest expected bonus.

        Args:
            observations: Key → ``(n, …)`` rows with ``achieved_goal``.
            pairs: The bonus of each pair of values, see :meth:`Outcomes.worth`.
        """
        achieved = observations["achieved_goal"]

        def judge(candidates: npt.NDArray[np.float32]) -> tuple[Array, IntArray, Rows]:
            outcomes = self.model.foresee(observations, candidates)
            stays = (outcomes.vectors == achieved[:, None]).all(axis=2)
            costs = np.where(stays, np.inf, -outcomes.worth(pairs).astype(np.float64))
            return costs, outcomes.vectors, np.full(costs.shape, -1)

        return self._best(judge, len(achieved), self._rng)

    def _best(self, judge: Judge, n: int, rng: np.random.Generator) -> Choice:
        """Return the candidate with the lowest cost, as given by ``judge``."""
        rows = np.arange(n)
        candidates = self.candidates(n, rng)
        costs, vectors, targets = judge(candidates)
        if self.model.layout.n_values:
            again = self._around(candidates, costs, rng)
            more = judge(again)
            candidates = np.concatenate([candidates, again], axis=1)
            costs, vectors, targets = (
                np.concatenate(pair, axis=1)
                for pair in zip((costs, vectors, targets), more, strict=True)
            )
        best = costs.argmin(axis=1)
        chosen = candidates[best] if candidates.ndim == 2 else candidates[rows, best]
        return Choice(
            self.model.layout.to_env(chosen),
            vectors[rows, best],
            targets[rows, best],
            costs[rows, best],
        )

    def _costs(
        self, achieved: IntArray, goals: IntArray, outcomes: Outcomes, planner: Planner
    ) -> tuple[npt.NDArray[np.float64], Rows]:
        """Return ``(n, m)`` costs of actions and the plans after them, and the nodes reached."""
        vectors, probs = outcomes.vectors, outcomes.probs
        n, m, k = vectors.shape
        targets = planner.counts.index.find(vectors.reshape(-1, k)).astype(np.int64).reshape(n, m)
        costs = planner.step_cost - np.log(np.maximum(probs.astype(np.float64), 1e-12))
        met = planner.counts.space.matches(vectors, goals[:, None])
        for i, goal in enumerate(goals):
            costs[i] += np.where(met[i], 0.0, planner.distances(goal)[targets[i]])
        costs[(targets < 0) & ~met] = np.inf
        costs[(vectors == achieved[:, None]).all(axis=2)] = np.inf  # nothing would change
        return costs, targets

    def candidates(self, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.float32]:
        """Return actions in the models' form: ``(m, …)`` for all rows, or ``(n, m, …)`` drawn."""
        if self._all is not None:
            return self._all
        rng = self._rng if rng is None else rng
        drawn = self.model.layout.random_actions(n * self._n_candidates, rng)
        return drawn.reshape(n, self._n_candidates, -1)

    def _around(
        self,
        candidates: npt.NDArray[np.float32],
        costs: npt.NDArray[np.float64],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.float32]:
        """Draw as many candidates again, near the best of each row."""
        best = np.argsort(costs, axis=1)[:, :N_BEST]
        rows = np.arange(len(costs))[:, None]
        again = candidates[rows, best].repeat(self._n_candidates // N_BEST, axis=1)
        numbers = again[..., again.shape[2] - self.model.layout.n_values :]
        numbers += rng.normal(0.0, NEARBY, numbers.shape)
        np.clip(numbers, 0.0, 1.0, out=numbers)
        return again

    def imagine(self, observations: Mapping[str, Array]) -> TransitionCounts:
        """Build the graph of the transitions that the model predicts, as if attempted.

        The attempts of an edge are the states with the attributes of its source. Its successes are
        those states in which some action leads along it.

        Args:
            observations: Key → ``(n, …)`` states to predict from, with ``achieved_goal``.
        """
        counts = TransitionCounts(self.model.attribute_space)
        achieved = np.asarray(observations["achieved_goal"])
        for first in range(0, len(achieved), _CHUNK):
            rows = {key: part[first : first + _CHUNK] for key, part in observations.items()}
            states, vectors = self._possible(rows)
            counts.record(rows["achieved_goal"][states], vectors)
        if counts.n_edges:
            self._count_attempts(counts, achieved)
        return counts

    def _possible(self, rows: Mapping[str, Array]) -> tuple[Rows, IntArray]:
        """Return every outcome that some action makes probable: rows of the states, and vectors."""
        foreseen = self.model.foresee(rows, self.candidates(len(rows["achieved_goal"])))
        changes = (foreseen.vectors != rows["achieved_goal"][:, None]).any(axis=2)
        state, action = np.nonzero(changes & (foreseen.probs >= MIN_PROB))
        outcome = foreseen.vectors[state, action]
        keys = np.concatenate([state[:, None], outcome], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        return state[first], outcome[first]

    def _count_attempts(self, counts: TransitionCounts, achieved: IntArray) -> None:
        """Count an attempt from every state at each edge that starts from its attributes."""
        edges, index = counts.edges(), counts.index
        nodes = index.find(achieved)
        tried = np.bincount(nodes[nodes >= 0], minlength=edges.n_nodes)[edges.source]
        possible = edges.visits.astype(np.int64)  # a state was recorded once for each outcome
        for outcome, times in ((True, possible), (False, tried - possible)):
            which = np.repeat(np.arange(len(edges)), times)
            begin, end = (index.vectors(side[which]) for side in (edges.source, edges.target))
            counts.attempt(begin, end, outcome)
