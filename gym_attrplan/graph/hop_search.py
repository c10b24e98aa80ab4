"""HopSearch: a way to a goal through descriptions that nobody has seen."""

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
from gym_attrplan.graph.bit_fields import BitFields, Words
from gym_attrplan.graph.hop_model import BoolArray, HopModel

Keys: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]

MAX_STATES = 24_000_000
"""Descriptions that a search may hold, of both directions together."""

_MAX_NEAR = 100_000
"""So many descriptions are looked at for the nearest, where the goal is out of reach."""

_MAX_ROOTS = 4_096
"""A goal that as many descriptions meet, or fewer, is searched from as well as for."""


@dataclass(frozen=True, eq=False)
class Way:
    """Hops from a description to a goal, or as near to it as the search came.

    Args:
        kinds: ``(n_hops,)`` kinds of hops, the first one first.
        reached: Whether they lead to the goal.
    """

    kinds: Places
    reached: bool


class HopSearch:
    """Searches over imagined descriptions, in batches: forward from here, backward from the goal.

    Ways are ordered by what they cost: -log of each hop's probability, and its time, in multiples
    of what the cheapest hop costs. Hops whose order does not matter are tried in one order only,
    and attributes that neither the goal nor any hop asks about are left out.

    Args:
        model: The kinds of hops; the search follows its changes.
        discount: What a goal is worth that is a step further away.
        max_seconds: How long a search may take before it answers with the nearest it has found.
        max_states: How many descriptions it may hold, and how many may wait to be looked at.

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
        """The way from a description to a goal; None if no hop leads nearer to it.

        Args:
            start: Where to begin.
            goal: Where to go.
            banned: Kinds that shall not be the first. A way that comes by the start again is not
                found then.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        self._follow()
        wanted = self.model.space.goal(goal)
        here = self.model.space.check(start, leading=())
        if ((here == wanted) | (wanted == FREE)).all():
            return Way(np.zeros(0, np.int64), reached=True)
        sizes = self.model.space.sizes
        task = _Task.of(wanted, sizes, self._kinds, self._allowed, self._weights)
        if not len(task.numbers):
            return None
        return _BothWays(self, task, here, set(np.asarray(banned, np.int64).tolist())).run()

    def _follow(self) -> None:
        if self._version == self.model.version:
            return
        self._version = self.model.version
        self._kinds, self._allowed = self.model.kinds, self.model.allowed()
        cost = -np.log(self.model.probs) - self.model.n_steps * math.log(self.discount)
        self._weights = np.maximum(np.rint(cost / max(cost.min(initial=1.0), 1e-9)), 1).astype(int)


class _Task(NamedTuple):
    """What is left of the search when what does not matter has been left out."""

    fields: BitFields
    goal: IntArray
    numbers: Places
    kinds: IntArray
    allowed: BoolArray
    weights: Places
    free_order: BoolArray
    undoes_itself: BoolArray

    @classmethod
    def of(
        cls,
        goal: IntArray,
        sizes: IntArray,
        kinds: IntArray,
        allowed: BoolArray,
        weights: Places,
    ) -> _Task:
        """The task of reaching a goal with some kinds of hops."""
        within = np.arange(allowed.shape[2]) < sizes[:, None]
        needed: BoolArray = np.asarray((~allowed & within).any(axis=2))
        matters = goal != FREE
        while True:  # what a hop needs matters if the hop changes what matters
            useful = (kinds[:, matters] != 0).any(axis=1)
            more = matters | needed[useful].any(axis=0)
            if (more == matters).all():
                break
            matters = more
        columns, rows = np.flatnonzero(matters), np.flatnonzero(useful)
        kinds, needed = kinds[np.ix_(rows, columns)], needed[np.ix_(rows, columns)]
        asked, changed = needed.any(axis=0), (kinds != 0).any(axis=0)
        moves = (kinds != 0) & asked
        free_order = ~moves.any(axis=1) & ~(needed & changed).any(axis=1)
        fields = BitFields(columns, sizes[columns])
        return cls(
            fields=fields,
            goal=goal[columns],
            numbers=rows,
            kinds=kinds,
            allowed=allowed[rows][:, columns],
            weights=weights[rows],
            free_order=free_order,
            undoes_itself=(2 * kinds.astype(np.int64) % fields.sizes == 0).all(axis=1),
        )

    def roots(self) -> IntArray | None:
        """Descriptions that meet the goal; None if they are too many."""
        free = np.flatnonzero(self.goal == FREE)
        if np.prod(self.fields.sizes[free].astype(float)) > _MAX_ROOTS:
            return None
        choices = np.meshgrid(*(np.arange(self.fields.sizes[i]) for i in free), indexing="ij")
        vectors = np.tile(self.goal, (max(choices[0].size, 1) if choices else 1, 1))
        for i, values in zip(free, choices, strict=True):
            vectors[:, i] = values.ravel()
        return vectors


class _Level(NamedTuple):
    """Descriptions at one distance from where a search began, in the order of their keys."""

    first: int
    words: Words
    keys: Keys
    parents: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int32]


