"""BitFields: descriptions packed into a few bits each, with arithmetic on the packed form."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import FREE, IntArray

Words: TypeAlias = npt.NDArray[np.uint64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int64]

_WORD = 64
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


class BitFields:
    """Some attributes of descriptions, each in as few bits of a 64-bit word as it needs.

    :class:`~gym_attrplan.attributes.AttributeSpace` packs for fast unpacking; here values are
    increased and compared without unpacking.

    Args:
        columns: ``(n,)`` the attributes.
        sizes: ``(n,)`` their numbers of values.

    Example:
        >>> fields = BitFields(np.arange(2), np.array([2, 4]))
        >>> words = fields.pack(np.array([[1, 3], [0, 1]]))
        >>> fields.unpack(fields.add(words, np.array([1, 2]))).tolist()
        [[0, 1], [1, 3]]
    """

    def __init__(self, columns: Places, sizes: IntArray) -> None:
        self.columns, self.sizes = columns, sizes.astype(np.int64)
        self._places: list[tuple[int, np.uint64, np.uint64]] = []
        word, shift = 0, 0
        for size in self.sizes.tolist():
            n_bits = max(int(size - 1).bit_length(), 1)
            if shift + n_bits > _WORD:
                word, shift = word + 1, 0
            self._places.append((word, np.uint64(shift), np.uint64((1 << n_bits) - 1)))
            shift += n_bits
        self.n_words = word + 1

    def pack(self, vectors: IntArray) -> Words:
        """``(n, n_columns)`` values → ``(n, n_words)``."""
        words = np.zeros((len(vectors), self.n_words), np.uint64)
        for values, (word, shift, _) in zip(vectors.T, self._places, strict=True):
            words[:, word] |= values.astype(np.uint64) << shift
        return words

    def unpack(self, words: Words) -> IntArray:
        """Invert :meth:`pack`."""
        columns = [self._values(words, i) for i in range(len(self.columns))]
        return np.stack(columns, axis=1).astype(np.int64)

    def add(self, words: Words, amounts: IntArray) -> Words:
        """Increase each attribute by an amount, modulo its size."""
        changed = words.copy()
        for i in np.flatnonzero(amounts).tolist():
            word, shift, _ = self._places[i]
            if self.sizes[i] == 2:
                changed[:, word] ^= np.uint64(1) << shift
                continue
            values = self._values(words, i)
            sums = (values.astype(np.int64) + int(amounts[i])) % self.sizes[i]
            changed[:, word] ^= (values ^ sums.astype(np.uint64)) << shift
        return changed

    def fits(self, words: Words, allowed: BoolArray) -> BoolArray:
        """Return ``(n,)`` whether every value is one of ``(n_columns, max_size)`` allowed ones."""
        fine = np.ones(len(words), np.bool_)
        for i, size in enumerate(self.sizes.tolist()):
            if not allowed[i, :size].all():
                fine &= allowed[i][self._values(words, i).astype(np.int64)]
        return fine

    def n_unmet(self, words: Words, goal: IntArray) -> Places:
        """Return ``(n,)`` numbers of values that differ from a goal."""
        unmet = np.zeros(len(words), np.int64)
        for i in np.flatnonzero(goal != FREE).tolist():
            unmet += self._values(words, i) != np.uint64(goal[i])
        return unmet

    def keys(self, words: Words) -> Words:
        """Return ``(n,)`` one number per row: the word itself, or a hash of several words.

        Two rows of several words have the same number with probability 2^-64.
        """
        if self.n_words == 1:
            return words[:, 0]
        mixed = np.zeros(len(words), np.uint64)
        for column in words.T:
            mixed = (mixed ^ column) * np.uint64(_MIX[0])
            mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(_MIX[1])
        return mixed

    def _values(self, words: Words, i: int) -> Words:
        word, shift, mask = self._places[i]
        return (words[:, word] >> shift) & mask
