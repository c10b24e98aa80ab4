"""Values that nobody should give, drawn at random: what the campaigns on goals and spaces throw."""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gym_attrplan.attributes import AttributeSpace

LETTERS = [
    *"abcxyz019 ,,==()[]{}'\"-+.\\/*#;:%_",
    "not ",
    " and ",
    "anything",
    "true",
    "²",
    "٣",
    "é",
]
ODD_LETTERS = [
    "\x00",
    "\x1b[31m",
    "\n",
    "\t",
    "\u200b",
    "\u202e",
    "\ud800",
    "\U0010ffff",
    "\xa0",
    "猫",
]


class Unwilling:
    """Raises whatever is asked of it."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no")

    __repr__ = __str__ = __array__ = __len__ = __iter__ = __float__ = __int__ = _refuse


def nested(depth: int) -> list[Any]:
    """A list in a list in a list …"""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


SCALARS: list[Any] = [
    *(None, True, False, 0, 1, -1, -2, 3, 40, 41, 127, 128, 255, 32_767, 32_768, 2**31, 2**63),
    *(-(2**63), 2**64, 10**30, 10**5_000, 0.0, 1.0, -0.0, 1.5, float("nan"), float("inf"), 1e400),
    *("", " ", "door", "ore=3", "red", "1", "-1", "²", "9" * 5_000, "\x00", "\ud800", b"", b"door"),
    *(1j, ..., object(), Unwilling(), len, int, range(3), slice(2), memoryview(b"ab")),
    *(bytearray(b"\x01\x00\x00"), decimal.Decimal("NaN"), fractions.Fraction(1, 3)),
    *(datetime.date(2020, 1, 1), np.int8(1), np.uint64(2**64 - 1), np.bool_(True), np.float32(1)),
    *(np.float64("nan"), np.str_("red"), np.datetime64("2020"), np.array(1), np.array("door")),
    *([], {}, (), set(), frozenset("ab"), [[]], [None], {1: 2}, nested(70), nested(20_000)),
    *(itertools.count(), iter([1, 0, 0]), dict.fromkeys("ab", 1).keys(), type("T", (), {})),
]
DTYPES = [
    "i1",
    "i2",
    ">i2",
    "i8",
    "u1",
    "u8",
    "?",
    "f2",
    "f8",
    "c8",
    "O",
    "U3",
    "S3",
    "M8[s]",
    "V4",
]


def scalar(rng: np.random.Generator) -> Any:
    """One of :data:`SCALARS`."""
    return SCALARS[rng.integers(len(SCALARS))]


def text(rng: np.random.Generator) -> str:
    """A few letters, and now and then very many."""
    pool = LETTERS + ODD_LETTERS if rng.random() < 0.5 else LETTERS
    letters = [pool[i] for i in rng.integers(len(pool), size=rng.integers(0, 12))]
    return "".join(letters) * (10_000 if rng.random() < 0.002 else 1)


def damaged(whole: str, rng: np.random.Generator) -> str:
    """A text with one to three edits."""
    for _ in range(rng.integers(1, 4)):
        first, last = sorted(rng.integers(0, len(whole) + 1, 2).tolist())
        middle = [text(rng), "", whole[first:last] * 2, whole[first:last][::-1]][rng.integers(4)]
        whole = whole[:first] + middle + whole[last:]
    return whole


def array(rng: np.random.Generator) -> Any:
    """An array of some type and shape, or nested lists that are hardly one."""
    shape = rng.integers(0, 5, rng.integers(0, 4)).tolist()
    dtype = DTYPES[rng.integers(len(DTYPES))]
    values = rng.integers(-2, 45, shape)
    try:
        made = values.astype(dtype)
    except (TypeError, ValueError):  # numpy's own rules on which types become which
        made = np.zeros(shape, dtype)
    return made if rng.random() < 0.5 else made.tolist()


def ragged(rng: np.random.Generator) -> list[Any]:
    """Lists of scalars, texts and lists."""
    kinds: list[Callable[[np.random.Generator], Any]] = [scalar, text, array, lambda _: [0, 1, 0]]
    return [kinds[i](rng) for i in rng.integers(len(kinds), size=rng.integers(0, 5))]


def name(space: AttributeSpace, rng: np.random.Generator) -> Any:
    """A name of the space, one with edits, or none at all."""
    known = space.names[rng.integers(len(space))]
    choice = rng.random()
    if choice < 0.6:
        return known
    if choice < 0.8:
        return damaged(known, rng)
    odd = scalar(rng)
    return odd if odd.__class__.__hash__ is not None and not isinstance(odd, memoryview) else None


def goal(space: AttributeSpace, rng: np.random.Generator) -> Any:
    """What somebody might pass as a goal, right or wrong."""
    vector = rng.integers(-1, space.sizes).astype(space.dtype)
    kind = rng.integers(7)
    if kind == 0:
        return damaged(space.describe(vector), rng)
    if kind == 1:
        return text(rng)
    if kind == 2:
        return {name(space, rng): scalar(rng) for _ in range(rng.integers(0, 4))}
    if kind == 3:
        return array(rng)
    if kind == 4:
        return ragged(rng)
    if kind == 5:
        return scalar(rng)
    values = vector.tolist()
    values[rng.integers(len(values))] = scalar(rng)
    return values


def table(space: AttributeSpace, rng: np.random.Generator) -> Any:
    """What somebody might make a space of, right or wrong."""
    kind = rng.integers(5)
    if kind == 0:
        return [text(rng) for _ in range(rng.integers(0, 5))]
    if kind == 1:
        return ragged(rng)
    if kind == 2:
        return scalar(rng)
    whole: dict[Any, Any] = dict(space.table)
    for _ in range(rng.integers(1, 4)):
        size = [scalar, ragged, lambda rng: [text(rng) for _ in range(3)]][rng.integers(3)](rng)
        whole[name(space, rng)] = size if rng.random() < 0.5 else int(rng.integers(2, 300))
    return whole
