"""Rules for attribute names, sizes and goal texts, so that goals can be read unambiguously."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gym_attrplan.attributes.bins import MAX_SIZE, Bins
from gym_attrplan.attributes.readable import is_readable, is_word
from gym_attrplan.error import InvalidAttributes, shown

Size: TypeAlias = int | tuple[str, ...] | Bins

ANYTHING = "anything"
"""Text of the goal that leaves everything free."""

_BINARY_WORDS = {"true": 1, "yes": 1, "false": 0, "no": 0}
_MAX_DIGITS = 18  # fit 64 bits: int() must not read a number of thousands of digits


def checked_table(sizes: Mapping[str, Any] | Sequence[str]) -> dict[str, Size]:
    """Check the sizes and return name → size, words or bins."""
    pairs = sizes.items() if isinstance(sizes, Mapping) else [(name, 2) for name in _names(sizes)]
    table: dict[str, Size] = {}
    spelled: dict[str, str] = {}
    for name, size in pairs:
        _check_name(name)
        known = spelled.setdefault(squeeze(name), name)
        if name in table:
            raise InvalidAttributes(f"attribute names must differ; {shown(name)} is given twice.")
        if known != name:
            raise InvalidAttributes(
                "attribute names must differ in more than spaces; received "
                f"{shown(known)} and {shown(name)}."
            )
        table[name] = _checked_size(name, size)
    if not table:
        raise InvalidAttributes("a space needs at least one attribute; received none.")
    return table


def _names(sizes: Any) -> list[Any]:
    # An iterator is refused: it may never end.
    if isinstance(sizes, Collection) and not isinstance(sizes, (str, bytes)):
        with contextlib.suppress(TypeError):  # an array without axes cannot be iterated
            return list(sizes)
    raise InvalidAttributes(
        "a space is a list of names, or a mapping from names to sizes or words; received "
        f"{shown(sizes)}."
    )


def _check_name(name: Any) -> None:
    """Check that goals can use a name: ``name``, ``not name``, ``name=value``, with commas."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidAttributes(
            f"an attribute name must be a non-empty text; received {shown(name)}."
        )
    if not is_readable(name):
        raise InvalidAttributes(
            "an attribute name must have its brackets in pairs and hold nothing invisible, such "
            f"as a line break or an escape code: goals could not name it. Received {shown(name)}."
        )
    if (
        "=" in name
        or name != name.strip()
        or name.startswith("not ")
        or name == ANYTHING
        or split_terms(name) != [name]
    ):
        raise InvalidAttributes(
            "an attribute name may not hold '=', commas outside brackets or outer spaces, nor "
            f"start with 'not ', nor be {ANYTHING!r}: goals could not name it. Received "
            f"{shown(name)}."
        )


def _checked_size(name: str, size: Any) -> Size:
    if isinstance(size, Bins):
        return size
    if isinstance(size, Mapping):
        return _checked_bins(name, size)
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        if 2 <= size <= MAX_SIZE:
            return int(size)
    elif isinstance(size, Sequence) and not isinstance(size, str):
        words = tuple(size)
        if all(map(is_word, words)) and 2 <= len(set(words)) == len(words) <= MAX_SIZE:
            return words
    raise InvalidAttributes(
        f"the size of {shown(name)} must be a whole number from 2 to {MAX_SIZE}, or at least two "
        "different words, without commas, numbers, or brackets that are not in pairs, or Bins; "
        f"received {shown(size)}."
    )


def _checked_bins(name: str, table: Mapping[str, Any]) -> Bins:
    try:
        return Bins.from_table(table)
    except InvalidAttributes as error:
        raise InvalidAttributes(f"the size of {shown(name)}: {error}") from error


def read_number(text: str, words: Sequence[str] | None, size: int) -> int | None:
    """Return the number of a value written as text, or None if it is not a value."""
    if words and text in words:
        return words.index(text)
    if size == 2 and not words and text.lower() in _BINARY_WORDS:
        return _BINARY_WORDS[text.lower()]
    # isdigit() alone would let "²" through, which int() does not read.
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else None


def squeeze(name: str) -> str:
    """Remove spaces from a name: ``on(red,green)`` is the same as ``on(red, green)``."""
    return "".join(name.split())


def split_terms(text: str) -> list[str]:
    """Split a text at the commas outside brackets."""
    terms, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            terms.append(text[start:i].strip())
            start = i + 1
    return [*terms, text[start:].strip()]
