"""BitLayout: attribute vectors packed into 64-bit words, for fast comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class BitLayout:
    """Positions of the attributes in a packed row: one bit if binary, else one or two bytes.

    Args:
        sizes: ``(n_attributes,)`` number of values of each attribute.
    """

    def __init__(self, sizes: npt.NDArray[np.integer[Any]]) -> None:
        self._n_attributes = len(sizes)
        self._binary = np.flatnonzero(sizes == 2)
        self._narrow = np.flatnonzero((sizes > 2) & (sizes <= 256))
        self._wide = np.flatnonzero(sizes > 256)
        self._all_binary = len(self._binary) == len(sizes)
        n_bit_bytes = -(-len(self._binary) // 8)
        self._bits = slice(0, n_bit_bytes)
        self._bytes = slice(n_bit_bytes, n_bit_bytes + len(self._narrow))
        self._pairs = slice(self._bytes.stop, self._bytes.stop + 2 * len(self._wide))
        self.n_words = -(-self._pairs.stop // 8)

    def pack(self, vectors: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint64]:
        """``(n, n_attributes)`` values within their sizes → ``(n, n_words)`` uint64."""
        rows = np.zeros((len(vectors), 8 * self.n_words), np.uint8)
        if len(self._binary):
            binary = vectors if self._all_binary else vectors[:, self._binary]
            rows[:, self._bits] = np.packbits(
                binary.astype(bool, copy=False), axis=1, bitorder="little"
            )
        if len(self._narrow):
            rows[:, self._bytes] = vectors[:, self._narrow]
        if len(self._wide):
            wide = np.ascontiguousarray(vectors[:, self._wide], dtype="<u2")
            rows[:, self._pairs] = wide.view(np.uint8)
        return rows.view(np.uint64)

    def unpack(self, packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.int16]:
        """``(n, n_words)`` uint64 → ``(n, n_attributes)`` int16."""
        rows = np.ascontiguousarray(packed).view(np.uint8)
        vectors = np.empty((len(rows), self._n_attributes), np.int16)
        bits = np.unpackbits(
            rows[:, self._bits], axis=1, count=len(self._binary), bitorder="little"
        )
        vectors[:, self._binary] = bits
        vectors[:, self._narrow] = rows[:, self._bytes]
        vectors[:, self._wide] = np.ascontiguousarray(rows[:, self._pairs]).view("<u2")
        return vectors

    def mask(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
        """``(n_attributes,)`` choice → ``(n_words,)`` mask of the chosen attributes' bits."""
        ones = np.zeros(self._n_attributes, np.int32)
        ones[self._binary] = 1
        ones[self._narrow] = 0xFF
        ones[self._wide] = 0xFFFF
        words: npt.NDArray[np.uint64] = self.pack(np.where(chosen, ones, 0)[None])[0]
        return words
