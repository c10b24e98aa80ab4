"""Geometry: how the cells of a grid are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class Geometry:
    """How the cells of a grid are numbered: row by row, with walls around it as in MiniGrid's view.

    Attributes:
        width: Columns of the grid.
        height: Its rows.
        margin: Cells around it.
    """

    width: int
    height: int
    margin: int

    @classmethod
    def of(cls, env: Any) -> Geometry:
        """That of MiniGrid's environment, with room around for whatever its agent can look at."""
        return cls(env.width, env.height, env.agent_view_size - 1)

    @cached_property
    def stride(self) -> int:
        """From a cell to the one below it."""
        return self.width + 2 * self.margin

    @cached_property
    def area(self) -> int:
        """Number of cells, the margin included."""
        return self.stride * (self.height + 2 * self.margin)

    @cached_property
    def steps(self) -> tuple[int, int, int, int]:
        """From a cell to the next, in MiniGrid's four directions."""
        return 1, self.stride, -1, -self.stride

    def cell(self, position: Any) -> int:
        """The number of a column and row."""
        column, row = position
        return (int(row) + self.margin) * self.stride + int(column) + self.margin

    def position(self, cell: Any) -> tuple[int, int]:
        """The column and row of a number."""
        row, column = divmod(int(cell), self.stride)
        return column - self.margin, row - self.margin

    def inner(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``(..., height, width)`` a view of flat cells, without the margin."""
        rows = cells.reshape(*cells.shape[:-1], -1, self.stride)
        edge = self.margin
        return rows[..., edge : edge + self.height, edge : edge + self.width]
