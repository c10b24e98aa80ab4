"""``pytest --seeds``: learning tests are repeated, counted and held to 19 of 20."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
import pytest

@pytest.fixture(scope="module")
def learned(seed):
    return seed

@pytest.mark.learning
@pytest.mark.parametrize("how", ["by fixture"])
def test_learns(learned, how):
    assert learned not in {failing}

def test_other():
    assert {other}
"""


def run(folder, *options, failing=(), other=True):
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_suite.py").write_text(SUITE.format(failing=tuple(failing), other=other))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_without_the_option_a_learning_test_runs_once_with_seed_0(tmp_path):
    assert "2 passed" in run(tmp_path, failing=range(1, 20)).stdout
    assert run(tmp_path, failing=[0]).returncode == 1


@pytest.mark.parametrize(
    ("failing", "other", "n_passed", "status"),
    [([7], True, 19, 0), ([7, 9], True, 18, 1), ([7], False, 19, 1)],
)
def test_one_seed_of_20_may_fail_and_nothing_else(tmp_path, failing, other, n_passed, status):
    result = run(tmp_path, "--seeds", "20", failing=failing, other=other)
    assert f"{n_passed}  test_suite.py::test_learns[by fixture]" in result.stdout
    assert result.returncode == status


def test_a_learning_test_without_a_seed_is_refused(tmp_path):
    (tmp_path / "test_more.py").write_text(
        "import pytest\n\n@pytest.mark.learning\ndef test_alone():\n    pass\n"
    )
    result = run(tmp_path)
    assert "test_alone learns: it takes the fixture 'seed'" in result.stdout + result.stderr
    assert result.returncode != 0
