"""Small HTML tables, as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS = 30
"""Rows of a table; of more, their number is said."""


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A titled table; it has no colours of its own, and so suits light and dark pages.

    Args:
        title: Stands above it.
        columns: Their names.
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
