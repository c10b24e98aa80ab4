"""The tables in the documentation equal the raw results."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from gym_attrplan.report.results import Results

ROOT = Path(__file__).parents[2]


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("comparison")


def test_the_documentation_has_the_raw_figures(comparison):
    results = Results.read(ROOT / "benchmarks" / "results")
    written = comparison.FILE.read_text()
    assert written == comparison.render(results), "run python benchmarks/comparison.py"
