"""Lexicon: the attributes' names, sizes, words and bins; reads and writes single values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from gym_attrplan.attributes.bins import Bins
from gym_attrplan.attributes.naming import Size, read_number, squeeze
from gym_attrplan.attributes.readable import read_decimal
from gym_attrplan.attributes.vectors import IntArray
from gym_attrplan.error import InvalidAttributes, InvalidGoal, did_you_mean, shown

Value: TypeAlias = bool | int | str
Kind: TypeAlias = type[InvalidGoal | InvalidAttributes]
PlainTable: TypeAlias = dict[str, int | list[str] | dict[str, Any]]

FREE = -1
"""Value of an attribute that a goal leaves free."""


class Lexicon:
    """Names and values of attributes, shared by spaces and goals.

    Args:
        table: Checked name → size, words or bins.

    Example:
        >>> lexicon = Lexicon({"door": 2, "height": Bins([0.0, 1.0])})
        >>> lexicon.find("height", InvalidGoal), lexicon.number(1, 0.3, InvalidGoal)
        (1, 1)
        >>> lexicon.term(0, 0), lexicon.term(1, 1)
        ('not door', 'height=0 to 1')
    """

    def __init__(self, table: Mapping[str, Size]) -> None:
        self.names: tuple[str, ...] = tuple(table)
        self.bins: dict[str, Bins] = {
            name: size for name, size in table.items() if isinstance(size, Bins)
        }
        self.words: dict[str, tuple[str, ...]] = {
            name: size.names if isinstance(size, Bins) else size
            for name, size in table.items()
            if not isinstance(size, int)
        }
        self.sizes: IntArray = np.array(
            [size if isinstance(size, int) else len(size) for size in table.values()], np.int16
        )
        self.sizes.flags.writeable = False
        self.dtype: np.dtype[np.signedinteger[Any]] = np.dtype(
            np.int8 if self.sizes.max() <= np.iinfo(np.int8).max else np.int16
        )
        self._position = {squeeze(name): i for i, name in enumerate(self.names)}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Lexicon) and self.table == other.table)

    def __hash__(self) -> int:
        return hash(self.names)

    @property
    def table(self) -> PlainTable:
        """Name → size, words or bins, as JSON values."""
        plain: PlainTable = dict(zip(self.names, self.sizes.tolist(), strict=True))
        plain.update({name: list(words) for name, words in self.words.items()})
        plain.update({name: bins.table for name, bins in self.bins.items()})
        return plain

    @cached_property
    def n_ors(self) -> int:
        """Maximum number of ``' or '`` inside a name and a word together."""
        # With a space on either side, since a goal may be "not or b" if the name is "or b".
        of_names = max(f" {name} ".count(" or ") for name in self.names)
        words = (f" {word} ".count(" or ") for words in self.words.values() for word in words)
        return of_names + max(words, default=0)

    def knows(self, name: str) -> bool:
        """Return whether an attribute has this name."""
        return squeeze(name) in self._position

    def is_yes_or_no(self, i: int) -> bool:
        """Return whether attribute ``i`` is written ``name`` or ``not name``."""
        return bool(self.sizes[i] == 2) and self.names[i] not in self.words

    def find(self, name: Any, kind: Kind) -> int:
        """Return the attribute's index.

        Raises:
            InvalidGoal: On an unknown name, if that is the ``kind``; else InvalidAttributes.
        """
        if not isinstance(name, str):
            raise kind(f"attributes have names, which are texts; received {shown(name)}.")
        position = self._position.get(squeeze(name))
        if position is None:
            both = " Join what is wanted by commas, not by 'and'." if " and " in name else ""
            raise kind(f"no attribute named {shown(name)}. {did_you_mean(name, self.names)}{both}")
        return position

    def number(self, i: int, value: Any, kind: Kind) -> int:
        """Return the number of a value of attribute ``i``.

        Raises:
            InvalidGoal: If it has no such value, and that is the ``kind``; else InvalidAttributes.
        """
        name, size, words = self.names[i], int(self.sizes[i]), self.words.get(self.names[i])
        number: int | None = None
        if name in self.bins:
            number = _bin_of(self.bins[name], value)
        elif isinstance(value, str):
            number = read_number(value, words, size)
        elif isinstance(value, (bool, int, np.integer, np.bool_)):
            number = int(value)
        if number is None or not 0 <= number < size:
            given = value.item() if isinstance(value, np.generic) else value
            raise kind(f"{shown(name)} takes {self._takes(i, value)}; received {shown(given)}.")
        return number

    def column(self, i: int, values: Any) -> Any:
        """Return the number of a value of attribute ``i``, or those of an array, as in a vector."""
        if not isinstance(values, np.ndarray):
            return self.number(i, values, InvalidAttributes)
        name = self.names[i]
        if name not in self.bins:
            return values
        try:
            return self.bins[name].find(values)
        except InvalidAttributes as error:
            raise InvalidAttributes(f"{shown(name)}: {error}") from error

    def value(self, i: int, number: int) -> Value:
        """Return the value of attribute ``i`` with this number: yes or no, a number or a word."""
        words = self.words.get(self.names[i])
        if words:
            return words[number]
        return bool(number) if self.sizes[i] == 2 else number

    def term(self, i: int, number: int) -> str:
        """Return the term of a goal for this value of attribute ``i``."""
        value = self.value(i, number)
        if isinstance(value, bool):
            return self.names[i] if value else f"not {self.names[i]}"
        return f"{self.names[i]}={value}"

    def _takes(self, i: int, value: Any) -> str:
        """Describe the values of attribute ``i``, for error messages."""
        name, size, words = self.names[i], int(self.sizes[i]), self.words.get(self.names[i])
        takes = f"one of {shown(list(words))}" if words else f"0 to {size - 1}"
        if name in self.bins:
            takes = f"a number, but not NaN, or {takes}"
        elif isinstance(value, (float, np.floating)):
            takes = f"a whole number, {takes}"
        elif size == 2 and not words and isinstance(value, str):
            takes += f" (write {shown(name)} or {shown(f'not {name}')})"
        return takes


def _bin_of(bins: Bins, value: Any) -> int | None:
    """Return the bin of a name, a number or a number written as text; else None."""
    if isinstance(value, str):
        if value in bins.names:
            return bins.names.index(value)
        value = read_decimal(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond every float
        return len(bins) - 1 if value > 0 else 0
    return None if np.isnan(number) else bins.find(number)
