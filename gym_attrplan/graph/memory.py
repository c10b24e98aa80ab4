"""EpisodeMemory: extra costs of visited nodes and failed edges within an episode."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.index import KeyTable

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.float64]


class EpisodeMemory:
    """Raises the costs of visited nodes and failed edges until their episode ends.

    The graph has averages over states; an edge with a high probability may be impossible from the
    current state. As in real-time search, everything that an episode has tried costs more in that
    episode, so an agent leaves every loop. Give it to ``Planner.next_hops(..., memory=memory)``.

    Args:
        n_envs: Number of environments, each with an episode of its own.
        visit_cost: Added per earlier visit of an edge's target; 1 weighs like a probability of 1/e.
        fail_cost: Added per failed attempt at an edge.

    Raises:
        InvalidGraph: On no environments, or a cost that is not finite and at least 0.

    Example:
        >>> memory = EpisodeMemory(2, visit_cost=1.0, fail_cost=2.0)
        >>> memory.visit([0], [7])
        >>> memory.fail([0], [3], [7])
        >>> memory.extra_cost([0, 0, 1], [3, 4, 3], [7, 7, 7])
        array([3., 1., 0.])
        >>> memory.reset([0])
        >>> memory.extra_cost([0], [3], [7])
        array([0.])
    """

    def __init__(self, n_envs: int, *, visit_cost: float = 1.0, fail_cost: float = 1.0) -> None:
        if n_envs < 1:
            raise InvalidGraph(f"an episode memory needs an environment; received n_envs={n_envs}.")
        for name, cost in (("visit_cost", visit_cost), ("fail_cost", fail_cost)):
            if not 0.0 <= cost < np.inf:
                raise InvalidGraph(f"{name} is finite and at least 0; received {cost}.")
        self.visit_cost = visit_cost
        self.fail_cost = fail_cost
        # Every key contains the episode's number, so a new number forgets the old keys.
        self._episode = np.arange(n_envs, dtype=np.uint64)
        self._next_episode = n_envs
        self._visits = _Tally(n_words=2)
        self._failures = _Tally(n_words=3)

    @property
    def n_envs(self) -> int:
        """Number of environments."""
        return len(self._episode)

    @property
    def nbytes(self) -> int:
        """Number of bytes: bounded by the running episodes, not by the number of past ones."""
        return self._visits.nbytes + self._failures.nbytes + self._episode.nbytes

    def visit(self, envs: npt.ArrayLike, nodes: npt.ArrayLike) -> None:
        """Record that environments ``(n,)`` have reached nodes ``(n,)``."""
        self._visits.add(self._keys(envs, nodes), self._episode)

    def fail(self, envs: npt.ArrayLike, sources: npt.ArrayLike, targets: npt.ArrayLike) -> None:
        """Record that attempts at the edges source → target failed."""
        self._failures.add(self._keys(envs, sources, targets), self._episode)

    def reset(self, envs: npt.ArrayLike | None = None) -> None:
        """Forget the episodes of these environments, or of all."""
        chosen = np.arange(self.n_envs) if envs is None else np.unique(self._checked(envs))
        self._episode[chosen] = np.arange(self._next_episode, self._next_episode + len(chosen))
        self._next_episode += len(chosen)

    def failures(
        self, envs: npt.ArrayLike, sources: npt.ArrayLike, targets: npt.ArrayLike
    ) -> FloatArray:
        """Return how often attempts at the edges ``(n,)`` failed in the environments' episodes."""
        return self._failures.get(self._keys(envs, sources, targets))

    def extra_cost(
        self, envs: npt.ArrayLike, sources: npt.ArrayLike, targets: npt.ArrayLike
    ) -> FloatArray:
        """Return the extra costs of edges ``(n,)`` in the environments' episodes."""
        visits = self._visits.get(self._keys(envs, targets))
        return self.visit_cost * visits + self.fail_cost * self.failures(envs, sources, targets)

    def _keys(self, envs: npt.ArrayLike, *nodes: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        columns = [self._episode[self._checked(envs)]]
        for numbers in nodes:
            column = np.atleast_1d(np.asarray(numbers, np.int64))
            if column.shape != columns[0].shape:
                raise InvalidGraph(
                    f"one node for each of {len(columns[0])} environments; received {column.shape}."
                )
            columns.append(column.astype(np.uint64))
        return np.stack(columns, axis=1)

    def _checked(self, envs: npt.ArrayLike) -> IntArray:
        chosen = np.atleast_1d(np.asarray(envs, np.int64))
        unknown = (chosen < 0) | (chosen >= self.n_envs)
        if chosen.ndim != 1 or unknown.any():
            raise InvalidGraph(
                f"environments are numbered 0 to {self.n_envs - 1}; received {chosen}."
            )
        return chosen


class _Tally:
    """Counter of keys; keys of finished episodes are dropped from time to time."""

    def __init__(self, n_words: int) -> None:
        self._n_words = n_words
        self._table = KeyTable(n_words)
        self._times = np.zeros(1024)

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + self._times.nbytes

    def add(self, keys: npt.NDArray[np.uint64], running: npt.NDArray[np.uint64]) -> None:
        if len(self._table) + len(keys) > len(self._times):
            self._drop_finished(running, room=len(keys))
        np.add.at(self._times, self._table.add(keys), 1.0)

    def get(self, keys: npt.NDArray[np.uint64]) -> FloatArray:
        numbers = self._table.find(keys)
        return np.where(numbers >= 0, self._times[numbers], 0.0)

    def _drop_finished(self, running: npt.NDArray[np.uint64], room: int) -> None:
        rows, times = self._table.rows, self._times[: len(self._table)]
        kept = np.isin(rows[:, 0], running)
        rows, times = rows[kept], times[kept]
        self._table = KeyTable(self._n_words)
        self._table.add(rows)
        # Twice the needed size, so that the intervals between clearings grow with the size.
        self._times = np.zeros(max(1024, 2 * (len(times) + room)))
        self._times[: len(times)] = times
