"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 30
"""Maximum number of rows of a table; of further rows only the number is shown."""


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a title; it sets no colours, so it suits light and dark pages.

    Args:
        title: Title above the table.
        columns: Names of the columns.
        rows: A value for each column.

    Example:
        >>> html_table("a < b", ["name"], [["<x>"]]).count("&lt;")
        2
    """
    cells = [[str(value) for value in row] for row in rows]
    lines = [f"<p><b>{escape(title)}</b></p>", "<table><thead>", _row("th", columns), "</thead>"]
    lines += ["<tbody>", *(_row("td", row) for row in cells[:MAX_ROWS]), "</tbody></table>"]
    if len(cells) > MAX_ROWS:
        lines.append(f"<p>and {len(cells) - MAX_ROWS:,} more</p>")
    return f"<div>{''.join(lines)}</div>"


def _row(tag: str, values: Sequence[str]) -> str:
    cells = (f'<{tag} style="text-align:left">{escape(value)}</{tag}>' for value in values)
    return f"<tr>{''.join(cells)}</tr>"
