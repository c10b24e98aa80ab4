"""Questions: what can be asked of an observation that is answered by yes or no, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.error import InvalidOption
from gym_attrplan.wrappers.observation import GOAL_KEYS

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
BoolArray = npt.NDArray[np.bool_]
Symbols = Mapping[str, Sequence[Mapping[int, str]]]
"""Key of a part → words of the values of each of its channels."""

N_THRESHOLDS = 7
"""Number of thresholds on a number, at equal shares of the observations."""

MAX_VALUES = 64
"""Maximum number of values of a whole number that are asked for one by one, the most frequent."""

MAX_DIFFERENCES = 32
"""Maximum number of numbers of an observation whose differences are asked for."""

MAX_PLACES = 1_024
"""Maximum number of numbers of a part for questions about it: single pixels tell nothing."""

MIN_SHARE = 0.01
"""Minimum share of observations with the rarer answer, for a question to be asked."""


@dataclass(frozen=True)
class Question:
    """A question about one part of an observation.

    Attributes:
        key: The part.
        place: Index of the number; of an array with channels ``(…, channel)`` the channel alone, if
            it is asked of all places at once.
        kind: ``"is"``, ``"has"`` (some place has the value), ``"above"`` or ``"apart"`` (the number
            exceeds the one at ``other`` by more than the value).
        value: What it is compared with.
        other: Index of the number subtracted, for ``"apart"``.
    """

    key: str
    place: tuple[int, ...]
    kind: str
    value: float
    other: tuple[int, ...] = ()

    def check(self, space: spaces.Dict) -> None:
        """Check that the question can be asked of observations.

        Raises:
            InvalidOption: If it cannot.
        """
        part = space.spaces.get(self.key)
        shape = None if part is None or self.key in GOAL_KEYS else part.shape
        if shape is None:
            known = [key for key in space.spaces if key not in GOAL_KEYS]
            raise InvalidOption(f"a question is about one of {known}; received {self.key!r}.")
        shapes = {"is": (shape, ()), "above": (shape, ()), "apart": (shape, shape)}
        shapes["has"] = (shape[-1:] if self.place else (), ())
        if self.kind not in shapes:
            raise InvalidOption(f"kind is one of {list(shapes)}; received {self.kind!r}.")
        for place, within in zip((self.place, self.other), shapes[self.kind], strict=True):
            if len(place) != len(within) or not all(
                0 <= i < n for i, n in zip(place, within, strict=True)
            ):
                raise InvalidOption(
                    f"{self.key!r} has shape {shape}, and {self.kind!r} asks for an index of "
                    f"{within}; received {place}."
                )

    def __str__(self) -> str:
        name = f"{self.key}[{', '.join(map(str, self.place))}]" if self.place else self.key
        value = f"{self.value:.4g}"
        if self.kind == "apart":
            other = f"{self.key}[{', '.join(map(str, self.other))}]"
            return f"{name} above {other} by {value}"
        if self.kind == "has":
            where = f" in channel {self.place[0]}" if self.place else ""
            return f"{self.key} has {value}{where}"
        return f"{name} {self.kind} {value}"

    def describe(self, symbols: Symbols) -> str:
        """Return the question in the words of the symbols, as far as they have any."""
        channels = symbols.get(self.key, ())
        channel = self.place[-1] if self.place else 0
        words = channels[channel] if channel < len(channels) else {}
        if self.kind not in ("is", "has") or self.value not in words:
            return str(self)
        where = f"[{', '.join(map(str, self.place[:-1]))}]" if len(self.place) > 1 else ""
        return f"{self.key}{where} {self.kind} {words[int(self.value)]}"

    def answer(self, observations: Arrays) -> BoolArray:
        """``(n,)`` the answers for ``{key: (n, …)}``."""
        rows = np.asarray(observations[self.key])
        if self.kind == "has":
            rows = rows[..., self.place[0]] if self.place else rows
            found: BoolArray = (rows == self.value).reshape(len(rows), -1).any(axis=1)
            return found
        numbers = _column(rows, self.place)
        if self.kind == "apart":
            numbers = numbers - _column(rows, self.other)
        return np.asarray(numbers == self.value if self.kind == "is" else numbers > self.value)


def asked_parts(space: spaces.Dict) -> spaces.Dict:
    """Return the parts of an observation that questions are about, with the goals."""
    small = {key: part for key, part in space.items() if np.prod(part.shape or ()) <= MAX_PLACES}
    return spaces.Dict(small)


def questions_about(observations: Arrays) -> Iterator[tuple[list[Question], BoolArray]]:
    """Questions whose answers differ among the observations, and the answers, part by part.

    Of whole numbers each frequent value is asked for, at its place and anywhere. Of others it is
    asked whether they exceed a threshold, and, where they are few, whether one exceeds another.
    Nothing is asked about images of pixels.

    Args:
        observations: Key → ``(n, …)`` rows. What is wanted or achieved is not asked about.

    Example:
        >>> rows = {"observation": np.array([[0.0], [1.0]] * 50, np.float32)}
        >>> [(asked, answers)] = questions_about(rows)
        >>> str(asked[0]), answers[:2, 0].tolist()
        ('observation[0] above 0', [False, True])
    """
    for key, part in observations.items():
        if key in GOAL_KEYS:
            continue
        rows = np.asarray(part)
        places = list(np.ndindex(rows.shape[1:]))
        if len(places) > MAX_PLACES:
            continue
        whole = np.issubdtype(rows.dtype, np.integer) or rows.dtype == np.bool_
        for place in places:
            yield from _kept(_about_one(key, rows, place, whole=whole), observations)
        if whole and rows.ndim > 1:
            yield from _kept(_anywhere(key, rows), observations)
        elif not whole and len(places) <= MAX_DIFFERENCES:
            yield from _kept(_apart(key, rows, places), observations)


def _column(rows: Array, place: tuple[int, ...]) -> Array:
    """``(n,)`` one number of each row."""
    flat = int(np.ravel_multi_index(place, rows.shape[1:])) if place else 0
    return rows.reshape(len(rows), -1)[:, flat]


def _about_one(key: str, rows: Array, place: tuple[int, ...], *, whole: bool) -> list[Question]:
    """Questions about one number of a part."""
    numbers = _column(rows, place)
    if whole:
        return [Question(key, place, "is", float(value)) for value in _frequent(numbers)]
    return [Question(key, place, "above", value) for value in _thresholds(numbers)]


def _anywhere(key: str, rows: Array) -> list[Question]:
    """Whether some place of an array has a value; an image's channels are asked one by one."""
    if rows.ndim < 4:
        return [Question(key, (), "has", float(value)) for value in _frequent(rows)]
    return [
        Question(key, (channel,), "has", float(value))
        for channel in range(rows.shape[-1])
        for value in _frequent(rows[..., channel])
    ]


