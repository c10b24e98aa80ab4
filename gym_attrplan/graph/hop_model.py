"""HopModel: kinds of hops, their conditions and their success probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.index import NodeIndex

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int64]
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

UNLIKELY = 1e-4
"""Maximum probability of not having seen a value by chance, for it to be ruled out."""

ODD = 0.1
"""Share of the hops of others below which a kind of hop gets a lower probability."""

RARE = 0.05
"""Minimum share of the expected cases in which a value was seen, for it not to be ruled out."""

USUAL = 0.5
"""Share of the expected cases below which a value lowers the probability of a kind."""


class _Cases(NamedTuple):
    """Cases of kinds of hops: each kind as it usually happens, and some in unusual conditions.

    Attributes:
        kind: ``(n_cases,)`` the kind.
        allowed: ``(n_cases, n_attributes, max_size)`` the values from which it starts.
        share: ``(n_cases,)`` its frequency there, relative to the expected one.
    """

    kind: Places
    allowed: BoolArray
    share: FloatArray


class HopModel:
    """Model of hops by their kind: which attributes change, and by how much.

    A table of descriptions must have seen each transition; a model need not. "This button flips
    these lights" is one kind of hop, whatever the state of the other lights. A kind is the
    difference of two descriptions, modulo the attributes' sizes, so it predicts the outcome of a
    hop from descriptions that were never seen. If an attribute has three words or more as values,
    their difference means nothing: then both values are part of the kind.

    The conditions of a kind come from the descriptions where it happened. If an attribute never had
    some value there, although it should have had it by chance, that value rules the kind out. So a
    kind has few conditions, and :meth:`explain` can name them. A value that occurred less often
    than by chance lowers the probability. Such a kind is listed twice: with its usual conditions,
    and, with a smaller probability, with wider ones.

    Args:
        space: The attributes.

    Example:
        >>> space = AttributeSpace({"door": ["locked", "open"], "lamp": 2})
        >>> model = HopModel(space)
        >>> model.record([[1, 0], [1, 1]] * 20, [[1, 1], [1, 0]] * 20, n_steps=10)
        >>> model.record([[0, 0], [0, 1]] * 20, [[1, 0], [1, 1]] * 20, n_steps=10)
        >>> print(model.explain(0))
        changes: lamp; needs: door=open; works 0.98
    """

    def __init__(self, space: AttributeSpace) -> None:
        self.space = space
        self.version = 0  # changes with every change of the model, for a planner's cache
        self._worded = np.array([name in space.words for name in space.names])
        self._named = np.flatnonzero(self._worded & (space.sizes > 2))
        sizes = [*space.sizes.tolist(), *space.sizes[self._named].tolist()]
        self._kinds = NodeIndex(AttributeSpace({str(i): size for i, size in enumerate(sizes)}))
        self._seen = np.zeros((0, len(space), int(space.sizes.max())))
        self._steps = np.zeros(0)
        self._known_cases: _Cases | None = None

    # --- writing ----------------------------------------------------------------------------

    def record(self, starts: npt.ArrayLike, ends: npt.ArrayLike, *, n_steps: npt.ArrayLike) -> None:
        """Count observed hops.

        Args:
            starts: ``(n, n_attributes)`` descriptions at their start.
            ends: ``(n, n_attributes)`` descriptions at their end, which differ.
            n_steps: ``(n,)`` their lengths in steps.

        Raises:
            InvalidAttributes: If a description does not belong to the space.
            InvalidGraph: If a hop ends where it starts.
        """
        start = np.atleast_2d(self.space.check(starts, source="a start"))
        change = self.differences(start, ends)
        came_from = np.where(change[:, self._named] != 0, start[:, self._named], 0)
        kind = self._kinds.add(np.concatenate([change, came_from], axis=1)).astype(np.int64)
        n_new = len(self._kinds) - len(self._seen)
        self._seen = np.concatenate([self._seen, np.zeros((n_new, *self._seen.shape[1:]))])
        self._steps = np.concatenate([self._steps, np.zeros(n_new)])
        columns = np.arange(len(self.space))
        np.add.at(self._seen, (kind[:, None], columns, start), 1.0)
        np.add.at(self._steps, kind, np.broadcast_to(np.asarray(n_steps, np.float64), len(kind)))
        self._changed()

    def differences(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> IntArray:
        """Return ``(n, n_attributes)`` changes, modulo the sizes; 0 where nothing changed.

        Raises:
            InvalidAttributes: If a description does not belong to the space.
            InvalidGraph: If a hop ends where it starts.
        """
        start = np.atleast_2d(self.space.check(starts, source="a start")).astype(np.int64)
        end = np.atleast_2d(self.space.check(ends, source="an end")).astype(np.int64)
        change = ((end - start) % self.space.sizes).astype(self.space.dtype)
        same = ~change.any(axis=1)
        if same.any():
            where = self.space.describe(start[same.argmax()])
            raise InvalidGraph(f"a hop ends elsewhere than it starts; received one at {where}.")
        return change

    # --- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._cases.kind)

    @property
    def numbers(self) -> Places:
        """``(n_kinds,)`` numbers of the kinds; the cases of a kind have the same number."""
        return self._cases.kind

    @property
    def kinds(self) -> IntArray:
        """``(n_kinds, n_attributes)`` the change of each: a number to add, modulo the size."""
        return self._changes(self.numbers)

    @property
    def n_hops(self) -> FloatArray:
        """``(n_kinds,)`` number of hops seen of each kind."""
        return self._counted()[self.numbers]

    @property
    def n_steps(self) -> FloatArray:
        """``(n_kinds,)`` their mean length."""
        return (self._steps / np.maximum(self._counted(), 1.0))[self.numbers]

    @property
    def probs(self) -> FloatArray:
        """``(n_kinds,)`` success probability of each kind where its conditions hold.

        Only successful hops are seen. This is the rule of succession for that number of successes
        and no failure. It is lower for kinds that are far rarer than others, which may be two
        simultaneous changes or wrong attributes, and for kinds that happen less often than
        expected.
        """
        n = self._counted()
        ordered = np.sort(n)
        typical = ordered[np.searchsorted(ordered.cumsum(), n.sum() / 2.0)] if len(n) else 1.0
        surely = (n + 1.0) / (n + 2.0) * np.minimum(1.0, n / (ODD * typical))
        probs: FloatArray = surely[self.numbers] * self._cases.share
        return probs

    def allowed(self) -> BoolArray:
        """``(n_kinds, n_attributes, max_size)`` which values an attribute may have for a kind.

        Beside the ruled-out values, an attribute increases or decreases only as seen, and one with
        words as values changes only from values that were seen.
        """
        return self._cases.allowed

    def _changes(self, numbers: Places) -> IntArray:
        """Return ``(n, n_attributes)`` the changes of counted kinds."""
        return self._kinds.vectors(numbers)[:, : len(self.space)]

    def _counted(self) -> FloatArray:
        """Return the number of hops of each counted kind."""
        n: FloatArray = self._seen[:, 0].sum(axis=1)
        return n

    @property
    def _cases(self) -> _Cases:
        if self._known_cases is None:
            self._known_cases = self._find_cases()
        return self._known_cases

    def _changed(self) -> None:
        self._known_cases = None
        self.version += 1

    def _find_cases(self) -> _Cases:
        n = self._counted()[:, None, None]
        share = self._seen.sum(axis=0) / max(n.sum(), 1.0)
        expected = n * share
        # Probability to see a value at most this often, if hops of a kind started anywhere.
        chance = betainc(np.maximum(n - self._seen, 1e-9), self._seen + 1.0, 1.0 - share)
        fine = self._directions()
        usual: BoolArray = fine & ((self._seen > USUAL * expected) | (chance > UNLIKELY))
        possible: BoolArray = fine & ((self._seen > RARE * expected) | (chance > UNLIKELY))
        unusual = possible & ~usual
        twice = np.flatnonzero(unusual.any(axis=(1, 2)))
        shares = np.divide(self._seen, expected, out=np.ones_like(self._seen), where=unusual)
        return _Cases(
            kind=np.concatenate([np.arange(len(n)), twice]),
            allowed=np.concatenate([usual, possible[twice]]),
            share=np.concatenate([np.ones(len(n)), shares.min(axis=(1, 2))[twice]]),
        )

    def _directions(self) -> BoolArray:
        """Return values from which an attribute changes in the seen direction, or not at all."""
        sizes, seen = self.space.sizes[:, None], self._seen > 0
        kinds = self._changes(np.arange(len(self._kinds)))[:, :, None].astype(np.int64)
        values = np.arange(seen.shape[2])
        up: BoolArray = np.asarray((values + kinds) % sizes > values)
        rises: BoolArray = np.asarray((seen & up).any(axis=2, keepdims=True))
        falls: BoolArray = np.asarray((seen & ~up).any(axis=2, keepdims=True))
        fine = np.where(up, rises, falls)
        fine = np.where(self._worded[:, None], seen, fine)
        return np.asarray((kinds == 0) | fine, np.bool_)

    def changes(self, descriptions: npt.ArrayLike, kinds: npt.ArrayLike) -> IntArray:
        """Return ``(n, n_attributes)`` goals of hops: the new values, -1 for free attributes."""
        starts = np.atleast_2d(self.space.check(descriptions))
        added = self._changes(self.numbers[np.asarray(kinds, np.int64)])
        ends = (starts.astype(np.int64) + added) % self.space.sizes
        return np.where(added != 0, ends, FREE).astype(self.space.dtype)

    def explain(self, kind: int) -> str:
        """Describe the changes, conditions and success probability of a kind, in words."""
        changed = np.flatnonzero(self.kinds[kind])
        allowed = self.allowed()[kind]
        needs = []
        for i, size in enumerate(self.space.sizes.tolist()):
            fits = np.flatnonzero(allowed[i, :size])
            if len(fits) < size:
                needs.append(" or ".join(self._value(i, int(value)) for value in fits))
        words = [f"changes: {', '.join(self.space.names[i] for i in changed)}"]
        words += [f"needs: {', '.join(needs)}"] if needs else ["needs nothing"]
        return "; ".join([*words, f"works {self.probs[kind]:.2f}"])

    def _value(self, column: int, value: int) -> str:
        goal = np.full(len(self.space), FREE, self.space.dtype)
        goal[column] = value
        return self.space.describe(goal)

    # --- files ------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything counted as plain arrays, for :meth:`restore`."""
        kinds = np.ascontiguousarray(self._kinds.packed)
        return {"kinds": kinds, "seen": self._seen, "steps": self._steps}

    def restore(self, arrays: Arrays) -> None:
        """Replace all counts by those of :meth:`to_arrays`.

        Raises:
            InvalidGraph: If an array is missing or does not fit the others.
        """
        try:
            kinds, seen, steps = (arrays[name] for name in ("kinds", "seen", "steps"))
        except KeyError as error:
            raise InvalidGraph(f"a hop model is missing its array {error}.") from error
        index = NodeIndex.from_packed(self._kinds.space, kinds)
        shape = (len(index), *self._seen.shape[1:])
        counted = [np.asarray(one, np.float64) for one in (seen, steps)]
        if counted[0].shape != shape or counted[1].shape != shape[:1]:
            raise InvalidGraph(f"a hop model of {len(index)} kinds counts {shape} values.")
        if not all(np.isfinite(one).all() and (one >= 0).all() for one in counted):
            raise InvalidGraph("a hop model counts finite numbers from 0.")
        changed = index.vectors(np.arange(len(index)))[:, : len(self.space)]
        if not changed.any(axis=1).all():
            raise InvalidGraph("a kind of hop changes something.")
        self._kinds, self._seen, self._steps = index, counted[0].copy(), counted[1].copy()
        self._changed()
