"""The benchmarks can be imported, say their command and, where they have options, explain them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def source_of(name):
    return (FOLDER / f"{name}.py").read_text()


SCRIPTS = sorted(
    file.stem for file in FOLDER.glob("*.py") if "if __name__ ==" in source_of(file.stem)
)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_says_how_it_is_run(name):
    script = importlib.import_module(name)
    assert f"python benchmarks/{name}.py" in script.__doc__
    assert callable(script.main)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if "argparse" in source_of(name)])
def test_a_benchmark_explains_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(name).main()
    assert stopped.value.code == 0
    assert "usage:" in capsys.readouterr().out
