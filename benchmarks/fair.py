"""The test of rivals: once with deterministic and once with sampled actions; the better counts."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.evaluation import Predictor, TaskResult, evaluate_tasks


def both_ways(model: Predictor, venv: VecEnv, **options: Any) -> dict[str, TaskResult]:
    """The results with deterministic and with sampled actions.

    Args:
        model: What is tested.
        venv: The environments.
        options: Those of :func:`evaluate_tasks`.
    """
    return {
        name: evaluate_tasks(model, venv, deterministic=name == "deterministic", **options)
        for name in ("deterministic", "sampled")
    }


def better(results: dict[str, TaskResult]) -> TaskResult:
    """The result with more tasks solved."""
    return max(results.values(), key=lambda one: one.successes)
