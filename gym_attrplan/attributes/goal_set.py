"""GoalSet: a goal that several descriptions meet in different ways."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.goal_terms import Term, write_term
from gym_attrplan.attributes.goal_text import OR, OR_ON_A_NEW_LINE, read_text
from gym_attrplan.attributes.lexicon import FREE, Lexicon
from gym_attrplan.attributes.naming import ANYTHING
from gym_attrplan.attributes.vectors import IntArray
from gym_attrplan.error import InvalidAttributes, InvalidGoal, shown

Alternative: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""For each attribute that is not free: its index and the allowed values, both ascending."""


@dataclass(frozen=True, repr=False)
class GoalSet:
    """Set of descriptions, any of which meets the goal: a union of alternatives.

    Each alternative allows some values of each attribute. ``AttributeSpace.goal_set`` makes goal
    sets. Two are equal if they have the same alternatives, in any order and form. It is not
    detected that ``a or not a`` is ``anything``.

    Attributes:
        lexicon: The names and sizes of the space that the goal belongs to.
        alternatives: At least one, in ascending order; none contains another.

    Example:
        >>> from gym_attrplan.attributes import AttributeSpace
        >>> space = AttributeSpace({"door": 2, "ore": 41, "lamp": ["red", "green", "blue"]})
        >>> goal = space.goal_set("door, ore>=3 or lamp!=red")
        >>> goal.matches(np.array([[1, 3, 0], [1, 2, 0], [0, 0, 2]]))
        array([ True, False,  True])
        >>> print(goal)
        door, ore>=3 or lamp!=red
        >>> goal == space.goal_set([{"lamp": ["green", "blue"]}, {"door": True, "ore": ">2"}])
        True
    """

    lexicon: Lexicon = field(hash=False)
    alternatives: tuple[Alternative, ...]

    @classmethod
    def union(cls, lexicon: Lexicon, alternatives: Iterable[Iterable[Term]]) -> GoalSet:
        """Return the goal that is met if all terms of any alternative are.

        Raises:
            InvalidGoal: If every alternative contradicts itself.
        """
        possible: dict[Alternative, int] = {}
        problems = []
        for terms in alternatives:
            try:
                allowed = _conjunction(lexicon, terms)
            except InvalidGoal as error:
                problems.append(error)
                continue
            alternative = tuple((i, tuple(sorted(allowed[i]))) for i in sorted(allowed))
            possible[alternative] = sum(int(lexicon.sizes[i]) - len(allowed[i]) for i in allowed)
        if not possible:
            raise problems[0]
        return cls(lexicon, tuple(sorted(_largest(possible))))

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"GoalSet({self.describe()!r})"

    def describe(self) -> str:
        """Return the goal as text that ``AttributeSpace.goal_set`` reads."""
        texts = [
            ", ".join(write_term(self.lexicon, i, allowed) for i, allowed in alternative)
            for alternative in self.alternatives
        ]
        text = OR.join(texts)
        if len(texts) > 1 and GoalSet.union(self.lexicon, self._read(text)) != self:
            return OR_ON_A_NEW_LINE.join(texts)
        return text or ANYTHING

    def terms(self) -> list[list[Term]]:
        """Return the alternatives as lists of terms."""
        return [
            [Term(i, frozenset(allowed)) for i, allowed in alternative]
            for alternative in self.alternatives
        ]

    def matches(self, vectors: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return whether vectors ``(..., n_attributes)`` meet the goal: ``(...)`` bool.

        Raises:
            InvalidAttributes: If the number of attributes is wrong.
        """
        met: npt.NDArray[np.bool_] = self.n_missed(vectors) == 0
        return met

    def n_missed(self, vectors: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return how many attributes of vectors ``(..., n_attributes)`` have to change: ``(...)``.

        Raises:
            InvalidAttributes: If the number of attributes is wrong.
        """
        array: npt.NDArray[Any] = np.asarray(vectors)
        if array.shape[-1:] != (len(self.lexicon.names),):
            raise InvalidAttributes(
                f"vectors hold {len(self.lexicon.names)} values, one for each attribute; received "
                f"shape {array.shape}."
            )
        fewest = np.full(array.shape[:-1], len(self.lexicon.names))
        for alternative in self.alternatives:
            missed = np.zeros_like(fewest)
            for i, allowed in alternative:
                missed += ~_among(array[..., i], allowed)
            np.minimum(fewest, missed, out=fewest)
        return fewest

    @property
    def is_vector(self) -> bool:
        """Whether the goal has single values only, so that one vector can represent it."""
        (first, *others) = self.alternatives
        return not others and all(len(allowed) == 1 for _, allowed in first)

    def as_vector(self) -> IntArray:
        """Return the goal as ``(n_attributes,)`` values, -1 where it is free.

        Raises:
            InvalidGoal: Unless :attr:`is_vector`.
        """
        if not self.is_vector:
            raise InvalidGoal(
                "the goal is a set of descriptions and cannot be one vector; received "
                f"{shown(self.describe())}. Its matches(vectors) judges vectors, and planners take "
                "it as it is."
            )
        vector = np.full(len(self.lexicon.names), FREE, self.lexicon.dtype)
        for i, (value,) in self.alternatives[0]:
            vector[i] = value
        return vector

    def _read(self, text: str) -> list[list[Term]]:
        try:
            return read_text(self.lexicon, text)
        except InvalidGoal:  # a name that contains " or " can leave an empty term
            return [[]]


def _conjunction(lexicon: Lexicon, terms: Iterable[Term]) -> dict[int, frozenset[int]]:
    """Return attribute → values that all terms allow, for those that are not free."""
    allowed: dict[int, frozenset[int]] = {}
    for i, values, _ in terms:
        before = allowed.get(i, values)
        allowed[i] = before & values
        if not allowed[i]:
            asks = (
                "asks two values of {}; name it once."
                if len(before) == len(values) == 1
                else "asks of {} what none of its values meets all at once."
            )
            raise InvalidGoal(f"the goal {asks.format(shown(lexicon.names[i]))}")
    return {i: values for i, values in allowed.items() if len(values) < lexicon.sizes[i]}


def _largest(possible: dict[Alternative, int]) -> list[Alternative]:
    """Return the alternatives that no other contains.

    Args:
        possible: Alternative → number of values it forbids. An alternative that contains another
            forbids fewer, so those with equal numbers need not be compared.
    """
    largest: list[Alternative] = []
    larger: list[dict[int, set[int]]] = []
    by_size = sorted(possible.items(), key=lambda item: item[1])
    for _, alike in groupby(by_size, key=lambda item: item[1]):
        inner = [(one, {i: set(allowed) for i, allowed in one}) for one, _ in alike]
        kept = [(one, sets) for one, sets in inner if not any(_contains(o, sets) for o in larger)]
        largest += [one for one, _ in kept]
        larger += [sets for _, sets in kept]
    return largest


def _contains(outer: dict[int, set[int]], inner: dict[int, set[int]]) -> bool:
    return all(i in inner and inner[i] <= allowed for i, allowed in outer.items())


def _among(column: npt.NDArray[Any], allowed: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    lowest, highest = allowed[0], allowed[-1]
    if highest - lowest + 1 == len(allowed):
        within: npt.NDArray[np.bool_] = (column >= lowest) & (column <= highest)
        return within
    return np.isin(column, allowed)
