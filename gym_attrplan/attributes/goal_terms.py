"""Terms of a goal, such as ``ore>=3`` or ``lamp!=red``, and the values they allow."""

from __future__ import annotations

import bisect
import operator
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from gym_attrplan.attributes.bins import Bins, number_text
from gym_attrplan.attributes.lexicon import Lexicon
from gym_attrplan.attributes.naming import split_terms
from gym_attrplan.attributes.readable import read_decimal
from gym_attrplan.error import InvalidGoal, shown

FORMS = (
    "A goal is written 'name', 'not name', 'name=value', 'name!=value', 'name>=value' (or with >, "
    "<=, <) or 'name={value, value}', with commas for 'and' and ' or ' between alternatives."
)
"""Description of all forms of a text, for error messages."""

_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_OPERATOR = re.compile(r"[<>!]=|[<>=]")
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NAME_LIKE = re.compile(r"\w+(\(.*\))?")


class Term(NamedTuple):
    """Condition of a goal on one attribute.

    Attributes:
        attribute: Its index in the space.
        allowed: The numbers of the values that meet the term.
        is_plain: Whether it was written as a single value, which a vector can represent.
    """

    attribute: int
    allowed: frozenset[int]
    is_plain: bool = True


def read_term(lexicon: Lexicon, text: str) -> Term:
    """Read a term from a text.

    Raises:
        InvalidGoal: On an unknown name or value, on another form, or if no value meets it.
    """
    negated = text.startswith("not ")
    name, sign, value = _parts(lexicon, text.removeprefix("not ").strip())
    i = _find(lexicon, name)
    if not sign:
        if not lexicon.is_yes_or_no(i):
            raise InvalidGoal(
                f"{shown(lexicon.names[i])} is not a yes-or-no attribute: write "
                f"{shown(lexicon.term(i, 0))}, not {shown(text)}."
            )
        return Term(i, frozenset([int(not negated)]))
    allowed = _allowed(lexicon, i, sign, value)
    if negated:
        allowed = _others(lexicon, i, allowed)
    is_plain = sign == "=" and not negated and not _is_set(lexicon, i, value)
    return Term(i, _some(lexicon, i, allowed, text), is_plain)


def read_value(lexicon: Lexicon, name: Any, value: Any) -> Term:
    """Read the term ``{name: value}``: a value, a text such as ``'>=3'``, or several of these.

    Raises:
        InvalidGoal: On an unknown name or value, or if no value meets it.
    """
    i = lexicon.find(name, InvalidGoal)
    if isinstance(value, (list, tuple, set, frozenset, range)):
        every = [_read_one(lexicon, i, one).allowed for one in value]
        return Term(i, _some(lexicon, i, frozenset[int]().union(*every), value), False)
    return _read_one(lexicon, i, value)


def write_term(lexicon: Lexicon, i: int, allowed: Iterable[int]) -> str:
    """Return the text, of one term or two with a comma, that :func:`read_term` reads."""
    numbers = sorted(allowed)
    if len(numbers) == 1:
        return lexicon.term(i, numbers[0])
    text = _shortest(lexicon, i, numbers)
    # Another attribute may be called "ore!" or "height<1"; then use the unambiguous form.
    if _reads_as(lexicon, text, i, numbers):
        return text
    return f"{lexicon.names[i]}={_written(lexicon, i, numbers)}"


def _parts(lexicon: Lexicon, text: str) -> tuple[str, str, str]:
    """Split into name, operator and value; the longest known name wins, as names may have ``<``."""
    if lexicon.knows(text):
        return text, "", ""
    splits: list[tuple[str, str, str]] = []
    for found in _OPERATOR.finditer(text):
        name, sign, value = text[: found.start()], found.group(), text[found.end() :].strip()
        splits.append((name.strip(), sign, value))
        if "=" in sign:  # no name holds one
            splits.append((text[: found.end() - 1].strip(), "=", value))
            break
    known = [parts for parts in splits if lexicon.knows(parts[0])]
    return known[-1] if known else [*splits, (text, "", "")][0]


def _find(lexicon: Lexicon, name: str) -> int:
    try:
        return lexicon.find(name, InvalidGoal)
    except InvalidGoal as error:
        if _NAME_LIKE.fullmatch(name):
            raise
        raise InvalidGoal(f"{error} {FORMS}") from error  # what looks like no name may be a form


def _allowed(lexicon: Lexicon, i: int, sign: str, value: str) -> frozenset[int]:
    if sign in _COMPARE:
        return _compared(lexicon, i, sign, value)
    if _is_set(lexicon, i, value):
        equal = frozenset(
            lexicon.number(i, one.strip(), InvalidGoal) for one in value[1:-1].split(",")
        )
    else:
        if value[:1] in (*"<>=!", "") and not _is_word(lexicon, i, value):
            written = f"{lexicon.names[i]}{sign}{value}"
            raise InvalidGoal(f"{shown(written)} is not a valid goal. {FORMS}")
        equal = frozenset([lexicon.number(i, value, InvalidGoal)])
    return equal if sign == "=" else _others(lexicon, i, equal)