class _Side:
    """One direction of a search: all descriptions up to a distance, and how to get there.

    Args:
        task: What is searched for.
        roots: ``(n, n_columns)`` where it begins.
        sign: 1 forward, -1 backward.
        banned: Kinds, as the task numbers them, that do not come first.
        max_waiting: How many descriptions may wait to be taken in, some of them twice.
        closed: A description that is never entered; None for none.
    """

    def __init__(
        self,
        task: _Task,
        roots: IntArray,
        *,
        sign: int,
        max_waiting: int,
        banned: frozenset[int] = frozenset(),
        closed: Keys | None = None,
    ) -> None:
        self.levels: dict[int, _Level] = {}
        self.known: Keys = np.zeros(0, np.uint64)
        self.distance = -1
        self._task, self._sign, self._banned = task, sign, banned
        self._closed = np.zeros(0, np.uint64) if closed is None else closed
        self._max_waiting = max_waiting
        self._waiting: dict[int, list[tuple[Words, Places, int]]] = defaultdict(list)
        none = np.full(len(roots), -1)
        self._waiting[0].append((task.fields.pack(roots), none, -1))

    @property
    def size(self) -> int:
        """How many descriptions the last step has brought: what the next one will cost."""
        return len(self.levels[self.distance].keys) if self.levels else 0

    def settle(self, deadline: float) -> _Level | None:
        """Take in the descriptions that come next; None if there are no more."""
        if self.levels and not self._expand(self.levels[self.distance], deadline):
            return None  # what is waiting is not complete
        if not self._waiting:
            return None
        self.distance = min(self._waiting)
        parts = self._waiting.pop(self.distance)
        words = np.concatenate([part[0] for part in parts])
        parents = np.concatenate([part[1] for part in parts]).astype(np.int32)
        lengths = [len(part[0]) for part in parts]
        kinds = np.repeat(np.array([part[2] for part in parts], np.int32), lengths)
        keys, first = np.unique(self._task.fields.keys(words), return_index=True)
        new = ~_in_sorted(keys, self.known) & ~_in_sorted(keys, self._closed)
        keys, first = keys[new], first[new]
        level = _Level(len(self.known), words[first], keys, parents[first], kinds[first])
        self.levels[self.distance] = level
        self.known = np.concatenate([self.known, keys])
        self.known.sort(kind="stable")  # two sorted runs are merged
        return level

    def _expand(self, level: _Level, deadline: float) -> bool:
        """See where every hop leads from a level; False if there is no time or room for it."""
        task = self._task
        n_waiting = sum(len(part[0]) for parts in self._waiting.values() for part in parts)
        # Hops whose order does not matter come last, and by their numbers.
        in_order = (level.kinds >= 0) & task.free_order[level.kinds]
        if self._banned:  # what may not come first may come after any first hop
            in_order &= level.parents != 0
        last = np.where(in_order, level.kinds, -1)
        for kind, weight in enumerate(task.weights.tolist()):
            if time.monotonic() > deadline or n_waiting > self._max_waiting:
                return False
            if self.distance == 0 and kind in self._banned:
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
        """The kinds of hops from a root to a description, the first one first."""
        kinds: list[int] = []
        while number >= 0:
            level = next(
                one for one in self.levels.values() if 0 <= number - one.first < len(one.keys)
            )
            kinds.append(int(level.kinds[number - level.first]))
            number = int(level.parents[number - level.first])
        return kinds[-2::-1]  # a root came by no hop


class _BothWays:
    """One search; see :class:`HopSearch`."""

    def __init__(self, search: HopSearch, task: _Task, here: IntArray, banned: set[int]) -> None:
        self._task = task
        self._deadline = time.monotonic() + search.max_seconds
        self._max_states = search.max_states
        start = here[task.fields.columns][None]
        key = task.fields.keys(task.fields.pack(start))
        avoided = frozenset(np.flatnonzero(np.isin(task.numbers, list(banned))).tolist())
        room, closed = search.max_states, key if avoided else None
        self._forward = _Side(task, start, sign=1, max_waiting=room, banned=avoided)
        self._backward = None
        if (roots := task.roots()) is not None:
            self._backward = _Side(task, roots, sign=-1, max_waiting=room, closed=closed)
        self._best: tuple[int, int, int] | None = None

    def run(self) -> Way | None:
        """The way found, or the nearest description."""
        forward, backward = self._forward, self._backward
        forward.settle(math.inf)  # the start itself: an answer needs one
        both = backward is not None
        while not self._is_done():
            side = forward
            if both and backward is not None and backward.size < forward.size:
                side = backward
            level = side.settle(self._deadline)
            if level is not None:
                self._meet(side, level)
            elif side is backward:  # nothing more leads to the goal: look for what is nearest
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
            # A cheaper way would cross in one hop from what one side knows to what the other does.
            weights = self._task.weights
            heaviest = int(weights[weights <= cost].max())
            if cost <= self._forward.distance + self._backward.distance + 2 - heaviest:
                return True
        held = len(self._forward.known) + (len(self._backward.known) if self._backward else 0)
        return held > self._max_states or time.monotonic() > self._deadline

    def _meet(self, side: _Side, level: _Level) -> None:
        """Note the cheapest description that both directions have come to."""
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
        """The description that meets most of the goal, of those found from the start."""
        found, least = 0, math.inf
        for level in self._forward.levels.values():
            n_unmet = self._task.fields.n_unmet(level.words, self._task.goal)
            if len(n_unmet) and n_unmet.min() < least:
                found, least = level.first + int(n_unmet.argmin()), n_unmet.min()
        return found


def _in_sorted(keys: Keys, known: Keys) -> BoolArray:
    """``(n,)`` which of some sorted keys are among others, sorted too."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    same: BoolArray = known[places] == keys
    return same
