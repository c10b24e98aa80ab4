"""The environments of the comparison, and the cells of its tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import yaml
from blocks import Beliefs, View
from fair import better, both_ways
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.agent.evaluation import Predictor
from gym_attrplan.envs.regimes import make_task_env, make_task_vec

CONFIGS = Path(__file__).parent / "configs"
REGIMES = ("one_step", "test_tasks", "curriculum")

NATIVE = ("inverse", "ap")
"""Learners that know which of an action's numbers are scores of a choice."""

_BLOCKS = ("one_step", "multi_step", "four_stack")


@dataclass(frozen=True)
class Case:
    """An environment of the comparison.

    Attributes:
        task: The task that ``test_tasks`` trains on and that the curriculum ends with.
        tasks: The tasks of the evaluation.
        agent_config: The file of our agent's settings; None if its hop policy is an inverse model.
        policy: The SB3 policy of all learners.
        options: Of the environment, in training and evaluation.
        batched: Whether there is a batched version.
        images: Whether learners see image features and a detector's predictions, both from models
            that ``blocks.py`` has trained.
    """

    task: str
    tasks: tuple[str, ...]
    agent_config: str | None = None
    policy: str = "MultiInputPolicy"
    options: dict[str, Any] = field(default_factory=dict)
    batched: bool = True
    images: bool = False


CASES = {
    "AttrSwitches-v0": Case("targets", ("targets",), "grids.yml"),
    "AttrCrafting-v0": Case("items", ("items",), "grids.yml"),
    "AttrBuildOrder-v0": Case("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBuildOrderLarge-v0": Case("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBlocks-v0": Case("multi_step", _BLOCKS, options={"obs_type": "state"}),
    "AttrBlocks-v0[obs_type=pixels]": Case(
        "multi_step", _BLOCKS, options={"max_episode_steps": 40}, images=True
    ),
    "AttrBlocksContinuous-v0": Case(
        "multi_step", _BLOCKS, options={"obs_type": "state"}, batched=False
    ),
}

BY_STATE = [name for name, case in CASES.items() if not case.images]
"""The environments without images."""


@dataclass(frozen=True)
class Cell:
    """One training: a learner in an environment and a regime.

    Attributes:
        env: A key of :data:`CASES`.
        algo: The learner.
        regime: One of :data:`REGIMES`; empty for learners without one, such as our agent.
        budget: Environment steps.
        seed: Of networks, environments and test tasks.
        goals: ``"full"``, ``"70"`` to train and test on 70% of each goal (blocks), or ``"all"``
            to test on both.
        eyes: The npz file that ``blocks.py`` saves with an agent, for environments with images.
    """

    env: str
    algo: str
    regime: str
    budget: int
    seed: int
    goals: str = "full"
    eyes: Path | None = None

    @property
    def case(self) -> Case:
        """The environment it is trained in."""
        return CASES[self.env]

    @property
    def env_id(self) -> str:
        """The environment's id in Gymnasium."""
        return self.env.partition("[")[0]

    @property
    def method(self) -> str:
        """The name in the results."""
        return f"{self.algo}/{self.regime}" if self.regime else self.algo

    @property
    def can_be_watched(self) -> bool:
        """Whether it can be tested during training; a model that is fitted at the end cannot."""
        return self.algo not in NATIVE or self.case.agent_config is not None

    @property
    def suffix(self) -> str:
        """The suffix of its training tasks' names."""
        return "_70" if self.goals == "70" else ""

    @property
    def tasks(self) -> list[str]:
        """The tasks of its evaluation; the paper has no partial stacks."""
        tasks = self.case.tasks
        partial_tasks = [f"{task}_70" for task in tasks if task != "four_stack"]
        return {"full": [*tasks], "70": partial_tasks, "all": [*tasks, *partial_tasks]}[self.goals]


def make_envs(cell: Cell, task: str, n_envs: int, **options: Any) -> VecEnv:
    """Environments whose task can be changed; without a batched version, a ``DummyVecEnv``.

    Args:
        cell: The training they are for.
        task: The first task.
        n_envs: Number of environments.
        options: Of the environment.
    """
    options = {**cell.case.options, **options}
    if cell.case.images:
        return _eyes(cell.eyes).make_envs(n_envs, task=task, **options)
    if cell.case.batched:
        return VectorEnvAdapter(make_task_vec(cell.env_id, n_envs, task, **options))
    # SB3's Gaussian policies expect actions from -1 to 1.
    symmetric = cell.algo not in NATIVE
    make = partial(_make_one, cell.env_id, task, symmetric, options)
    return DummyVecEnv([make] * n_envs)


@lru_cache(1)
def _eyes(file: Path | None) -> Beliefs:
    assert file is not None  # the command line requires it
    return Beliefs.load(file, View())


def _make_one(
    env_id: str, task: str, symmetric: bool, options: dict[str, Any]
) -> gym.Env[Any, Any]:
    env: gym.Env[Any, Any] = make_task_env(env_id, task, **options)
    if symmetric:
        one = np.ones(env.action_space.shape, np.float32)
        env = gym.wrappers.RescaleAction(env, -one, one)
    return Monitor(env)


def read_settings(file: str, env_id: str) -> dict[str, Any]:
    """The settings of an environment in a file of ``configs/``."""
    settings: dict[str, Any] = yaml.safe_load((CONFIGS / file).read_text()).get(env_id, {})
    return settings


def evaluate(model: Predictor, cell: Cell, task: str, *, n_tasks: int, seed: int) -> dict[str, Any]:
    """Evaluate with sampled and with deterministic actions; the better result counts."""
    most = 500 if cell.case.batched else 50
    # Held-out images; the true attributes decide, not the detector's predictions.
    unseen = {"split": "held_out"} if cell.case.images else {}
    truth = "true_attributes" if cell.case.images else None
    n_envs = max(n for n in (500, 250, 100, 50, 10, 1) if n <= most and n_tasks % n == 0)
    venv = make_envs(cell, task, n_envs, **unseen)
    results = both_ways(model, venv, n_tasks=n_tasks, seed=seed, truth=truth)
    venv.close()
    best = better(results)
    return {
        "n": best.n,
        "successes": best.successes,
        "extra": {
            "likeliest": results["deterministic"].successes,  # the key of all stored lines
            "sampled": results["sampled"].successes,
            "mean_steps": round(float(best.n_steps.mean()), 1),
        },
    }
