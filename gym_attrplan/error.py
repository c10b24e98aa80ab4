"""Every error raised on purpose. A message gives the rule, the value received and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gymnasium import error as gym_error


class AttrPlanError(Exception):
    """Base class: ``except AttrPlanError`` catches all that this library raises on purpose."""


class InvalidAttributes(AttrPlanError, ValueError):
    """An attribute space, a vector or an attribute function breaks the rules of the language."""


class InvalidGoal(AttrPlanError, ValueError):
    """A goal names an unknown attribute, a value out of range, or has another length."""


class InvalidGraph(AttrPlanError, ValueError):
    """Counts, probabilities or nodes that no transition graph can hold."""


class InvalidEnvironment(AttrPlanError, ValueError):
    """An environment cannot be used where it was given."""


class InvalidOption(AttrPlanError, ValueError):
    """An option of the agent has a value that it cannot use."""


class InvalidData(AttrPlanError, ValueError):
    """Examples, or settings of a training, that a model cannot learn from."""


class InvalidArchive(AttrPlanError, ValueError):
    """A file is not what it was opened as: foreign, damaged, or written by a newer version."""


class NotFitted(AttrPlanError, RuntimeError):
    """A model was asked before it was trained."""


class CheckFailed(AttrPlanError, AssertionError):
    """An environment breaks the contract of :func:`gym_attrplan.check_attribute_env`."""


class DependencyNotInstalled(AttrPlanError, gym_error.DependencyNotInstalled):
    """An optional package is missing; the message names the ``pip install`` line."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The remedy for an unknown name: the one that looks like it, or which there are.

    Example:
        >>> did_you_mean("lampe", ["lamp", "key"]), did_you_mean("door", ["lamp", "key"])
        ("Did you mean 'lamp'?", "There are 'lamp', 'key'.")
    """
    known = list(names)
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"There are {', '.join(map(repr, known[:12]))}{more}."
