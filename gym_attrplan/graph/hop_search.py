"""HopSearch: search of a plan through descriptions that were never seen."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import GoalLike
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph.bit_fields import Words
from gym_attrplan.graph.hop_model import BoolArray, FloatArray, HopModel
from gym_attrplan.graph.hop_task import HopTask

Keys: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]

MAX_STATES = 24_000_000
"""Maximum number of descriptions in a search, over both directions."""

_MAX_NEAR = 100_000
"""Maximum number of descriptions compared for the nearest, if the goal is out of reach."""


@dataclass(frozen=True, eq=False)
class Way:
    """Hops from a description to a goal, or as near to it as the search came.

    Args:
        kinds: ``(n_hops,)`` kinds of hops, in order.
        reached: Whether they lead to the goal.
    """

    kinds: Places
    reached: bool


class HopSearch:
    """Bidirectional search over imagined descriptions, in batches: from the start and the goal.

    Plans are ordered by cost: -log of each hop's probability, and its time, in multiples
    of the lowest cost of a hop. Hops whose order does not matter are tried in one order only,
    and attributes that neither the goal nor any hop depends on are left out.

    Args:
        model: The kinds of hops; the search follows its changes.
        discount: Factor on the value of a goal per step.
        max_seconds: Time limit in seconds, after which the nearest description found is returned.
        max_states: Maximum number of descriptions, and of those waiting to be expanded.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> model = HopModel(AttributeSpace(["a", "b", "c"]))
        >>> model.record([[0, 0, 0], [1, 1, 0]] * 9, [[1, 1, 0], [0, 0, 0]] * 9, n_steps=5)
        >>> model.record([[0, 0, 0], [0, 1, 1]] * 9, [[0, 1, 1], [0, 0, 0]] * 9, n_steps=5)
        >>> HopSearch(model).find([0, 0, 0], "a, not b, c").kinds
        array([0, 1])
    """

    def __init__(
        self,
        model: HopModel,
        *,
        discount: float = 0.99,
        max_seconds: float = 10.0,
        max_states: int = MAX_STATES,
    ) -> None:
        self.model = model
        self.discount = discount
        self.max_seconds = max_seconds
        self.max_states = max_states
        self._version = -1

    def find(
        self, start: npt.ArrayLike, goal: GoalLike, *, banned: npt.ArrayLike = ()
    ) -> Way | None:
        """Return the way from a description to a goal; None if no hop leads nearer to it.

        Args:
            start: The start.
            goal: The goal.
            banned: Kinds that must not come first; they may come later, also from the start.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        self._follow()
        wanted = self.model.space.goal(goal)
        here = self.model.space.check(start, leading=())
        if ((here == wanted) | (wanted == FREE)).all():
            return Way(np.zeros(0, np.int64), reached=True)
        sizes = self.model.space.sizes
        task = HopTask.of(wanted, sizes, self._kinds, self._allowed, self._weights)
        if not len(task.numbers):
            return None
        return _BothWays(self, task, here, set(np.asarray(banned, np.int64).tolist())).run()

    @property
    def costs(self) -> FloatArray:
        """``(n_kinds,)`` cost of a hop of each kind."""
        self._follow()
        return self._costs

    def _follow(self) -> None:
        if self._version == self.model.version:
            return
        self._version = self.model.version
        self._kinds, self._allowed = self.model.kinds, self.model.allowed()
        self._costs = -np.log(self.model.probs) - self.model.n_steps * math.log(self.discount)
        cheapest = max(self._costs.min(initial=1.0), 1e-9)
        self._weights = np.maximum(np.rint(self._costs / cheapest), 1).astype(int)


class _Level(NamedTuple):
    """Descriptions at one distance from the root of a search, in the order of their keys."""

    first: int
    words: Words
    keys: Keys
    parents: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int32]


