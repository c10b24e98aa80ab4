"""What a user installs: the whole package, and nothing that only a checkout can run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = "from setuptools import build_meta; build_meta.build_wheel('dist')"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The files of a wheel. It is built from a copy, since a build leaves folders behind."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("setup.py", "pyproject.toml", "README.rst", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name in ("gym_attrplan", "benchmarks", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    subprocess.run([sys.executable, "-c", BUILD], cwd=copy, check=True, capture_output=True)
    (wheel,) = (copy / "dist").glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_file_of_the_package(names):
    files = [file for file in (ROOT / "gym_attrplan").rglob("*") if file.is_file()]
    wanted = {str(file.relative_to(ROOT)) for file in files if file.parent.name != "__pycache__"}
    assert {name for name in names if name.startswith("gym_attrplan/")} == wanted


def test_the_wheel_holds_nothing_of_the_benchmarks(names):
    assert {name.split("/")[0].split("-")[0] for name in names} == {"gym_attrplan"}
    moved = {"reproduce", "stage", "stages", "keeper", "results", "tables", "paper_page"}
    assert {Path(name).stem for name in names} & moved == set()
