"""Goal texts: alternatives separated by ``or``, each of terms separated by commas."""

from __future__ import annotations

import re

from gym_attrplan.attributes.goal_terms import Term, read_term
from gym_attrplan.attributes.lexicon import Lexicon
from gym_attrplan.attributes.naming import ANYTHING, split_terms
from gym_attrplan.error import InvalidGoal

OR = " or "
"""Separator of alternatives."""
OR_ON_A_NEW_LINE = "\nor "
"""Separator if a name or word contains ``' or '``: neither contains a line break."""

_OR = re.compile(r"[(\[{]|[)\]}]|\sor\s")
_OR_ON_A_NEW_LINE = re.compile(r"[(\[{]|[)\]}]|\n[ \t]*or\s")


def read_text(lexicon: Lexicon, text: str) -> list[list[Term]]:
    """Return the alternatives of a text, each a list of terms.

    Raises:
        InvalidGoal: On a term that cannot be read.

    Example:
        >>> lexicon = Lexicon({"door": 2, "ore": 4, "lamp": ("red", "green", "blue")})
        >>> for terms in read_text(lexicon, "door, ore>=2 or lamp!=red"):
        ...     print([(term.attribute, sorted(term.allowed)) for term in terms])
        [(0, [1]), (1, [2, 3])]
        [(2, [1, 2])]
    """
    if text.strip() in ("", ANYTHING):
        return [[]]
    alternatives: list[list[Term]] = []
    for first, last in _spans(text, _OR_ON_A_NEW_LINE):
        alternatives.append([])
        for chunk in split_terms(text[first:last]):
            term, *others = _read_chunk(lexicon, chunk)
            alternatives[-1].append(term)
            alternatives += [[other] for other in others]
    return alternatives


def _read_chunk(lexicon: Lexicon, chunk: str) -> list[Term]:
    """Return the terms of a text without commas, separated by ``or``."""
    spans = _spans(chunk, _OR)
    terms: list[Term] = []
    while spans:
        # A name or a word may contain " or ": the longest text that is a term is one.
        for n in range(min(len(spans), lexicon.n_ors + 1), 0, -1):
            term = _read_if_term(lexicon, chunk[spans[0][0] : spans[n - 1][1]].strip(), last=n == 1)
            if term is not None:
                terms.append(term)
                spans = spans[n:]
                break
    return terms


def _read_if_term(lexicon: Lexicon, text: str, *, last: bool) -> Term | None:
    """Return the term, or None if the text is not one and a shorter one may be."""
    try:
        return read_term(lexicon, text)
    except InvalidGoal:
        if last:
            raise
        return None


def _spans(text: str, separator: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return start and end of the parts between separators outside brackets."""
    spans, depth, start = [], 0, 0
    for found in separator.finditer(text):
        token = found.group()
        if len(token) == 1:
            depth += 1 if token in "([{" else -1
        elif depth == 0:
            spans.append((start, found.start()))
            start = found.end()
    return [*spans, (start, len(text))]
