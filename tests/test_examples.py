"""Every example runs at a tiny budget, and one learns what it promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gym_attrplan.agent.evaluation import TaskResult

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
FEW = {"n_envs": 2, "n_tasks": 2}
SMALLER = {
    "blocks_from_pixels": {"n_blocks": 2, "n_tasks": 4},
    "doorkey": FEW,
    "few_labels": {**FEW, "max_epochs": 1},
    "her_goal_env": {"n_tasks": 2},
    "key_corridor": FEW,
    "own_env_in_40_lines": {"total_timesteps": 6_000, "n_envs": 4, "n_tasks": 20},
    "point_maze": FEW,
    "sb3_callbacks": {"n_envs": 4},
    "spread": FEW,
    "taxi": FEW,
}
TINY = 600


def slow(*names):
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Imports an example by its name, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTRPLAN_CACHE", str(tmp_path))

    def load(name):
        path = next(path for path in EXAMPLES if path.stem == name)
        spec = importlib.util.spec_from_file_location(f"example_{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_explained(path, example):
    assert len(path.read_text().splitlines()) <= 110
    assert example(path.stem).__doc__


@pytest.mark.parametrize(
    "name",
    slow("blocks_from_pixels", "own_env_in_40_lines", "point_maze", "switches"),
)
def test_an_example_counts_as_many_tasks_as_it_says(name, example):
    smaller = {"total_timesteps": TINY, **SMALLER.get(name, {})}
    result = example(name).main(**smaller)
    assert isinstance(result, TaskResult)
    assert result.n == smaller.get("n_tasks", 200)


@pytest.mark.parametrize("name", ["taxi", *slow("doorkey", "few_labels", "key_corridor", "spread")])
def test_an_example_counts_tasks_for_each_of_its_rows(name, example, capsys):
    results = example(name).main(total_timesteps=TINY, **SMALLER[name])
    printed = capsys.readouterr().out
    assert len(results) >= 2
    for row, result in results.items():
        assert result.n == SMALLER[name]["n_tasks"]
        assert f"{row}: {result}" in printed


@pytest.mark.slow
def test_hindsight_with_both_buffers_is_counted_in_shares(example):
    rates = example("bit_flip").main(total_timesteps=TINY)
    assert set(rates) == {"ours", "SB3's"}
    assert all(200 * rate == pytest.approx(round(200 * rate)) for rate in rates.values())


def test_plain_hindsight_is_counted_in_goals_met(example):
    mean, _ = example("her_goal_env").main(total_timesteps=TINY, **SMALLER["her_goal_env"])
    assert mean in (0.0, 0.5, 1.0)  # of two goals


@pytest.mark.slow
def test_callbacks_leave_checkpoints_and_the_best_agent(example, tmp_path):
    n_steps = example("sb3_callbacks").main(total_timesteps=TINY, **SMALLER["sb3_callbacks"])
    assert n_steps >= TINY
    assert list((tmp_path / "checkpoints").glob("*.zip"))
    assert (tmp_path / "best" / "best_model.zip").exists()


@pytest.mark.slow
@pytest.mark.learning
def test_ones_own_environment_is_learned_in_a_minute(example, seed):
    result = example("own_env_in_40_lines").main(seed=seed)
    assert result.rate > 0.9


@pytest.mark.slow
def test_an_example_counts_the_patterns_that_an_agent_from_a_log_makes(example, capsys):
    share = example("from_a_log").main(total_timesteps=TINY, n_tasks=4)
    assert f"made {round(4 * share)} of 4 patterns" in capsys.readouterr().out
