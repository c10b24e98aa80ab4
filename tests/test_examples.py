"""Every example runs, at a tiny budget."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
FEW = {"n_envs": 2, "n_tasks": 2}
SMALLER = {
    "blocks_from_pixels": {"n_blocks": 2, "n_tasks": 4},
    "doorkey": FEW,
    "few_labels": {**FEW, "max_epochs": 1},
    "her_goal_env": {"n_tasks": 2},
    "key_corridor": FEW,
    "own_env_in_40_lines": {"n_envs": 4, "n_tasks": 20},
    "point_maze": FEW,
    "sb3_callbacks": {"n_envs": 4},
    "taxi": FEW,
}


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_is_short_and_explained(path, tmp_path, monkeypatch):
    assert len(path.read_text().splitlines()) <= 110
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTRPLAN_CACHE", str(tmp_path))
    module = load(path)
    assert module.__doc__
    assert module.main(total_timesteps=600, **SMALLER.get(path.stem, {}))
