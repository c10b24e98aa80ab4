"""NodeIndex: attribute vectors ↔ node numbers, in batches, with a hash table of numpy arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE, AttributeSpace, GoalLike, GoalSet
from gym_attrplan.attributes.vectors import as_array
from gym_attrplan.error import InvalidGraph

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Numbers: TypeAlias = npt.NDArray[np.int32]
Words: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]

NONE = -1
"""Number of a row or vector that is not in the table."""

_CLAIM = -2  # a slot below this holds entry ``_CLAIM - slot`` of the batch being added
_FACTORS = np.array([0xFF51AFD7ED558CCD, 0x9E3779B97F4A7C15, 0xC4CEB9FE1A85EC53], np.uint64)
_HALF, _ONE = np.uint64(32), np.uint64(1)
_CHUNK = 2048  # rows to add at a time to a small table
_UNPACKED = 1 << 14  # rows to unpack at a time


class KeyTable:
    """Numbers distinct rows of 64-bit words 0, 1, 2, … in order of first appearance.

    Open addressing with double hashing, each round for the whole batch at once. The numbers do not
    depend on the division of rows into batches. The cost of a row does not depend on the size of
    the table.

    Args:
        n_words: Number of words of a row, at least 1.

    Example:
        >>> table = KeyTable(1)
        >>> table.add(np.array([[7], [5], [7]], np.uint64))
        array([0, 1, 0], dtype=int32)
        >>> table.find(np.array([[5], [6]], np.uint64))
        array([ 1, -1], dtype=int32)
    """

    def __init__(self, n_words: int) -> None:
        self._count = 0
        self._columns = np.empty((n_words, 8), np.uint64)  # by word: a probe then reads one array
        self._slots = np.full(16, NONE, np.int32)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Words:
        """``(n, n_words)`` uint64: all rows, in the order of their numbers."""
        return self._columns[:, : self._count].T

    @property
    def nbytes(self) -> int:
        """Number of bytes of the table's arrays."""
        return self._columns.nbytes + self._slots.nbytes

    def find(self, rows: Words) -> Numbers:
        """Return the number of each row ``(n, n_words)``, -1 for unknown ones."""
        return self._probe(rows, _mix(rows))[0]

    def add(self, rows: Words) -> Numbers:
        """Return the number of each row ``(n, n_words)``; unknown rows get the next numbers."""
        numbers, done = np.empty(len(rows), np.int32), 0
        while done < len(rows):
            # At most as many at a time as are known: each gets memory, and most may be repeats.
            chunk = slice(done, done + max(_CHUNK, len(self)))
            numbers[chunk] = self._add(rows[chunk])
            done = chunk.stop
        return numbers

    def _add(self, rows: Words) -> Numbers:
        hashes = _mix(rows)
        numbers, places = self._probe(rows, hashes)
        new = np.flatnonzero(numbers < 0)
        if new.size:
            unknown, hashes = rows[new], hashes[new]
            grown = self._reserve(self._count + new.size)
            free = self._probe(unknown, hashes)[1] if grown else places[new]
            numbers[new] = self._insert(unknown, hashes, free)
        return numbers

    def _start(self, hashes: Words) -> Places:
        """Return the slot where each search starts."""
        return (hashes & np.uint64(len(self._slots) - 1)).view(np.int64)

    def _same(self, numbers: Numbers, rows: Words) -> npt.NDArray[np.bool_]:
        same: npt.NDArray[np.bool_] = self._columns[0].take(numbers) == rows[:, 0]
        for column, word in zip(self._columns[1:], rows.T[1:], strict=True):
            same &= column.take(numbers) == word
        return same

    def _probe(self, rows: Words, hashes: Words) -> tuple[Numbers, Places]:
        """Return each row's number and the slot that ended its search: its own, or an empty one."""
        places = self._start(hashes)
        numbers = self._slots.take(places)
        searching = np.flatnonzero((numbers >= 0) & ~self._same(numbers, rows))
        if not searching.size:
            return numbers, places
        wanted, at, steps = rows[searching], places[searching], _steps(hashes[searching])
        while searching.size:
            at = (at + steps) & (len(self._slots) - 1)
            met = self._slots.take(at)
            places[searching] = at
            numbers[searching] = met
            on = np.flatnonzero((met >= 0) & ~self._same(met, wanted))
            searching, wanted, at, steps = searching[on], wanted[on], at[on], steps[on]
        return numbers, places

    def _insert(self, rows: Words, hashes: Words, places: Places) -> Numbers:
        """Number unknown rows, which may repeat; ``places`` are their empty slots."""
        first = self._claim(rows, hashes, places)
        is_new = first == np.arange(len(rows))
        numbers = (self._count - 1 + np.cumsum(is_new)).astype(np.int32)
        self._slots[places[is_new]] = numbers[is_new]
        end = self._count + int(np.count_nonzero(is_new))
        self._columns[:, self._count : end] = rows[is_new].T
        self._count = end
        return numbers[first]

    def _claim(self, rows: Words, hashes: Words, places: Places) -> Places:
        """Give every distinct row a slot of its own, and advance ``places`` where two rows collide.

        Returns:
            For each row the first entry of the batch that equals it.
        """
        steps = _steps(hashes)
        first = np.arange(len(rows))
        waiting = first.copy()
        while waiting.size:
            at = places[waiting]
            # Of repeated writes the last one stays: in reverse order, the first row gets the slot.
            asking = waiting[self._slots[at] == NONE][::-1]
            self._slots[places[asking]] = _CLAIM - asking
            holder = _CLAIM - self._slots[at].astype(np.int64)
            settled = holder >= 0
            settled[settled] = (rows[holder[settled]] == rows[waiting[settled]]).all(axis=1)
            first[waiting[settled]] = holder[settled]
            waiting = waiting[~settled]
            places[waiting] = (places[waiting] + steps[waiting]) & (len(self._slots) - 1)
        return first

    def _reserve(self, count: int) -> bool:
        """Reserve memory for ``count`` rows; return whether that moved the slots."""
        if count > self._columns.shape[1]:
            columns = np.empty((len(self._columns), max(count, self._count * 3 // 2)), np.uint64)
            columns[:, : self._count] = self._columns[:, : self._count]
            self._columns = columns
        # With at most three of eight slots in use, few searches go past the second slot.
        n_slots = 1 << (count * 8 // 3).bit_length()
        if n_slots <= len(self._slots):
            return False
        self._slots = np.full(n_slots, NONE, np.int32)
        hashes = _mix(self.rows)
        places = self._start(hashes)
        self._claim(self.rows, hashes, places)
        self._slots[places] = np.arange(self._count, dtype=np.int32)
        return True


def _mix(rows: Words) -> Words:
    """Return a 64-bit hash of each row, mixed as in MurmurHash."""
    mixed: Words = rows[:, 0] * _FACTORS[0]
    for word in rows.T[1:]:
        mixed ^= mixed >> _HALF
        mixed ^= word
        mixed *= _FACTORS[1]
    mixed ^= mixed >> _HALF
    mixed *= _FACTORS[2]
    mixed ^= mixed >> _HALF
    return mixed


def _steps(hashes: Words) -> Places:
    """Return the distances between the slots that rows try.

    Each row has its own distance, so that collisions do not repeat, and an odd one, so that it
    visits every slot.
    """
    return ((hashes >> _HALF) | _ONE).view(np.int64)


class NodeIndex:
    """Attribute vectors ↔ node numbers 0, 1, 2, … in order of first appearance.

    Args:
        space: The attributes of a vector.

    Example:
        >>> index = NodeIndex(AttributeSpace(["key", "door"]))
        >>> index.add([[0, 0], [1, 0], [0, 0]])
        array([0, 1, 0], dtype=int32)
        >>> index.find([[1, 1], [1, 0]])
        array([-1,  1], dtype=int32)
        >>> index.matching("not door"), index.matching("key or door")
        (array([0, 1]), array([1]))
    """

    def __init__(self, space: AttributeSpace) -> None:
        self.space = space
        self._table = KeyTable(space.n_words)

    @classmethod
    def from_packed(cls, space: AttributeSpace, packed: npt.NDArray[Any]) -> NodeIndex:
        """Return the index with these :attr:`packed` rows.

        Raises:
            InvalidGraph: If they are not distinct packed vectors of this space.
        """
        if packed.dtype != np.uint64 or packed.ndim != 2 or packed.shape[1] != space.n_words:
            raise InvalidGraph(
                f"nodes are (n, {space.n_words}) uint64, packed by their space; received "
                f"{packed.shape} {packed.dtype}."
            )
        # A few rows at a time: unpacked, each bit takes a byte or two.
        for first in range(0, len(packed), _UNPACKED):
            rows = packed[first : first + _UNPACKED]
            vectors = space.unpack(rows)
            outside = (vectors < 0) | (vectors >= space.sizes)
            if outside.any() or (space.pack(vectors) != rows).any():
                raise InvalidGraph("a node holds bits that no vector of its space has.")
        index = cls(space)
        index._table.add(packed)
        if len(index) != len(packed):
            raise InvalidGraph(f"each node has one row; {len(packed) - len(index)} are repeated.")
        return index

    def __len__(self) -> int:
        return len(self._table)

    @property
    def packed(self) -> Words:
        """``(n_nodes, n_words)`` uint64: all data that :meth:`from_packed` needs."""
        return self._table.rows

    @property
    def nbytes(self) -> int:
        """Number of bytes of the index."""
        return self._table.nbytes

    def add(self, vectors: npt.ArrayLike) -> Numbers:
        """Return the number of each vector ``(n, n_attributes)``; new vectors become new nodes."""
        return self._table.add(self.space.pack(vectors))

    def add_packed(self, packed: Words) -> Numbers:
        """Do :meth:`add` for rows packed by ``space.pack``."""
        return self._table.add(packed)

    def find(self, vectors: npt.ArrayLike) -> Numbers:
        """Return the number of each vector ``(n, n_attributes)``, -1 for unknown ones."""
        return self._table.find(self.space.pack(vectors))

    def find_packed(self, packed: Words) -> Numbers:
        """Do :meth:`find` for rows packed by ``space.pack``."""
        return self._table.find(packed)

    def vectors(self, nodes: npt.ArrayLike) -> IntArray:
        """Return the vectors ``(n, n_attributes)`` of nodes ``(n,)``.

        Raises:
            InvalidGraph: On an unknown node number.
        """
        return self.space.unpack(self.packed[self.check_nodes(nodes)])

    def matching(self, goal: GoalLike) -> Places:
        """Return the nodes that meet a goal, in any form ``goal_set`` reads, ascending.

        Raises:
            InvalidGoal: If the goal does not belong to the space.
        """
        wanted = self.space.read_goal(goal)
        if isinstance(wanted, GoalSet):
            return self._matching_set(wanted)
        if (wanted != FREE).all():
            numbers = self.find(wanted)
            return numbers[numbers >= 0].astype(np.int64)
        met = np.ones(len(self), bool)
        for column, mask, bits in zip(self.packed.T, *self.space.pack_goal(wanted), strict=True):
            if mask:  # a word with only free attributes needs no pass over the nodes
                met &= (column & mask) == bits
        return np.flatnonzero(met)

    def _matching_set(self, goal: GoalSet) -> Places:
        met = np.empty(len(self), bool)
        for first in range(0, len(self), _UNPACKED):
            rows = slice(first, first + _UNPACKED)
            met[rows] = goal.matches(self.space.unpack(self.packed[rows]))
        return np.flatnonzero(met)

    def check_nodes(self, nodes: npt.ArrayLike, *, lowest: int = 0) -> Places:
        """Return node numbers as a flat int64 array, after checking them.

        Args:
            nodes: One number or many.
            lowest: 0, or -1 if "no node" is a valid number.

        Raises:
            InvalidGraph: On a number outside ``lowest … n_nodes - 1``, or one that is not an
                integer.
        """
        rule = "node numbers are whole numbers"
        numbers = np.atleast_1d(as_array(nodes, rule=rule, kind=InvalidGraph))
        if numbers.size and numbers.dtype.kind not in "iu":
            raise InvalidGraph(f"{rule}; received {numbers.dtype}.")
        numbers = numbers.astype(np.int64, copy=False)
        unknown = (numbers < lowest) | (numbers >= len(self))
        if numbers.ndim != 1 or unknown.any():
            received = numbers[unknown][0] if numbers.ndim == 1 else f"shape {numbers.shape}"
            raise InvalidGraph(
                f"a node's number is {lowest} to {len(self) - 1}; received {received}. "
                "index.find(vectors) tells the numbers of vectors."
            )
        return numbers