def _apart(key: str, rows: Array, places: Sequence[tuple[int, ...]]) -> list[Question]:
    """Whether one number exceeds another."""
    return [
        Question(key, one, "apart", value, other)
        for i, one in enumerate(places)
        for other in places[:i]
        for value in _thresholds(_column(rows, one) - _column(rows, other))
    ]


def _frequent(numbers: Array) -> Array:
    """The most frequent values."""
    values, counts = np.unique(numbers, return_counts=True)
    return values[np.argsort(-counts, kind="stable")[:MAX_VALUES]]


def _thresholds(numbers: Array) -> list[float]:
    """Values that divide the numbers into equal shares."""
    shares = np.linspace(0.0, 1.0, N_THRESHOLDS + 2)[1:-1]
    found = np.unique(np.quantile(numbers, shares, method="lower"))
    return [float(value) for value in found if value < numbers.max()]


def _kept(
    asked: list[Question], observations: Arrays
) -> Iterator[tuple[list[Question], BoolArray]]:
    """The questions that tell observations apart, with their answers."""
    if not asked:
        return
    answers = np.stack([question.answer(observations) for question in asked], axis=1)
    share = answers.mean(axis=0)
    kept = np.flatnonzero(np.minimum(share, 1.0 - share) >= MIN_SHARE)
    if len(kept):
        yield [asked[i] for i in kept], answers[:, kept]
