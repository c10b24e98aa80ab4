"""AttributeSpace: the names and sizes of what matters about a state, and ways to write it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.attributes.naming import (
    ANYTHING,
    checked_table,
    read_number,
    split_terms,
    squeeze,
)
from gym_attrplan.attributes.packing import BitLayout
from gym_attrplan.attributes.vectors import whole_numbers
from gym_attrplan.error import InvalidAttributes, InvalidGoal, did_you_mean, shown

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
Value: TypeAlias = bool | int | str
Sizes: TypeAlias = "Mapping[str, int | Sequence[str]] | Sequence[str] | AttributeSpace"
GoalLike: TypeAlias = Mapping[str, Value] | npt.ArrayLike | str

FREE = -1
"""The value of an attribute that a goal leaves open."""


class AttributeSpace:
    """Named attributes, each a small integer: 0 or 1 by default, ``0 … size-1``, or a word.

    A *vector* holds one value per attribute. A *goal* is a vector in which ``-1`` means "free".
    Both are plain arrays of :attr:`dtype` (int8, or int16 when a size needs it).

    Args:
        sizes: Names of binary attributes, or a mapping from names to sizes (at least 2) or to the
            words for the values 0, 1, 2, …  Another space is taken over as it is.

    Raises:
        InvalidAttributes: On no names, an empty, repeated or unreadable name, or a size below 2.

    Example:
        >>> space = AttributeSpace({"door_open": 2, "ore": 41, "lamp": ["red", "green", "blue"]})
        >>> space.encode({"door_open": True, "ore": 3, "lamp": "green"})
        array([1, 3, 1], dtype=int8)
        >>> space.goal("not door_open, lamp=blue")
        array([ 0, -1,  2], dtype=int8)
        >>> space.describe([1, 3, 1])
        'door_open, ore=3, lamp=green'
    """

    def __init__(self, sizes: Sizes) -> None:
        table = checked_table(sizes.table if isinstance(sizes, AttributeSpace) else sizes)
        self.names: tuple[str, ...] = tuple(table)
        self.words: dict[str, tuple[str, ...]] = {
            name: tuple(size) for name, size in table.items() if not isinstance(size, int)
        }
        self.sizes: IntArray = np.array(
            [size if isinstance(size, int) else len(size) for size in table.values()], np.int16
        )
        self.sizes.flags.writeable = False
        self.dtype: np.dtype[np.signedinteger[Any]] = np.dtype(
            np.int8 if self.sizes.max() <= np.iinfo(np.int8).max else np.int16
        )
        self._position = {squeeze(name): i for i, name in enumerate(self.names)}
        self._unsigned = np.dtype(f"u{self.dtype.itemsize}")
        self._limits = self.sizes.astype(self._unsigned)
        self._layout = BitLayout(self.sizes)

    # --- the space itself -------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttributeSpace) and self.table == other.table

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        names = list(self.names)
        return f"AttributeSpace({names if self.is_binary else self.table})"

    @property
    def table(self) -> dict[str, int | list[str]]:
        """Name → size or words: the plain form that the constructor takes back."""
        sizes = zip(self.names, self.sizes.tolist(), strict=True)
        return {name: list(self.words.get(name, ())) or size for name, size in sizes}

    @property
    def is_binary(self) -> bool:
        """Whether every attribute is a plain yes or no."""
        return not self.words and bool((self.sizes == 2).all())

    @property
    def box(self) -> spaces.Box:
        """The Gymnasium space of goals, and so of vectors too: HER copies one over the other."""
        return spaces.Box(
            np.full(len(self), FREE, self.dtype),
            (self.sizes - 1).astype(self.dtype),
            dtype=self.dtype.type,
        )

    def to_json(self) -> str:
        """The space as text; :meth:`from_json` reads it back."""
        return json.dumps(self.table)

    @classmethod
    def from_json(cls, text: str) -> AttributeSpace:
        """The space that :meth:`to_json` wrote.

        Raises:
            InvalidAttributes: If the text is not JSON, or not that of a space.
        """
        try:
            table = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidAttributes(
                f"an attribute space is read from the JSON text of a table; received "
                f"{shown(text)}: {error}."
            ) from error
        return cls(table)

    # --- vectors ----------------------------------------------------------------------------

    def check(
        self,
        vectors: npt.ArrayLike,
        *,
        source: str = "the vector",
        leading: tuple[int, ...] | None = None,
    ) -> IntArray:
        """Vectors as an array of :attr:`dtype`, held to the sizes.

        Args:
            vectors: One vector ``(n_attributes,)`` or a batch ``(n, n_attributes)`` of integers.
            source: What to blame in the message.
            leading: Shape required before the attribute axis: ``()`` for one vector, ``(n,)`` for
                n.

        Raises:
            InvalidAttributes: On another length, a float, or a value outside its attribute's size.
        """
        array = whole_numbers(vectors, self.dtype, source=source)
        shape = array.shape
        ahead = shape[:-1] if leading is None else leading
        if shape != (*ahead, len(self.names)) or len(shape) > 2:
            rows = f" in each of {leading[0]} rows" if leading else ""
            raise InvalidAttributes(
                f"{source} must hold {len(self)} values, one for each attribute{rows}; "
                f"received shape {shape}."
            )
        # Read as unsigned, negative values become large: one comparison holds both ends. This runs
        # at every step of every environment, and count_nonzero is several times faster than any().
        too_large = array.view(self._unsigned) >= self._limits
        if np.count_nonzero(too_large):
            column = int(np.argwhere(too_large)[0, -1])
            value = int(array[tuple(np.argwhere(too_large)[0])])
            raise InvalidAttributes(
                f"{source} gives {shown(self.names[column])} the value {value}; "
                f"it takes 0 to {self.sizes[column] - 1}. Give it a larger size, or clip the value."
            )
        return array

    def encode(self, values: Mapping[str, Any] | Sequence[Mapping[str, Value]]) -> IntArray:
        """Named values → vector; every attribute must be named.

        Args:
            values: ``{name: value}`` gives one vector, ``{name: array}`` or a sequence of
                mappings a batch.

        Raises:
            InvalidAttributes: On an unknown or missing name, or a value outside its attribute's
                size.
        """
        if not isinstance(values, Mapping):
            return self._encode_rows(values)
        columns: list[Any] = [None] * len(self)
        for name, value in values.items():
            i = self._find(name, InvalidAttributes)
            columns[i] = (
                value
                if isinstance(value, np.ndarray)
                else self._number(i, value, InvalidAttributes)
            )
        missing = [name for name, column in zip(self.names, columns, strict=True) if column is None]
        if missing:
            raise InvalidAttributes(
                f"a vector needs every attribute; {shown(missing)} not given. goal() may leave "
                "some free."
            )
        try:
            stacked = np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError as error:
            shapes = [np.shape(column) for column in columns]
            raise InvalidAttributes(
                f"the arrays of a batch must have one length; received shapes {shown(shapes)}."
            ) from error
        return self.check(stacked)

    def decode(self, vectors: npt.ArrayLike) -> Any:
        """The inverse of :meth:`encode`: ``{name: bool, int or word}``, listed for a batch."""
        array = self.check(vectors)
        if array.ndim == 2:
            return [self.decode(row) for row in array]
        return {
            name: self._value(i, value)
            for i, (name, value) in enumerate(zip(self.names, array.tolist(), strict=True))
        }

    def describe(self, vector: GoalLike) -> str:
        """A vector or goal in words that :meth:`goal` reads back; what is free is left out."""
        goal = self.goal(vector)
        terms = [self._term(i, value) for i, value in enumerate(goal.tolist()) if value != FREE]
        return ", ".join(terms) or ANYTHING

    # --- goals ------------------------------------------------------------------------------

    def goal(self, wanted: GoalLike) -> IntArray:
        """A goal from named values, from a vector with -1 for "free", or from text.

        Args:
            wanted: ``{"at_goal": True}``; ``[1, -1, 0]``; or text such as
                ``"on(red, green), not left_of(blue, red), ore=3"``. What is not named is free.
                Naming nothing (``{}``, ``""``, ``"anything"``) is allowed: every state meets that
                goal.

        Raises:
            InvalidGoal: On an unknown name (the message offers the nearest), a value out of range,
                a contradiction, or a vector of another length.
        """
        if isinstance(wanted, str):
            return self._from_pairs(self._parse(wanted))
        if isinstance(wanted, Mapping):
            return self._from_pairs([(name, value) for name, value in wanted.items()])
        try:
            array = whole_numbers(wanted, self.dtype, source="the goal")
        except InvalidAttributes as error:
            raise InvalidGoal(str(error)) from error
        if array.shape != self.sizes.shape:
            raise InvalidGoal(
                f"a goal holds {len(self)} values, one for each attribute, -1 for free; "
                f"received shape {array.shape}."
            )
        self.check_goals(array)
        return array.copy()

    def check_goals(self, goals: IntArray) -> None:
        """Hold goals ``(..., n_attributes)`` to the sizes, with -1 allowed.

        Raises:
            InvalidGoal: On the first value out of range.
        """
        bad = (goals < FREE) | (goals >= self.sizes)
        if bad.any():
            where = tuple(np.argwhere(bad)[0])
            raise InvalidGoal(
                f"the goal gives {shown(self.names[int(where[-1])])} the value {goals[where]}; "
                f"it takes 0 to {self.sizes[where[-1]] - 1}, or -1 for free."
            )

    def matches(self, achieved: IntArray, goal: IntArray) -> npt.NDArray[np.bool_]:
        """Whether vectors meet goals: equal wherever the goal is not free. Leading axes broadcast.

        Example:
            >>> space = AttributeSpace(["a", "b"])
            >>> space.matches(np.array([[1, 0], [0, 0]]), space.goal("a"))
            array([ True, False])
        """
        met: npt.NDArray[np.bool_] = ((achieved == goal) | (goal == FREE)).all(axis=-1)
        return met

    # --- packed keys ------------------------------------------------------------------------

    @property
    def n_words(self) -> int:
        """Number of 64-bit words of a packed vector."""
        return self._layout.n_words

    def pack(self, vectors: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """Vectors ``(n, n_attributes)`` → ``(n, n_words)`` uint64, a bit per binary attribute."""
        return self._layout.pack(np.atleast_2d(self.check(vectors)))

    def unpack(self, packed: npt.NDArray[np.uint64]) -> IntArray:
        """The inverse of :meth:`pack`: ``(n, n_words)`` uint64 → ``(n, n_attributes)``."""
        return self._layout.unpack(packed).astype(self.dtype)

    def pack_goal(self, goal: GoalLike) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """A goal as ``(mask, bits)``: a packed row meets it when ``row & mask == bits``."""
        vector = self.goal(goal)
        free = vector == FREE
        mask = self._layout.mask(~free)
        return mask, self._layout.pack(np.where(free, 0, vector)[None])[0]

    def keys(self, vectors: npt.ArrayLike) -> list[bytes]:
        """One hashable key per vector; equal vectors, and only they, have equal keys."""
        packed = self.pack(vectors)
        key: list[bytes] = packed.view(f"V{packed.itemsize * self.n_words}").ravel().tolist()
        return key

    # --- helpers ----------------------------------------------------------------------------

    def _encode_rows(self, rows: Any) -> IntArray:
        if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
            raise InvalidAttributes(
                "values are given by name, {name: value}, or as a sequence of such mappings; "
                f"received {shown(rows)}."
            )
        vectors = [self.encode(row) for row in rows]
        return np.stack(vectors) if vectors else np.empty((0, len(self)), self.dtype)

    def _find(self, name: Any, kind: type[InvalidGoal | InvalidAttributes]) -> int:
        if not isinstance(name, str):
            raise kind(f"attributes have names, which are texts; received {shown(name)}.")
        position = self._position.get(squeeze(name))
        if position is None:
            both = " Join what is wanted by commas, not by 'and'." if " and " in name else ""
            raise kind(f"no attribute named {shown(name)}. {did_you_mean(name, self.names)}{both}")
        return position

    def _number(self, i: int, value: Any, kind: type[InvalidGoal | InvalidAttributes]) -> int:
        name, size, words = self.names[i], int(self.sizes[i]), self.words.get(self.names[i])
        if isinstance(value, str):
            number = read_number(value, words, size)
        elif isinstance(value, (bool, int, np.integer, np.bool_)):
            number = int(value)
        else:
            number = None
        if number is None or not 0 <= number < size:
            takes = f"one of {shown(list(words))}" if words else f"0 to {size - 1}"
            if isinstance(value, (float, np.floating)):
                takes = f"a whole number, {takes}"
            elif size == 2 and not words and isinstance(value, str):
                takes += f" (write {shown(name)} or {shown(f'not {name}')})"
            given = value.item() if isinstance(value, np.generic) else value
            raise kind(f"{shown(name)} takes {takes}; received {shown(given)}.")
        return number

    def _value(self, i: int, number: int) -> Value:
        words = self.words.get(self.names[i])
        if words:
            return words[number]
        return bool(number) if self.sizes[i] == 2 else number

    def _term(self, i: int, number: int) -> str:
        value = self._value(i, number)
        if isinstance(value, bool):
            return self.names[i] if value else f"not {self.names[i]}"
        return f"{self.names[i]}={value}"

    def _from_pairs(self, pairs: Sequence[tuple[str, Any]]) -> IntArray:
        goal = np.full(len(self), FREE, self.dtype)
        for name, value in pairs:
            i = self._find(name, InvalidGoal)
            number = self._number(i, value, InvalidGoal)
            if goal[i] not in (FREE, number):
                raise InvalidGoal(
                    f"the goal asks two values of {shown(self.names[i])}; name it once."
                )
            goal[i] = number
        return goal

    def _parse(self, text: str) -> list[tuple[str, Value]]:
        if text.strip() in ("", ANYTHING):
            return []
        pairs: list[tuple[str, Value]] = []
        for term in split_terms(text):
            name, equals, value = (part.strip() for part in term.partition("="))
            negated = name.startswith("not ")
            if equals:
                pairs.append((name, value))
                continue
            name = name.removeprefix("not ").strip()
            i = self._find(name, InvalidGoal)
            if self.sizes[i] != 2 or self.names[i] in self.words:
                raise InvalidGoal(
                    f"{shown(self.names[i])} is not a yes-or-no attribute: write "
                    f"{shown(self._term(i, 0))}, not {shown(term)}."
                )
            pairs.append((name, not negated))
        return pairs
