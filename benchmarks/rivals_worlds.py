"""The worlds of the comparison, and what a cell of its tables is."""

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
        pictures: Whether learners see features of pictures, and what a detector says of them,
            through the eyes that ``blocks.py`` has trained.
    """

    task: str
    tasks: tuple[str, ...]
    agent_config: str | None = None
    policy: str = "MultiInputPolicy"
    options: dict[str, Any] = field(default_factory=dict)
    batched: bool = True
    pictures: bool = False


WORLDS = {
    "AttrSwitches-v0": World("targets", ("targets",), "grids.yml"),
    "AttrCrafting-v0": World("items", ("items",), "grids.yml"),
    "AttrBuildOrder-v0": World("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBuildOrderLarge-v0": World("counts", ("counts",), "build_order.yml", "UnitPolicy"),
    "AttrBlocks-v0": World("multi_step", _BLOCKS, options={"obs_type": "state"}),
    "AttrBlocks-v0[obs_type=pixels]": World(
        "multi_step", _BLOCKS, options={"max_episode_steps": 40}, pictures=True
    ),
    "AttrBlocksContinuous-v0": World(
        "multi_step", _BLOCKS, options={"obs_type": "state"}, batched=False
    ),
}

BY_STATE = [name for name, world in WORLDS.items() if not world.pictures]
"""The worlds that need nobody's eyes."""


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
        eyes: The npz of an agent of ``blocks.py``, for a world that is seen in pictures.
    """

    env: str
    algo: str
    regime: str
    budget: int
    seed: int
    goals: str = "full"
    eyes: Path | None = None

    @property
    def world(self) -> World:
        """Where it is trained."""
        return WORLDS[self.env]

    @property
    def env_id(self) -> str:
        """The id that Gymnasium knows."""
        return self.env.partition("[")[0]

    @property
    def method(self) -> str:
        """The name in the results."""
        return f"{self.algo}/{self.regime}" if self.regime else self.algo

    @property
    def can_be_watched(self) -> bool:
        """Whether it learns bit by bit; what is fitted at the end has nothing to test before."""
        return self.algo not in NATIVE or self.world.agent_config is not None

    @property
    def suffix(self) -> str:
        """What the names of its training tasks end in."""
        return "_70" if self.goals == "70" else ""

    @property
    def tasks(self) -> list[str]:
        """What it is evaluated on; the paper has no partial stacks."""
        tasks = self.world.tasks
        partial_tasks = [f"{task}_70" for task in tasks if task != "four_stack"]
        return {"full": [*tasks], "70": partial_tasks, "all": [*tasks, *partial_tasks]}[self.goals]


def make_worlds(cell: Cell, task: str, n_envs: int, **options: Any) -> VecEnv:
    """Worlds whose task can be changed; without a batched twin they take turns.

    Args:
        cell: What is trained or tested in them.
        task: The first task.
        n_envs: How many.
        options: Of the environment.
    """
    options = {**cell.world.options, **options}
    if cell.world.pictures:
        return _eyes(cell.eyes).worlds(n_envs, task=task, **options)
    if cell.world.batched:
        return VectorEnvAdapter(make_task_vec(cell.env_id, n_envs, task, **options))
    # Boxes of actions go from -1 to 1, as SB3's Gaussians want them.
    symmetric = cell.algo not in NATIVE
    make = partial(_make_one, cell.env_id, task, symmetric, options)
    return DummyVecEnv([make] * n_envs)


@lru_cache(1)
def _eyes(file: Path | None) -> Beliefs:
    assert file is not None  # the command line has asked for it
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
    """What a file of ``configs/`` says about a world."""
    settings: dict[str, Any] = yaml.safe_load((CONFIGS / file).read_text()).get(env_id, {})
    return settings


def evaluate(model: Predictor, cell: Cell, task: str, *, n_tasks: int, seed: int) -> dict[str, Any]:
    """Tasks solved with sampled and with likeliest actions; the better way counts."""
    most = 500 if cell.world.batched else 50
    # Pictures that no one has seen, and the truth where a detector's word decided.
    unseen = {"split": "held_out"} if cell.world.pictures else {}
    truth = "true_attributes" if cell.world.pictures else None
    n_envs = max(n for n in (500, 250, 100, 50, 10, 1) if n <= most and n_tasks % n == 0)
    venv = make_worlds(cell, task, n_envs, **unseen)
    results = both_ways(model, venv, n_tasks=n_tasks, seed=seed, truth=truth)
    venv.close()
    best = better(results)
    return {
        "n": best.n,
        "successes": best.successes,
        "extra": {
            **{name: one.successes for name, one in results.items()},
            "mean_steps": round(float(best.n_steps.mean()), 1),
        },
    }
