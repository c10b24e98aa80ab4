"""Examples: the effects of single actions on the attributes; and rows taken by index."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidData
from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.fitting import Inputs, to_tensor
from gym_attrplan.wrappers.observation import GOAL_KEYS, ROOT

Array = npt.NDArray[Any]

MIN_EXAMPLES = 20


class IndexedRows:
    """Rows of a table by index: a million examples need not be a million frames.

    The table may be memory-mapped. Models that train on a GPU move the whole table there once.

    Args:
        table: ``(n_rows, …)``.
        rows: ``(n,)`` row numbers.

    Example:
        >>> frames = IndexedRows(np.arange(6).reshape(3, 2), [2, 2, 0])
        >>> len(frames), frames[np.array([0, 2])].tolist()
        (3, [[4, 5], [0, 1]])
    """

    def __init__(self, table: Any, rows: Any) -> None:
        self._table = table if isinstance(table, torch.Tensor) else _shared(table)
        self._rows = torch.as_tensor(rows, dtype=torch.long)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self._table[self._rows[index]]

    @property
    def nbytes(self) -> int:
        """Number of bytes of the table and the row numbers."""
        return self._table.nbytes + self._rows.nbytes

    @property
    def is_finite(self) -> npt.NDArray[np.bool_]:
        """Return ``(n,)`` whether each row is finite; each row of the table is read once."""
        fine: npt.NDArray[np.bool_] = _finite_rows(self._table)[self._rows.cpu().numpy()]
        return fine

    def to(self, device: torch.device) -> IndexedRows:
        """Return the same rows on another device."""
        return IndexedRows(self._table.to(device), self._rows.to(device))


@dataclass(frozen=True)
class Examples:
    """States, actions, and the attributes before and after.

    Attributes:
        observations: ``(n, …)`` rows, or key → rows; each an array, a tensor or
            :class:`IndexedRows`.
        actions: ``(n, …)`` in the environment's form.
        attributes: ``(n, n_attributes)`` before the action.
        next_attributes: ``(n, n_attributes)`` after the action.
        next_observations: Observations after the action, in the form of ``observations``;
            :class:`Trunk` and :class:`NextStateModel` learn from them.
    """

    observations: Any
    actions: Array
    attributes: IntArray
    next_attributes: IntArray
    next_observations: Any = None

    @classmethod
    def concatenate(cls, batches: Iterable[Examples]) -> Examples:
        """Join batches, such as from a generator; their rows must be arrays."""
        parts = list(batches)
        if not parts:
            raise InvalidData("there is no batch of examples to concatenate.")
        keyed = isinstance(parts[0].observations, Mapping)
        names = list(parts[0].observations) if keyed else [ROOT]
        rows = {
            name: np.concatenate([_keyed(part.observations)[name] for part in parts])
            for name in names
        }
        return cls(
            rows if keyed else rows[ROOT],
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("actions", "attributes", "next_attributes")
            ),
        )

    def __len__(self) -> int:
        return len(self.actions)

    def checked(self, space: AttributeSpace, layout: ActionLayout) -> Examples:
        """Return itself after checking that models can learn from it.

        Args:
            space: The attributes.
            layout: The structure of actions.

        Raises:
            InvalidData: If there are fewer than 20 examples, lengths differ, a state is not finite,
                or an action is not valid.
            InvalidAttributes: If a vector does not belong to the space.
        """
        if len(self) < MIN_EXAMPLES:
            raise InvalidData(
                f"at least {MIN_EXAMPLES} examples are needed; received {len(self)}. Explore more."
            )
        for name in ("observations", "next_observations"):
            lengths = {key: len(rows) for key, rows in _keyed(getattr(self, name)).items()}
            if any(length != len(self) for length in lengths.values()):
                raise InvalidData(f"{name} has {lengths} rows for {len(self)} actions.")
            for key, rows in _keyed(getattr(self, name)).items():
                fine = rows.is_finite if isinstance(rows, IndexedRows) else _finite_rows(rows)
                if not fine.all():
                    raise InvalidData(
                        f"row {int(fine.argmin())} of {name}[{key!r}] is not finite; a network "
                        "that learns from it learns nothing else. Leave such examples out."
                    )
        layout.check(self.actions)
        for name in ("attributes", "next_attributes"):
            space.check(getattr(self, name), source=f"a row of {name}", leading=(len(self),))
        return self

    def inputs(self) -> Inputs:
        """Return the models' inputs: a tensor for each part, and attributes before and after."""
        parts = {key: _rows(rows) for key, rows in _keyed(self.observations).items()}
        goals = zip(GOAL_KEYS, (self.attributes, self.next_attributes), strict=True)
        return {**parts, **{key: to_tensor(vectors) for key, vectors in goals}}

    def next_inputs(self) -> Inputs:
        """Return the observations after the actions."""
        return {key: _rows(rows) for key, rows in _keyed(self.next_observations).items()}


def _keyed(rows: Any) -> Mapping[str, Any]:
    if rows is None:
        return {}
    return rows if isinstance(rows, Mapping) else {ROOT: rows}


def _finite_rows(rows: Any) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` whether each row is finite."""
    array = rows.cpu().numpy() if isinstance(rows, torch.Tensor) else np.asarray(rows)
    if array.dtype.kind != "f":
        return np.ones(len(array), np.bool_)
    fine: npt.NDArray[np.bool_] = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    return fine


def _rows(rows: Any) -> Any:
    return rows if isinstance(rows, (torch.Tensor, IndexedRows)) else to_tensor(rows)


def _shared(table: Any) -> torch.Tensor:
    """Return a table as a tensor on the same memory, which is only read."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return torch.from_numpy(np.asarray(table))
