"""How rivals are tested: with likeliest and with sampled actions; the better way counts."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.evaluation import Predictor, TaskResult, evaluate_tasks


def both_ways(model: Predictor, venv: VecEnv, **options: Any) -> dict[str, TaskResult]:
    """The tasks solved either way; options are those of :func:`evaluate_tasks`."""
    return {
        name: evaluate_tasks(model, venv, deterministic=name == "likeliest", **options)
        for name in ("likeliest", "sampled")
    }


def better(results: dict[str, TaskResult]) -> TaskResult:
    """The way that solved more."""
    return max(results.values(), key=lambda one: one.successes)
