"""The tables in the documentation equal the raw results, and leave no cell of the paper open."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from gym_attrplan.report.results import Results
from gym_attrplan.report.tables import all_tables

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["comparison", "others_tables"])
def test_the_documentation_has_the_raw_figures(script, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    module = importlib.import_module(script)
    results = Results.read(ROOT / "benchmarks" / "results")
    assert module.FILE.read_text() == module.render(results), f"run python benchmarks/{script}.py"


def test_every_figure_of_the_paper_has_one_of_ours_beside_it():
    tables = all_tables(Results.read(ROOT / "benchmarks" / "results"))
    cells = [(table, row, cell) for table in tables for row in table.rows for cell in row.cells]
    beside = [one for one in cells if one[2].paper is not None]
    assert len(beside) > 100
    assert [(t.title, r.name, r.data, c.column) for t, r, c in beside if c.ours is None] == []
