"""AttributeSpace: the names and sizes of attributes, and the text forms of their values."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.attributes.bins import Bins
from gym_attrplan.attributes.goal_forms import (
    are_alternatives,
    check_goals,
    read_set,
    read_single,
    read_vector,
)
from gym_attrplan.attributes.goal_set import GoalSet
from gym_attrplan.attributes.html_table import html_table
from gym_attrplan.attributes.lexicon import FREE, Lexicon, PlainTable, Value
from gym_attrplan.attributes.naming import ANYTHING, checked_table
from gym_attrplan.attributes.packing import BitLayout
from gym_attrplan.attributes.vectors import IntArray, whole_numbers
from gym_attrplan.error import InvalidAttributes, shown

__all__ = ["FREE", "AttributeSpace", "GoalLike", "IntArray", "Sizes", "Value"]

Size: TypeAlias = int | Sequence[str] | Bins | Mapping[str, Any]
Sizes: TypeAlias = "Mapping[str, Size] | Sequence[str] | AttributeSpace"
GoalLike: TypeAlias = Mapping[str, Any] | npt.ArrayLike | str | GoalSet


class AttributeSpace:
    """Named attributes, each a small integer: 0 or 1 by default, ``0 … size-1``, a word or a bin.

    A *vector* holds one value per attribute. A *goal* is a vector in which ``-1`` means "free".
    Both are plain arrays of :attr:`dtype` (int8, or int16 when a size needs it). A goal that is met
    in several ways is a :class:`~gym_attrplan.GoalSet`.

    Args:
        sizes: Names of binary attributes, or a mapping from names to sizes (at least 2), to the
            words for the values 0, 1, 2, …  or to the :class:`~gym_attrplan.Bins` that hold the
            values of a real-valued attribute. Another space is copied.

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
        >>> space.goal_set("ore>=3 or lamp!=red").matches([[1, 3, 0], [1, 0, 0]])
        array([ True, False])
    """

    def __init__(self, sizes: Sizes) -> None:
        table = checked_table(sizes.table if isinstance(sizes, AttributeSpace) else sizes)
        self._lexicon = lexicon = Lexicon(table)
        self.names: tuple[str, ...] = lexicon.names
        self.words: dict[str, tuple[str, ...]] = lexicon.words
        self.bins: dict[str, Bins] = lexicon.bins
        self.sizes: IntArray = lexicon.sizes
        self.dtype: np.dtype[np.signedinteger[Any]] = lexicon.dtype
        self._unsigned = np.dtype(f"u{self.dtype.itemsize}")
        self._limits = self.sizes.astype(self._unsigned)
        self._layout = BitLayout(self.sizes)

    # --- the space itself -------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttributeSpace) and self._lexicon == other._lexicon

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        names = list(self.names)
        return f"AttributeSpace({names if self.is_binary else self.table})"

    def _repr_html_(self) -> str:
        rows = [(name, self.values_of(name)) for name in self.names]
        return html_table(f"{len(self)} attributes", ["name", "values"], rows)

    def values_of(self, name: str) -> str:
        """Return the values of an attribute, in words.

        Example:
            >>> space = AttributeSpace({"door": 2, "ore": 41, "lamp": ["red", "green"]})
            >>> [space.values_of(name) for name in space]
            ['False, True', '0 to 40', 'red, green']
        """
        size = self.sizes[self._lexicon.find(name, InvalidAttributes)]
        numbers = "False, True" if size == 2 else f"0 to {size - 1}"
        return ", ".join(self.words.get(name, ())) or numbers

    def value_names(self) -> list[str]:
        """Return the names of all values of all attributes, one attribute after the other.

        Example:
            >>> AttributeSpace({"door": 2, "lamp": ["red", "green"]}).value_names()
            ['not door', 'door', 'lamp=red', 'lamp=green']
        """
        return [
            self._lexicon.term(i, value)
            for i, size in enumerate(self.sizes.tolist())
            for value in range(size)
        ]

    @property
    def table(self) -> PlainTable:
        """Name → size, words, or edges and names of bins, as the constructor takes them."""
        return self._lexicon.table

    @property
    def is_binary(self) -> bool:
        """Whether every attribute has two values without words."""
        return not self.words and bool((self.sizes == 2).all())

    @property
    def box(self) -> spaces.Box:
        """The Gymnasium space of goals and of vectors; one space, since HER copies between them."""
        return spaces.Box(
            np.full(len(self), FREE, self.dtype),
            (self.sizes - 1).astype(self.dtype),
            dtype=self.dtype.type,
        )

    def to_json(self) -> str:
        """Return the space as text, for :meth:`from_json`."""
        return json.dumps(self.table)

    @classmethod
    def from_json(cls, text: str) -> AttributeSpace:
        """Return the space that :meth:`to_json` wrote.

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
        """Return vectors as an array of :attr:`dtype`, checked against the sizes.

        Args:
            vectors: One vector ``(n_attributes,)`` or a batch ``(n, n_attributes)`` of integers.
            source: Origin of the vectors, for the message.
            leading: Shape required before the attribute axis: ``()`` for one vector, ``(n,)`` for
                n.

        Raises:
            InvalidAttributes: On a wrong length, a float, or a value outside its attribute's size.
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
        # Read as unsigned, negative values become large: one comparison checks both ends. This runs
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
        """Convert named values to a vector; every attribute must be named.

        Args:
            values: ``{name: value}`` gives one vector, ``{name: array}`` or a sequence of
                mappings a batch. Bins take their names, or numbers.

        Raises:
            InvalidAttributes: On an unknown or missing name, or a value outside its attribute's
                size.
        """
        if not isinstance(values, Mapping):
            return self._encode_rows(values)
        columns: list[Any] = [None] * len(self)
        for name, value in values.items():
            i = self._lexicon.find(name, InvalidAttributes)
            columns[i] = self._lexicon.column(i, value)
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
        """Invert :meth:`encode`: return ``{name: bool, int or word}``, or a list for a batch."""
        array = self.check(vectors)
        if array.ndim == 2:
            return [self.decode(row) for row in array]
        return {
            name: self._lexicon.value(i, value)
            for i, (name, value) in enumerate(zip(self.names, array.tolist(), strict=True))
        }

    def describe(self, vector: GoalLike) -> str:
        """Return a vector or goal as text that :meth:`goal` reads; free attributes are left out.

        A :class:`~gym_attrplan.GoalSet` is written as text that :meth:`goal_set` reads.
        """
        if isinstance(vector, GoalSet):
            return self.goal_set(vector).describe()
        values = enumerate(self.goal(vector).tolist())
        terms = [self._lexicon.term(i, value) for i, value in values if value != FREE]
        return ", ".join(terms) or ANYTHING

    # --- goals ------------------------------------------------------------------------------

    def goal(self, wanted: GoalLike) -> IntArray:
        """Return a goal from named values, from a vector with -1 for "free", or from text.

        Args:
            wanted: ``{"at_goal": True}``; ``[1, -1, 0]``; or text such as
                ``"on(red, green), not left_of(blue, red), ore=3"``. Attributes without a name are
                free. A goal without names (``{}``, ``""``, ``"anything"``) is met by every state.

        Raises:
            InvalidGoal: On an unknown name (the message suggests a similar one), a value out of
                range, a contradiction, a vector of wrong length, or a goal that allows several
                values of an attribute: :meth:`goal_set` reads those.
        """
        if isinstance(wanted, GoalSet):
            return self.goal_set(wanted).as_vector()
        if isinstance(wanted, (str, Mapping)):
            return read_single(self._lexicon, wanted)
        return read_vector(self._lexicon, wanted)

    def goal_set(self, wanted: GoalLike | Collection[GoalLike]) -> GoalSet:
        """Return a goal that may be met in several ways.

        Args:
            wanted: Any form that :meth:`goal` reads; text such as ``"ore>=3, lamp!=red or door"``,
                in
                which ``or`` separates alternatives; ``{"ore": ">=3", "lamp": ["red", "blue"]}``;
                or a list of any of these, which are alternatives.

        Raises:
            InvalidGoal: As :meth:`goal`, and if no description meets the goal.

        Example:
            >>> space = AttributeSpace({"door": 2, "height": Bins([0, 0.5])})
            >>> space.goal_set("not door, height>=0.5 or height=-3")
            GoalSet('not door, height=from 0.5 or height=below 0')
            >>> space.goal_set([{"door": True}, "height=0.2"]).matches([[0, 1], [0, 2]])
            array([ True, False])
        """
        return read_set(self._lexicon, wanted)

    def read_goal(self, wanted: GoalLike | Collection[GoalLike]) -> IntArray | GoalSet:
        """Read a goal in any form of :meth:`goal_set`; return a vector if one can represent it.

        Raises:
            InvalidGoal: As :meth:`goal_set`.
        """
        if not isinstance(wanted, (str, Mapping, GoalSet)) and not are_alternatives(wanted):
            return read_vector(self._lexicon, wanted)
        found = self.goal_set(wanted)
        return found.as_vector() if found.is_vector else found

    def check_goals(self, goals: IntArray) -> None:
        """Check that goals ``(..., n_attributes)`` are within the sizes, with -1 allowed.

        Raises:
            InvalidGoal: On the first value out of range.
        """
        check_goals(self._lexicon, goals)

    def matches(self, achieved: IntArray, goal: IntArray) -> npt.NDArray[np.bool_]:
        """Return whether vectors equal goals where these are not free. Leading axes broadcast.

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
        """Pack ``(n, n_attributes)`` vectors to ``(n, n_words)`` uint64, binary ones to a bit."""
        return self._layout.pack(np.atleast_2d(self.check(vectors)))

    def unpack(self, packed: npt.NDArray[np.uint64]) -> IntArray:
        """Invert :meth:`pack`: ``(n, n_words)`` uint64 → ``(n, n_attributes)``."""
        return self._layout.unpack(packed).astype(self.dtype)

    def pack_goal(self, goal: GoalLike) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Return a goal as ``(mask, bits)``: a packed row meets it when ``row & mask == bits``."""
        vector = self.goal(goal)
        free = vector == FREE
        mask = self._layout.mask(~free)
        return mask, self._layout.pack(np.where(free, 0, vector)[None])[0]

    def keys(self, vectors: npt.ArrayLike) -> list[bytes]:
        """Return one hashable key per vector; only equal vectors have equal keys."""
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