class _Side:
    """One direction of a search: all descriptions up to a distance, and the hops that lead there.

    Args:
        task: The task.
        roots: ``(n, n_columns)`` the roots.
        sign: 1 forward, -1 backward.
        max_waiting: Maximum number of descriptions that wait for expansion, including duplicates.
        banned: Kinds, by the task's numbers, that must not come first. If there are any, a root
            at the start differs from the same description reached later.
    """

    def __init__(
        self,
        task: HopTask,
        roots: IntArray,
        *,
        sign: int,
        max_waiting: int,
        banned: frozenset[int] = frozenset(),
    ) -> None:
        self.levels: dict[int, _Level] = {}
        self.known: Keys = np.zeros(0, np.uint64)
        self.distance = -1
        self.banned = banned
        self._task, self._sign, self._max_waiting = task, sign, max_waiting
        self._n_states = 0
        self._waiting: dict[int, list[tuple[Words, Places, int]]] = defaultdict(list)
        none = np.full(len(roots), -1)
        self._waiting[0].append((task.fields.pack(roots), none, -1))

    @property
    def size(self) -> int:
        """Number of descriptions of the last step, which estimates the cost of the next."""
        return len(self.levels[self.distance].keys) if self.levels else 0

    def settle(self, deadline: float) -> _Level | None:
        """Add the descriptions at the next distance; return None if there are no more."""
        if self.levels and not self._expand(self.levels[self.distance], deadline):
            return None  # the waiting descriptions are incomplete
        if not self._waiting:
            return None
        self.distance = min(self._waiting)
        parts = self._waiting.pop(self.distance)
        words = np.concatenate([part[0] for part in parts])
        parents = np.concatenate([part[1] for part in parts]).astype(np.int32)
        lengths = [len(part[0]) for part in parts]
        kinds = np.repeat(np.array([part[2] for part in parts], np.int32), lengths)
        keys, first = np.unique(self._task.fields.keys(words), return_index=True)
        new = ~_in_sorted(keys, self.known)
        keys, first = keys[new], first[new]
        level = _Level(self._n_states, words[first], keys, parents[first], kinds[first])
        self.levels[self.distance] = level
        self._n_states += len(keys)
        if self.distance or not self.banned:
            self.known = np.concatenate([self.known, keys])
            self.known.sort(kind="stable")  # merges two sorted runs
        return level

    def _expand(self, level: _Level, deadline: float) -> bool:
        """Expand all hops from a level; return False if time or memory does not suffice."""
        task = self._task
        n_waiting = sum(len(part[0]) for parts in self._waiting.values() for part in parts)
        # Hops whose order does not matter come last, ordered by number.
        in_order = (level.kinds >= 0) & task.free_order[level.kinds]
        if self.banned:  # a banned kind may follow any first hop
            in_order &= level.parents != 0
        last = np.where(in_order, level.kinds, -1)
        for kind, weight in enumerate(task.weights.tolist()):
            if time.monotonic() > deadline or n_waiting > self._max_waiting:
                return False
            if self.distance == 0 and kind in self.banned:
                continue
            latest = kind - task.undoes_itself[kind] if task.free_order[kind] else -1
            rows = np.flatnonzero(last <= latest)
            words = level.words[rows]
            if self._sign > 0:
                fits = task.fields.fits(words, task.allowed[kind])
                words = task.fields.add(words[fits], task.kinds[kind])
            else:
                words = task.fields.add(words, -task.kinds[kind])
                fits = task.fields.fits(words, task.allowed[kind])
                words = words[fits]
            if len(words):
                reached = (words, level.first + rows[fits], kind)
                self._waiting[self.distance + weight].append(reached)
                n_waiting += len(words)
        return True

    def trace(self, number: int) -> list[int]:
        """Return the kinds of hops from a root to a description, in order."""
        kinds: list[int] = []
        while number >= 0:
            level = next(
                one for one in self.levels.values() if 0 <= number - one.first < len(one.keys)
            )
            kinds.append(int(level.kinds[number - level.first]))
            number = int(level.parents[number - level.first])
        return kinds[-2::-1]  # no hop leads to a root