def _compared(lexicon: Lexicon, i: int, sign: str, value: str) -> frozenset[int]:
    name = lexicon.names[i]
    if name in lexicon.bins:
        return _compared_with_edge(name, lexicon.bins[name], sign, value)
    if name in lexicon.words:
        raise InvalidGoal(
            f"{shown(name)} has words for values, and words have no order; received "
            f"{shown(name + sign + value)}. List those wanted: "
            f"{shown(name + '=' + _written(lexicon, i, [0, 1]))}."
        )
    if not _WHOLE.fullmatch(value):
        raise InvalidGoal(
            f"{shown(name)} is compared with a whole number; received "
            f"{shown(name + sign + value)}. {FORMS}"
        )
    meets = _COMPARE[sign]
    return frozenset(n for n in range(int(lexicon.sizes[i])) if meets(n, int(value)))


def _compared_with_edge(name: str, bins: Bins, sign: str, value: str) -> frozenset[int]:
    number = read_decimal(value)
    if number is None:
        raise InvalidGoal(
            f"{shown(name)} is compared with a number; received {shown(name + sign + value)}."
        )
    place = bisect.bisect_left(bins.edges, number)
    if number not in bins.edges:
        near = [number_text(edge) for edge in bins.edges[max(place - 1, 0) : place + 1]]
        edges = f"edges are {' and '.join(near)}" if len(near) > 1 else f"edge is {near[0]}"
        raise InvalidGoal(
            f"{shown(name)} is compared with an edge of its bins: {value} cuts through the bin "
            f"{shown(bins.names[place])}. The nearest {edges}; received "
            f"{shown(name + sign + value)}."
        )
    if sign in ("<=", ">"):
        edge = number_text(number)
        raise InvalidGoal(
            f"a bin holds its lower edge, so that {shown(name)} is compared by >= or <: write "
            f"{shown(f'{name}<{edge}')} or {shown(f'{name}>={edge}')}; received "
            f"{shown(name + sign + value)}."
        )
    return frozenset(range(place + 1, len(bins)) if sign == ">=" else range(place + 1))


def _read_one(lexicon: Lexicon, i: int, value: Any) -> Term:
    if isinstance(value, str) and not _is_word(lexicon, i, value):
        found = _OPERATOR.match(value)
        sign, rest = (found.group(), value[found.end() :].strip()) if found else ("=", value)
        if found or _is_set(lexicon, i, value):
            allowed = _some(lexicon, i, _allowed(lexicon, i, sign, rest), value)
            return Term(i, allowed, False)
    return Term(i, frozenset([lexicon.number(i, value, InvalidGoal)]))


def _some(lexicon: Lexicon, i: int, allowed: frozenset[int], received: Any) -> frozenset[int]:
    if allowed:
        return allowed
    name, size, words = lexicon.names[i], int(lexicon.sizes[i]), lexicon.words.get(lexicon.names[i])
    takes = f"one of {shown(list(words))}" if words else f"0 to {size - 1}"
    raise InvalidGoal(
        f"no value of {shown(name)} meets the goal: it takes {takes}; received {shown(received)}."
    )


def _others(lexicon: Lexicon, i: int, numbers: Iterable[int]) -> frozenset[int]:
    return frozenset(range(int(lexicon.sizes[i]))).difference(numbers)


def _is_word(lexicon: Lexicon, i: int, text: str) -> bool:
    return text in lexicon.words.get(lexicon.names[i], ())


def _is_set(lexicon: Lexicon, i: int, text: str) -> bool:
    return text[:1] == "{" and text[-1:] == "}" and not _is_word(lexicon, i, text)


def _shortest(lexicon: Lexicon, i: int, numbers: list[int]) -> str:
    name, others = lexicon.names[i], sorted(_others(lexicon, i, numbers))
    has_order = name in lexicon.bins or name not in lexicon.words
    if has_order and numbers[-1] - numbers[0] + 1 == len(numbers):
        return _range(lexicon, i, numbers[0], numbers[-1])
    if len(numbers) <= len(others):
        return f"{name}={_written(lexicon, i, numbers)}"
    return f"{name}!={_written(lexicon, i, others)}"


def _range(lexicon: Lexicon, i: int, lowest: int, highest: int) -> str:
    name, bins = lexicon.names[i], lexicon.bins.get(lexicon.names[i])
    terms = []
    if lowest > 0:
        terms.append(f"{name}>={number_text(bins.edges[lowest - 1]) if bins else lowest}")
    if highest < lexicon.sizes[i] - 1:
        below = f"<{number_text(bins.edges[highest])}" if bins else f"<={highest}"
        terms.append(f"{name}{below}")
    return ", ".join(terms)


def _written(lexicon: Lexicon, i: int, numbers: list[int]) -> str:
    """Write a value, or several in braces."""
    values = [str(lexicon.value(i, number)) for number in numbers]
    return values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"


def _reads_as(lexicon: Lexicon, text: str, i: int, numbers: list[int]) -> bool:
    try:
        terms = [read_term(lexicon, part) for part in split_terms(text)]
    except InvalidGoal:
        return False
    met = frozenset.intersection(*(term.allowed for term in terms))
    return all(term.attribute == i for term in terms) and met == frozenset(numbers)
