"""The rules for attribute names, sizes and goal texts: what can be written can be read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gym_attrplan.error import InvalidAttributes

ANYTHING = "anything"
"""How the goal that leaves everything free is written."""

_BINARY_WORDS = {"true": 1, "yes": 1, "false": 0, "no": 0}
_MAX_SIZE = np.iinfo(np.int16).max


def checked_table(sizes: Mapping[str, Any] | Sequence[str]) -> dict[str, int | tuple[str, ...]]:
    """Checked name → size or words."""
    if isinstance(sizes, str):
        raise InvalidAttributes(f"give a list of names, not one text; received {sizes!r}.")
    if isinstance(sizes, Mapping):
        table = dict(sizes)
    else:
        table = dict.fromkeys(sizes, 2)
        if len(table) != len(sizes):
            repeated = next(name for name in sizes if list(sizes).count(name) > 1)
            raise InvalidAttributes(f"attribute names must differ; {repeated!r} is given twice.")
    if not table:
        raise InvalidAttributes("a space needs at least one attribute; received none.")
    for name, size in table.items():
        _check_name(name)
        table[name] = _checked_size(name, size)
    squeezed = [squeeze(name) for name in table]
    for name, key in zip(table, squeezed, strict=True):
        if squeezed.count(key) > 1:
            raise InvalidAttributes(
                f"attribute names must differ in more than spaces; {name!r} is given twice."
            )
    return table


def _check_name(name: Any) -> None:
    """Names must be readable in goal texts: ``name``, ``not name``, ``name=value``, with commas."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidAttributes(f"an attribute name must be a non-empty text; received {name!r}.")
    if (
        "=" in name
        or name != name.strip()
        or name.startswith("not ")
        or name == ANYTHING
        or split_terms(name) != [name]
    ):
        raise InvalidAttributes(
            "an attribute name may not hold '=', commas outside brackets or outer spaces, nor "
            f"start with 'not ', nor be {ANYTHING!r}: goals could not name it. Received {name!r}."
        )


def _checked_size(name: str, size: Any) -> int | tuple[str, ...]:
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        if 2 <= size <= _MAX_SIZE:
            return int(size)
    elif isinstance(size, Sequence) and not isinstance(size, str):
        words = tuple(size)
        plain = all(
            isinstance(word, str) and word == word.strip() and "," not in word and word
            for word in words
        )
        # A word such as "1" would make "lamp=1" mean two things.
        if (
            plain
            and 2 <= len(set(words)) == len(words)
            and not any(word.lstrip("-").isdigit() for word in words)
        ):
            return words
    raise InvalidAttributes(
        f"the size of {name!r} must be a whole number from 2 to {_MAX_SIZE}, "
        f"or at least two different words; received {size!r}."
    )


def read_number(text: str, words: Sequence[str] | None, size: int) -> int | None:
    """The number of a value written as text, or None if it is none."""
    if words and text in words:
        return words.index(text)
    if size == 2 and not words and text.lower() in _BINARY_WORDS:
        return _BINARY_WORDS[text.lower()]
    return int(text) if text.isdigit() else None


def squeeze(name: str) -> str:
    """Names are found whatever their spacing: ``on(red,green)`` is ``on(red, green)``."""
    return "".join(name.split()) if isinstance(name, str) else name


def split_terms(text: str) -> list[str]:
    """Split at the commas that stand outside brackets."""
    terms, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            terms.append(text[start:i].strip())
            start = i + 1
    return [*terms, text[start:].strip()]
