"""The tables in the documentation equal the raw results, and leave no cell of the paper open."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from paper.results import Results, read_changes, read_lines
from paper.tables import all_tables

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "results"


@pytest.mark.parametrize("script", ["comparison", "others_tables"])
def test_the_documentation_has_the_raw_figures(script):
    module = importlib.import_module(script)
    results = Results.read(FOLDER)
    assert module.FILE.read_text() == module.render(results), f"run python benchmarks/{script}.py"


def test_every_figure_of_the_paper_has_one_of_ours_beside_it():
    tables = all_tables(Results.read(FOLDER))
    cells = [(table, row, cell) for table in tables for row in table.rows for cell in row.cells]
    beside = [one for one in cells if one[2].paper is not None]
    assert len(beside) > 100
    assert [(t.title, r.name, r.data, c.column) for t, r, c in beside if c.ours is None] == []


@pytest.mark.parametrize("change", read_changes(FOLDER), ids=lambda one: one.reason[:7])
def test_every_change_that_is_noted_leaves_older_lines_out(change):
    lines = [one for file in FOLDER.glob("*.jsonl") for one in read_lines(file)]
    others = [one for one in read_changes(FOLDER) if one != change]
    assert len(Results(lines, [*others, change]).lines) < len(Results(lines, others).lines)
