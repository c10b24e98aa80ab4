"""The paper's tables with our figures, as a part of the documentation.

``python benchmarks/comparison.py`` writes ``docs/comparison_tables.inc`` from the raw results: each
cell with our percentage, its 95% interval and the paper's figure. A test holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ledger import RESULTS
from paper.results import Measured, Results
from paper.tables import Cell, Row, Table, all_tables

FILE = Path(__file__).parents[1] / "docs" / "comparison_tables.inc"


def render(results: Results) -> str:
    """All tables, in reStructuredText."""
    return "\n".join(_table(table) for table in all_tables(results))


def _table(table: Table) -> str:
    head = ["method", f"{table.unit}; seeds", *table.columns]
    rows = list_table([head, *(_row(row) for row in table.rows)])
    return "\n".join([table.title, "~" * len(table.title), "", table.about, "", rows])


def list_table(rows: Sequence[Sequence[str]]) -> str:
    """A table in reStructuredText; the first row is its head."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: comparison", ""]
    for cells in rows:
        lines += [f"   {'* ' if not i else '  '}- {text}" for i, text in enumerate(cells)]
    return "\n".join([*lines, ""])


def rate(measured: Measured) -> str:
    """A percentage with its interval."""
    low, high = measured.interval
    return f"**{measured.percent:.1f}** ({low:.1f}–{high:.1f})"


def _row(row: Row) -> list[str]:
    name = f"{row.name}, {row.data}" if row.data else row.name
    figures = [cell.ours for cell in row.cells if cell.ours]
    counts = " or ".join(sorted({one.runs for one in figures}))
    budgets = " or ".join(f"{budget:,}" for budget in row.budgets)
    return [name, f"{budgets}; {counts}" if figures else "—", *(_cell(one) for one in row.cells)]


def _cell(cell: Cell) -> str:
    paper = "" if cell.paper is None else f" · paper {cell.paper:,g}"
    if cell.ours is None:
        return (cell.reason or "—") + paper
    if not cell.is_rate:
        return f"{cell.ours.value:,.0f}{paper}"
    return rate(cell.ours) + paper


def main() -> None:
    FILE.write_text(render(Results.read(RESULTS)))
    print(FILE)


if __name__ == "__main__":
    main()
