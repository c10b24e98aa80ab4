"""The demonstration and its pictures, at a tiny budget."""

from __future__ import annotations

from importlib.util import find_spec

import matplotlib as mpl
import pytest
import torch

from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.report import demo
from gym_attrplan.report.demo import run_demo
from gym_attrplan.report.video import video_suffix

mpl.use("Agg")


@pytest.mark.slow
@pytest.mark.learning
def test_the_demo_trains_plans_compares_and_leaves_pictures(seed, tmp_path, capsys):
    torch.set_num_threads(1)
    results = run_demo(out=tmp_path, total_timesteps=60_000, n_tasks=20, n_envs=64, seed=seed)
    assert set(results) == {"agent", "same policy without planning", "random actions"}
    assert all(result.n == 20 for result in results.values())
    video = f"journey{video_suffix()}"
    assert {path.name for path in tmp_path.iterdir()} == {"agent.zip", "graph.png", video}
    printed = capsys.readouterr().out.replace("\n", "")  # long lines are folded
    assert f"attrplan report {tmp_path / 'agent.zip'}" in printed
    assert (f"attrplan play {tmp_path / 'agent.zip'}" in printed) == bool(find_spec("nicegui"))
    assert "12 hops" in printed
    assert "Random full targets" in printed


def test_what_is_missing_is_said_before_any_training(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name == "minigrid" else name)
    with pytest.raises(DependencyNotInstalled, match="need minigrid: pip install"):
        run_demo(out=tmp_path)
