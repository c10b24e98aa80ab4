"""Every error raised on purpose. A message gives the rule, the value received and the remedy."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

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


MAX_SHOWN = 120
"""Characters of a received value that a message shows."""

_MOST_COMPARED = 5_000  # names that are held against an unknown one: more take seconds


def shown(value: Any) -> str:
    """A value received, for a message: its ``repr``, shortened, whatever the value is.

    Example:
        >>> shown("lamp"), shown([1, 2]), len(shown("x" * 1_000_000))
        ("'lamp'", '[1, 2]', 120)
    """
    short = reprlib.Repr()
    short.maxlist = short.maxtuple = short.maxdict = short.maxset = short.maxarray = 12
    short.maxstring = short.maxlong = short.maxother = MAX_SHOWN
    try:
        text = short.repr(value)
    except Exception:  # an integer of 5,000 digits, or a __repr__ of the user's that raises
        text = object.__repr__(value)
    return shortened(text)


def shortened(text: str) -> str:
    """A text with its middle left out if it is long: what another library's error says."""
    half = MAX_SHOWN // 2
    return text if len(text) <= MAX_SHOWN else f"{text[: half - 2]}...{text[1 - half :]}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The remedy for an unknown name: the one that looks like it, or which there are.

    Example:
        >>> did_you_mean("lampe", ["lamp", "key"]), did_you_mean("door", ["lamp", "key"])
        ("Did you mean 'lamp'?", "There are 'lamp', 'key'.")
    """
    known = list(names)
    near = difflib.get_close_matches(name, known[:_MOST_COMPARED], n=1)
    if near:
        return f"Did you mean {shown(near[0])}?"
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return f"There are {', '.join(map(shown, known[:12]))}{more}."
