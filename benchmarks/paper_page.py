"""The paper's tables beside what benchmarks left in a folder, as one HTML page.

``python benchmarks/paper_page.py`` reads ``benchmarks/results`` and writes ``report.html`` there.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ledger import RESULTS
from paper.album import read_graphs, read_pictures
from paper.charts import learning_charts, sample_charts
from paper.figures import BLOCKS, CRAFTING, DETECTOR_ERRORS, EDGES
from paper.results import Line, Results, Source
from paper.tables import Cell, Table, all_tables

from gym_attrplan.error import AttrPlanError
from gym_attrplan.report.page import Dots, short, write_page

TEMPLATE = Path(__file__).parent / "paper" / "templates" / "paper.html"


@dataclass(frozen=True)
class Run:
    """Where the figures of a suite come from.

    Args:
        suite: Its name.
        n_lines: Figures.
        seeds: All seeds used.
        commits: Commits they were measured at.
        machines: Machines they were measured on.
        versions: Versions of the packages, as ``name version``.
        commands: Commands that made them.
        dates: The first day and the last.
    """

    suite: str
    n_lines: int
    seeds: list[int]
    commits: list[str]
    machines: list[str]
    versions: list[str]
    commands: list[str]
    dates: list[str]

    @classmethod
    def of(cls, suite: str, lines: list[Line]) -> Run:
        """The lines of a suite, summed up."""
        versions = {f"{name} {number}" for line in lines for name, number in _versions(line)}
        days = sorted(line["date"][:10] for line in lines)
        return cls(
            suite=suite,
            n_lines=len(lines),
            seeds=sorted({line["seed"] for line in lines if line["seed"] is not None}),
            commits=list(dict.fromkeys(line["commit"] for line in lines)),
            machines=list(dict.fromkeys(line["machine"] for line in lines)),
            versions=sorted(versions),
            commands=list(dict.fromkeys(line["command"] for line in lines)),
            dates=list(dict.fromkeys((days[0], days[-1]))),
        )


@dataclass(frozen=True)
class Finding:
    """A figure that is no success rate: the paper's, and the values of our runs."""

    env: str
    what: str
    paper: str
    values: tuple[float, ...]
    budget: int
    unit: str
    command: str

    @property
    def mean(self) -> float:
        """Over runs."""
        return sum(self.values) / len(self.values)


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Read what benchmarks left in a folder and write the page.

    Args:
        folder: ``*.jsonl`` results; ``*.png`` and ``*.graph.json``, also in its ``pictures/``.
        out: The file to write; ``report.html`` in the folder by default.

    Returns:
        The file written.

    Raises:
        InvalidData: If there is no such folder, or a file in it is damaged.
        DependencyNotInstalled: If Jinja2 is missing.
    """
    results = Results.read(Path(folder))
    file = Path(folder) / "report.html" if out is None else Path(out)
    return write_page(file, TEMPLATE, _context(results, Path(folder)))


def tip(cell: Cell, table: Table) -> str:
    """What is said about a cell when a reader points at it."""
    lines = [cell.column]
    if cell.ours:
        budget = f"{cell.ours.budget:,} {table.unit}" if cell.ours.budget else "no training"
        lines.append(f"ours, {budget}, {cell.ours.runs}")
        if cell.is_rate:
            low, high = cell.ours.interval
            lines[-1] += f", {cell.ours.n:,} tasks"
            lines.append(f"{cell.ours.percent:.2f}%, 95% interval {low:.2f} to {high:.2f}")
            rates = [(one["seed"], 100 * one["successes"] / one["n"]) for one in cell.ours.lines]
            lines += [f"seed {seed}: {rate:.1f}%" for seed, rate in rates]
        else:
            lines += [f"seed {line['seed']}: {line['value']:,.0f}" for line in cell.ours.lines]
        lines.append(f"commit {cell.ours.lines[-1]['commit']}")
    else:
        lines.append(f"ours: {cell.reason or 'not run yet'}")
    if cell.paper is not None:
        lines.append(f"the paper’s: {cell.paper:,g}{'%' if cell.is_rate else ''}")
    return "\n".join(lines)


def dot_rows(table: Table, column: str) -> list[Dots]:
    """The success rates of a column, ours with their intervals and the paper's as ticks."""
    rows = []
    for row, cell in table.cells(column):
        if not cell.is_rate:
            continue
        budget = short(cell.ours.budget) if cell.ours and cell.ours.budget else ""
        name = f"{row.name}, {row.data}" if row.data else row.name
        rows.append(
            Dots(
                name=row.name,
                small=" · ".join(filter(None, (row.data, budget))),
                tip=f"{name}\n{tip(cell, table)}",
                percent=cell.ours.percent if cell.ours else None,
                interval=cell.ours.interval if cell.ours else None,
                tick=cell.paper,
                kind="mine" if row.name == "AP, our default" else "",
            )
        )
    return rows


def count(value: float) -> str:
    """Whole where that is exact enough.

    Example:
        >>> count(2_047.4), count(25.0), count(18.64)
        ('2,047', '25', '18.6')
    """
    return f"{value:,.0f}" if value >= 1_000 or value == int(value) else f"{value:.3g}"


def _context(results: Results, folder: Path) -> dict[str, Any]:
    tables = all_tables(results)
    defaults = [table.best for table in tables]
    return {
        "tables": tables,
        "n_ahead": sum(cell.verdict == "ours" for _, cell in defaults),
        "n_measured": sum(cell.ours is not None for _, cell in defaults),
        "sample_charts": sample_charts(results),
        "learning_charts": learning_charts(results),
        "findings": _findings(results),
        "graphs": read_graphs(folder),
        "pictures": read_pictures(folder),
        "runs": [Run.of(suite, lines) for suite, lines in results.suites.items()],
        "n_lines": len(results.lines),
        "tip": tip,
        "count": count,
        "dot_rows": dot_rows,
    }


def _findings(results: Results) -> list[Finding]:
    """Edges found by exploring, and how often the detector of blocks errs."""
    findings = []
    for env, ways in EDGES.items():
        suite = "exploration" if env == CRAFTING else "build_order"
        for way, figure in ways.items():
            found = results.find(Source(suite, env, "edges", way))
            values = tuple(float(line["value"]) for line in found.lines) if found else ()
            budget = found.budget if found else 0
            what, command = f"edges, {way.replace('_', ' ')}", f"python benchmarks/{suite}.py"
            findings.append(Finding(env, what, f"{figure:,g}", values, budget, "steps", command))
    for labels, figure in DETECTOR_ERRORS.items():
        found = results.find(Source("blocks", BLOCKS, "full_set", "detector", labels))
        values = tuple(100 - rate for rate in found.seeds.values()) if found else ()
        what = f"detector error in %, {short(labels)} labels"
        command = f"python benchmarks/blocks.py --budgets {labels}"
        findings.append(Finding(BLOCKS, what, f"{figure:g}", values, labels, "labels", command))
    return findings


def _versions(line: Line) -> list[tuple[str, str]]:
    return list(line["versions"].items())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=RESULTS, help="of results")
    parser.add_argument("--out", type=Path, metavar="HTML", help="default: report.html in it")
    options = parser.parse_args(arguments)
    try:
        print(f"wrote {write_report(options.folder, options.out)}")
    except AttrPlanError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None


if __name__ == "__main__":
    main()
