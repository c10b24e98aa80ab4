"""The worlds of the comparison, and what a cell of its tables is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import yaml
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.agent.evaluation import Predictor, evaluate_tasks
from gym_attrplan.envs.regimes import make_task_env, make_task_vec

CONFIGS = Path(__file__).parent / "configs"
REGIMES = ("one_step", "test_tasks", "curriculum")

NATIVE = ("inverse", "ap")
"""Learners that know by themselves which of an action's numbers are scores of a choice."""

_BLOCKS = ("one_step", "multi_step", "four_stack")


@dataclass(frozen=True)
class World:
    """An environment of the comparison.

    Attributes:
        task: What ``test_tasks`` trains on, and where the curriculum leads.
        tasks: What is evaluated.
        agent_config: The file of our agent's settings; None where it hops by supervision.
        policy: The SB3 policy of all learners.
        options: Of the environment, in training and evaluation.
        batched: Whether there is a batched twin.
    """

    task: str
    tasks: tuple[str, ...]
    agent_config: str | None = None
    policy: str = "MultiInputPolicy"
    options: dict[str, Any] = field(default_factory=dict)
    batched: bool = True


WORLDS = {
    "AttrSwitches-v0": World("targets", ("targets",), "grids.yml"),
    "AttrCrafting-v0": World("items", ("items",), "grids.yml"),
    "AttrBuildOrder-v0": World("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBuildOrderLarge-v0": World("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBlocks-v0": World("multi_step", _BLOCKS, options={"obs_type": "state"}),
    "AttrBlocksContinuous-v0": World(
        "multi_step", _BLOCKS, options={"obs_type": "state"}, batched=False
    ),
}


@dataclass(frozen=True)
class Cell:
    """One training: a learner on a world in a regime.

    Attributes:
        env: A key of :data:`WORLDS`.
        algo: The learner.
        regime: One of :data:`REGIMES`; empty for what has none, such as our agent.
        budget: Environment steps.
        seed: Of networks, worlds and test tasks.
        goals: ``"full"``, ``"70"`` to train and test on 70% of each goal (blocks), or ``"all"``
            to test on both.
    """

    env: str
    algo: str
    regime: str
    budget: int
    seed: int
    goals: str = "full"

    @property
    def method(self) -> str:
        """The name in the results."""
        return f"{self.algo}/{self.regime}" if self.regime else self.algo

    @property
    def suffix(self) -> str:
        """What the names of its training tasks end in."""
        return "_70" if self.goals == "70" else ""

    @property
    def tasks(self) -> list[str]:
        """What it is evaluated on; the paper has no partial stacks."""
        tasks = WORLDS[self.env].tasks
        partial_tasks = [f"{task}_70" for task in tasks if task != "four_stack"]
        return {"full": [*tasks], "70": partial_tasks, "all": [*tasks, *partial_tasks]}[self.goals]


def make_worlds(
    env_id: str,
    task: str,
    n_envs: int,
    *,
    processes: bool = False,
    symmetric: bool = True,
    **options: Any,
) -> VecEnv:
    """Worlds whose task can be changed.

    Args:
        env_id: A key of :data:`WORLDS`.
        task: The first task.
        n_envs: How many.
        processes: Without a batched twin: whether each has its process, or they take turns.
        symmetric: Whether boxes of actions go from -1 to 1, as SB3's Gaussians want them.
        options: Of the environment.
    """
    world = WORLDS[env_id]
    options = {**world.options, **options}
    if world.batched:
        return VectorEnvAdapter(make_task_vec(env_id, n_envs, task, **options))
    make = partial(_make_one, env_id, task, symmetric, options)
    if processes:
        return SubprocVecEnv([make] * n_envs, start_method="spawn")
    return DummyVecEnv([make] * n_envs)


def _make_one(
    env_id: str, task: str, symmetric: bool, options: dict[str, Any]
) -> gym.Env[Any, Any]:
    env: gym.Env[Any, Any] = make_task_env(env_id, task, **options)
    if symmetric:
        one = np.ones(env.action_space.shape, np.float32)
        env = gym.wrappers.RescaleAction(env, -one, one)
    return Monitor(env)


def read_settings(file: str, env_id: str) -> dict[str, Any]:
    """What a file of ``configs/`` says about a world."""
    settings: dict[str, Any] = yaml.safe_load((CONFIGS / file).read_text()).get(env_id, {})
    return settings


def evaluate(model: Predictor, cell: Cell, task: str, *, n_tasks: int, seed: int) -> dict[str, Any]:
    """Tasks solved with sampled and with likeliest actions; the better way counts."""
    most = 500 if WORLDS[cell.env].batched else 50
    n_envs = max(n for n in (500, 250, 100, 50, 10, 1) if n <= most and n_tasks % n == 0)
    venv = make_worlds(cell.env, task, n_envs, symmetric=cell.algo not in NATIVE)
    results = {
        name: evaluate_tasks(
            model, venv, n_tasks=n_tasks, seed=seed, deterministic=name == "likeliest"
        )
        for name in ("sampled", "likeliest")
    }
    venv.close()
    best = max(results.values(), key=lambda one: one.successes)
    return {
        "n": best.n,
        "successes": best.successes,
        "extra": {
            **{name: one.successes for name, one in results.items()},
            "mean_steps": round(float(best.n_steps.mean()), 1),
        },
    }
