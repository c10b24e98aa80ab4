"""Reading of goals in all forms: texts, mappings, vectors, goal sets, and lists of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gym_attrplan.attributes.goal_set import GoalSet
from gym_attrplan.attributes.goal_terms import Term, read_value
from gym_attrplan.attributes.goal_text import read_text
from gym_attrplan.attributes.lexicon import FREE, Lexicon
from gym_attrplan.attributes.vectors import IntArray, whole_numbers
from gym_attrplan.error import InvalidAttributes, InvalidGoal, shown

KINDS = (
    "A goal is a text, a mapping from names to values, or a vector with -1 for free; for goal_set "
    "also a GoalSet, or a list of all these."
)
"""Description of all forms of a goal, for error messages."""


def read_vector(lexicon: Lexicon, wanted: Any) -> IntArray:
    """Return a goal given as a vector, checked and copied.

    Raises:
        InvalidGoal: If it is not a vector, has a wrong length, or a value out of range.
    """
    try:
        array = whole_numbers(wanted, lexicon.dtype, source="the goal")
    except InvalidAttributes as error:
        raise InvalidGoal(f"{error} {KINDS}") from error
    if array.shape != lexicon.sizes.shape:
        raise InvalidGoal(
            f"a goal holds {len(lexicon.names)} values, one for each attribute, -1 for free; "
            f"received shape {array.shape}."
        )
    check_goals(lexicon, array)
    return array.copy()


def check_goals(lexicon: Lexicon, goals: IntArray) -> None:
    """Check that goals ``(..., n_attributes)`` are within the sizes, with -1 allowed.

    Raises:
        InvalidGoal: On the first value out of range.
    """
    bad = (goals < FREE) | (goals >= lexicon.sizes)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        raise InvalidGoal(
            f"the goal gives {shown(lexicon.names[int(where[-1])])} the value {goals[where]}; "
            f"it takes 0 to {lexicon.sizes[where[-1]] - 1}, or -1 for free."
        )


def read_single(lexicon: Lexicon, wanted: str | Mapping[str, Any]) -> IntArray:
    """Read a goal with single values only, as a vector.

    Raises:
        InvalidGoal: If it cannot be read, or is written as a set of descriptions.
    """
    alternatives = _alternatives(lexicon, wanted)
    found = GoalSet.union(lexicon, alternatives)
    if len(alternatives) > 1 or not all(term.is_plain for term in alternatives[0]):
        raise InvalidGoal(
            "the goal is a set of descriptions and cannot be one vector; received "
            f"{shown(wanted)}. space.goal_set({shown(wanted)}) reads it."
        )
    return found.as_vector()


def read_set(lexicon: Lexicon, wanted: Any) -> GoalSet:
    """Read a goal in any form, as a set.

    Raises:
        InvalidGoal: If it cannot be read, belongs to another space, or no description meets it.
    """
    if isinstance(wanted, GoalSet) and wanted.lexicon == lexicon:
        return wanted
    goals: Any = wanted if are_alternatives(wanted) else [wanted]
    return GoalSet.union(
        lexicon, [terms for goal in goals for terms in _alternatives(lexicon, goal)]
    )


def are_alternatives(wanted: Any) -> bool:
    """Return whether this is a list of goals; a list of numbers is a vector.

    Example:
        >>> are_alternatives(["door", {"ore": 3}]), are_alternatives([0, -1, 2])
        (True, False)
    """
    if isinstance(wanted, np.ndarray):
        return wanted.ndim == 2 and len(wanted) > 0
    several = isinstance(wanted, (list, tuple, set, frozenset))
    return several and any(
        isinstance(one, (str, Mapping, GoalSet, list, tuple))
        or (isinstance(one, np.ndarray) and one.ndim > 0)
        for one in wanted
    )


def _alternatives(lexicon: Lexicon, wanted: Any) -> list[list[Term]]:
    """Return the terms of each alternative of one goal."""
    if isinstance(wanted, str):
        return read_text(lexicon, wanted)
    if isinstance(wanted, Mapping):
        return [[read_value(lexicon, name, value) for name, value in wanted.items()]]
    if isinstance(wanted, GoalSet):
        if wanted.lexicon != lexicon:
            raise InvalidGoal(
                f"a goal set belongs to one space, here that of {shown(list(lexicon.names))}; "
                f"received one of another: {shown(wanted)}."
            )
        return wanted.terms()
    values = enumerate(read_vector(lexicon, wanted).tolist())
    return [[Term(i, frozenset([value])) for i, value in values if value != FREE]]
