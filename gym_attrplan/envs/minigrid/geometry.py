"""Geometry: numbers of the cells of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class Geometry:
    """Numbers of the cells of a grid: row by row, with a margin of walls as in MiniGrid's view.

    Attributes:
        width: Number of columns of the grid.
        height: Number of rows of the grid.
        margin: Number of cells around it.
    """

    width: int
    height: int
    margin: int

    @classmethod
    def of(cls, env: Any) -> Geometry:
        """Return the geometry of MiniGrid's environment, with a margin for the agent's view."""
        return cls(env.width, env.height, env.agent_view_size - 1)

    @cached_property
    def stride(self) -> int:
        """Difference between a cell's number and that of the cell below it."""
        return self.width + 2 * self.margin

    @cached_property
    def area(self) -> int:
        """Number of cells, including the margin."""
        return self.stride * (self.height + 2 * self.margin)

    @cached_property
    def steps(self) -> tuple[int, int, int, int]:
        """Differences between the numbers of neighbours, in MiniGrid's four directions."""
        return 1, self.stride, -1, -self.stride

    def cell(self, position: Any) -> int:
        """Return the number of a column and row."""
        column, row = position
        return (int(row) + self.margin) * self.stride + int(column) + self.margin

    def position(self, cell: Any) -> tuple[int, int]:
        """Return the column and row of a number."""
        row, column = divmod(int(cell), self.stride)
        return column - self.margin, row - self.margin

    def inner(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``(..., height, width)`` a view of flat cells, without the margin."""
        rows = cells.reshape(*cells.shape[:-1], -1, self.stride)
        edge = self.margin
        return rows[..., edge : edge + self.height, edge : edge + self.width]
