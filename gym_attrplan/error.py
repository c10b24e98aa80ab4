"""All errors that the library raises. A message gives the rule, the received value and a remedy."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

from gymnasium import error as gym_error


class AttrPlanError(Exception):
    """Base class of all errors that this library raises."""


class InvalidAttributes(AttrPlanError, ValueError):
    """Invalid attribute space, vector or attribute function."""


class InvalidGoal(AttrPlanError, ValueError):
    """Goal with an unknown attribute, a value out of range, or the wrong length."""


class InvalidGraph(AttrPlanError, ValueError):
    """Counts, probabilities or nodes that are not valid in a transition graph."""


class InvalidEnvironment(AttrPlanError, ValueError):
    """Environment that cannot be used here."""


class InvalidOption(AttrPlanError, ValueError):
    """Option of the agent with an invalid value."""


class InvalidData(AttrPlanError, ValueError):
    """Examples or training settings that a model cannot learn from."""


class InvalidArchive(AttrPlanError, ValueError):
    """File that is foreign, damaged, or written by a newer version."""


class NotFitted(AttrPlanError, RuntimeError):
    """Use of a model before it was trained."""


class CheckFailed(AttrPlanError, AssertionError):
    """Environment that breaks the contract of :func:`gym_attrplan.check_attribute_env`."""


class DependencyNotInstalled(AttrPlanError, gym_error.DependencyNotInstalled):
    """Missing optional package; the message names the ``pip install`` line."""


MAX_SHOWN = 120
"""Maximum number of characters of a received value that a message shows."""

_MOST_COMPARED = 5_000  # maximum number of names compared with an unknown one: more take seconds


def shown(value: Any) -> str:
    """Return the shortened ``repr`` of a received value, for a message; never raise.

    Example:
        >>> shown("lamp"), shown([1, 2]), len(shown("x" * 1_000_000))
        ("'lamp'", '[1, 2]', 120)
    """
    short = reprlib.Repr()
    short.maxlist = short.maxtuple = short.maxdict = short.maxset = short.maxarray = 12
    short.maxstring = short.maxlong = short.maxother = MAX_SHOWN
    try:
        text = short.repr(value)
    except Exception:  # an integer of 5,000 digits, or a user's __repr__ that raises
        text = object.__repr__(value)
    return shortened(text)


def shortened(text: str) -> str:
    """Shorten a text, such as another library's error, by leaving out its middle."""
    half = MAX_SHOWN // 2
    return text if len(text) <= MAX_SHOWN else f"{text[: half - 2]}...{text[1 - half :]}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the most similar name, or a list of names.

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