class _BothWays:
    """One bidirectional search; see :class:`HopSearch`."""

    def __init__(self, search: HopSearch, task: HopTask, here: IntArray, banned: set[int]) -> None:
        self._task = task
        self._deadline = time.monotonic() + search.max_seconds
        self._max_states = search.max_states
        start = here[task.fields.columns][None]
        avoided = frozenset(np.flatnonzero(np.isin(task.numbers, list(banned))).tolist())
        room = search.max_states
        self._forward = _Side(task, start, sign=1, max_waiting=room, banned=avoided)
        self._backward = None
        if (roots := task.roots()) is not None:
            self._backward = _Side(task, roots, sign=-1, max_waiting=room)
        self._best: tuple[int, int, int] | None = None

    def run(self) -> Way | None:
        """Return the way found, or the way to the nearest description."""
        forward, backward = self._forward, self._backward
        forward.settle(math.inf)  # at least the start, which an answer needs
        both = backward is not None
        while not self._is_done():
            side = forward
            if both and backward is not None and backward.size < forward.size:
                side = backward
            level = side.settle(self._deadline)
            if level is not None:
                self._meet(side, level)
            elif side is backward:  # nothing more leads to the goal: find the nearest
                both = False
                self._max_states = min(self._max_states, len(backward.known) + _MAX_NEAR)
            else:
                break
        return self._answer()

    def _is_done(self) -> bool:
        if self._best is not None:
            cost = self._best[0]
            if self._backward is None:
                return True
            # A way of lower cost would take one hop from one side's known set to the other's.
            weights = self._task.weights
            heaviest = int(weights[weights <= cost].max())
            if cost <= self._forward.distance + self._backward.distance + 2 - heaviest:
                return True
        held = len(self._forward.known) + (len(self._backward.known) if self._backward else 0)
        return held > self._max_states or time.monotonic() > self._deadline

    def _meet(self, side: _Side, level: _Level) -> None:
        """Record the description of lowest cost that both directions have reached."""
        if self._backward is None:
            met = np.flatnonzero(self._task.fields.n_unmet(level.words, self._task.goal) == 0)
            if len(met) and self._best is None:
                self._best = side.distance, level.first + int(met[0]), -1
            return
        other = self._backward if side is self._forward else self._forward
        shared = level.keys[_in_sorted(level.keys, other.known)]
        if not len(shared):
            return
        for distance, theirs in sorted(other.levels.items()):
            if not distance and other.banned:
                continue
            both = np.flatnonzero(_in_sorted(shared, theirs.keys))
            cost = side.distance + distance
            if not len(both) or (self._best is not None and self._best[0] <= cost):
                continue
            key = shared[both[0]]
            mine = level.first + int(np.searchsorted(level.keys, key))
            their = theirs.first + int(np.searchsorted(theirs.keys, key))
            pair = (mine, their) if side is self._forward else (their, mine)
            self._best = cost, *pair

    def _answer(self) -> Way | None:
        if self._best is not None:
            _, ahead, behind = self._best
            kinds = self._forward.trace(ahead)
            if self._backward is not None:
                kinds += self._backward.trace(behind)[::-1]
            return Way(self._task.numbers[kinds], reached=True)
        kinds = self._forward.trace(self._nearest())
        return Way(self._task.numbers[kinds], reached=False) if kinds else None

    def _nearest(self) -> int:
        """Return the description that meets most of the goal, of those found from the start."""
        found, least = 0, math.inf
        for level in self._forward.levels.values():
            n_unmet = self._task.fields.n_unmet(level.words, self._task.goal)
            if len(n_unmet) and n_unmet.min() < least:
                found, least = level.first + int(n_unmet.argmin()), n_unmet.min()
        return found


def _in_sorted(keys: Keys, known: Keys) -> BoolArray:
    """Return ``(n,)`` whether each of the sorted keys is among other sorted keys."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    same: BoolArray = known[places] == keys
    return same
