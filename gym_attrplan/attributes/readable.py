"""Rules for texts in goals: visible characters, balanced brackets, no numbers."""

from __future__ import annotations

import re
from typing import Any

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def is_readable(text: str) -> bool:
    """Return whether all characters are visible and brackets are balanced."""
    open_brackets: list[str] = []
    for letter in text:
        if letter in _CLOSING:
            open_brackets.append(_CLOSING[letter])
        elif letter in ")]}" and (not open_brackets or open_brackets.pop() != letter):
            return False
    return not open_brackets and text.isprintable()


def is_word(word: Any) -> bool:
    """Return whether goals can give an attribute this value: ``name=word``."""
    if not isinstance(word, str) or not word or word != word.strip() or "," in word:
        return False
    # A word such as "1" would make "lamp=1" ambiguous.
    return is_readable(word) and not word.lstrip("-").isdigit()


def read_decimal(text: str) -> float | None:
    """Read a number from a text, such as ``-0.5`` or ``1e-3``, or return None."""
    return float(text) if _NUMBER.fullmatch(text) else None
