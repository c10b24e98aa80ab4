"""Vocabulary: observations of a room as words. A word is a feature at a place, or a fact.

Places are relative to the agent, so that a word means the same at every position. Word
numbers start at 1; 0 is padding, which an embedding bag ignores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

PADDING = 0
WALL = 0
"""Number of the first feature of every vocabulary, walls."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of one room.

    Args:
        size: Side of the room, including the surrounding wall.
        objects: Names of the objects, the features after walls.
        facts: Statements without a place.

    Example:
        >>> vocabulary = Vocabulary(size=8, objects=("switch 1",), facts=("switch 1=red",))
        >>> vocabulary.place(1, -2, 0)
        252
        >>> vocabulary.describe(252), vocabulary.describe(vocabulary.n_words)
        ('switch 1 at (-2, 0)', 'switch 1=red')
    """

    size: int
    objects: tuple[str, ...]
    facts: tuple[str, ...]

    @property
    def reach(self) -> int:
        """Maximum distance of anything from the agent along an axis: the opposite wall."""
        return self.size - 2

    @property
    def side(self) -> int:
        """Number of different offsets along an axis."""
        return 2 * self.reach + 1

    @property
    def n_places(self) -> int:
        """Number of words with a place."""
        return (1 + len(self.objects)) * self.side**2

    @property
    def n_words(self) -> int:
        """Number of words, which is also the largest word number."""
        return self.n_places + len(self.facts)

    @property
    def dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """The smallest type for word numbers: int16 unless the room is very large."""
        return np.dtype(np.int16 if self.n_words <= np.iinfo(np.int16).max else np.int32)

    def place(self, feature: int, dx: int, dy: int) -> int:
        """Return the word for a feature dx columns to the right of and dy rows below the agent.

        Feature 0 is a wall, feature i the i-th object.
        """
        return 1 + (feature * self.side + dy + self.reach) * self.side + dx + self.reach

    def fact(self, number: int) -> int:
        """Return the word for the fact with this number."""
        return 1 + self.n_places + number

    def describe(self, word: int) -> str:
        """Return the meaning of a word number, as text."""
        if word == PADDING:
            return "nothing"
        if word > self.n_places:
            return self.facts[word - 1 - self.n_places]
        rest, dx = divmod(word - 1, self.side)
        feature, dy = divmod(rest, self.side)
        name = ("wall", *self.objects)[feature]
        return f"{name} at ({dx - self.reach}, {dy - self.reach})"

    def space(self, n_slots: int) -> spaces.Box:
        """Return the Gymnasium space of n words; its upper bound is the number of words."""
        return spaces.Box(PADDING, self.n_words, (n_slots,), self.dtype.type)

    def multi_hot(self, words: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Convert ``(n, n_slots)`` words to ``(n, n_words)`` int8, 1 for each word that occurs."""
        said = np.zeros((len(words), 1 + self.n_words), np.int8)
        np.put_along_axis(said, words.astype(np.int64), 1, axis=1)
        return np.ascontiguousarray(said[:, 1:])


class PlaceWords:
    """Place words of many rooms at once, with one subtraction per step.

    A word number is linear in the offset. So it is the number at offset (0, 0), plus the cell's
    part, which is stored for each object and wall, minus the agent's part.

    Args:
        vocabulary: The words.
        features: The feature in each slot.
    """

    def __init__(self, vocabulary: Vocabulary, features: Sequence[int]) -> None:
        rows, columns = np.divmod(np.arange(vocabulary.size**2), vocabulary.size)
        self._share = (rows * vocabulary.side + columns).astype(vocabulary.dtype)
        self._here = np.array([vocabulary.place(i, 0, 0) for i in features], vocabulary.dtype)
        last = vocabulary.size - 1
        ahead = zip(last - columns, last - rows, -columns, -rows, strict=True)
        self._around = np.array(
            [surrounding_words(vocabulary, *map(int, offsets)) for offsets in ahead],
            vocabulary.dtype,
        )

    def at_rest(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the part of ``(n, n_slots)`` cells; :meth:`write` subtracts the agent's."""
        answer: npt.NDArray[Any] = self._share[cells] + self._here
        return answer

    def write(
        self, words: npt.NDArray[Any], at_rest: npt.NDArray[Any], agents: npt.NDArray[np.int64]
    ) -> None:
        """Fill ``words`` with the agents' observations: the slots, then the surrounding wall."""
        n_slots = len(self._here)
        np.subtract(at_rest, self._share[agents][:, None], out=words[:, :n_slots])
        words[:, n_slots:] = self._around[agents]


def surrounding_words(
    vocabulary: Vocabulary, right: int, down: int, left: int, up: int
) -> tuple[int, int, int, int]:
    """Return the words of the surrounding wall on the four sides; its other tiles are redundant."""
    return (
        vocabulary.place(WALL, right, 0),
        vocabulary.place(WALL, 0, down),
        vocabulary.place(WALL, left, 0),
        vocabulary.place(WALL, 0, up),
    )
