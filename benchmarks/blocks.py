"""Planning from images: block stacking with everything learned, beside the paper's figures.

``python benchmarks/blocks.py --budgets 10000 100000 1000000 --seeds 0 1 2`` on a GPU, or
``python benchmarks/blocks.py --scale quick`` on a CPU, in less than five minutes.

Half of the N one-step examples are random actions from random states. Both of their states are
labelled, which makes N labels. These train the trunk and the detector. The other half are π's own
attempts at explored edges, judged by the detector. Graph, policy, rewards and planner get only the
detector's predictions; the true attributes are used for the score alone. The evaluation uses
held-out images. A task has at most 40 actions. It is solved if the goal is truly met when the
detector says so. Goals that hold at the start are never drawn.

Agents are saved in a folder. The same command resumes: trained agents are not trained again, and
their results are not measured again. Delete the folder to restart.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from blocks_table import print_table
from fair import better, both_ways
from gymnasium import spaces
from gymnasium.wrappers.vector import TransformObservation
from ledger import append, measured_since

from gym_attrplan import AttributePlannerAgent, AttributeVectorWrapper
from gym_attrplan.agent import PLANNERS, VectorEnvAdapter
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.envs.blocks import (
    BlocksRules,
    BlocksVectorEnv,
    Frames,
    OneStepExamples,
    collect,
)
from gym_attrplan.envs.regimes import TaskChoice, TaskSwitchVector
from gym_attrplan.models import AttributeDetector, Examples, IndexedRows, Trunk

CONFIG = Path(__file__).parent / "configs" / "blocks.yml"
SUITE = "blocks"
ENV_ID = "AttrBlocks-v0"
TASKS = ("one_step", "multi_step", "four_stack", "one_step_70", "multi_step_70")
N_DETECTED = 20_000
N_ENVS = 200
RULES = BlocksRules()

_PAPER, _ROBUST = PLANNERS["paper"], PLANNERS["robust"]
_BETA = replace(_PAPER, estimator="beta_mean", sample_actions=False)
METHODS = {
    "inverse": None,
    "ap_no_cpi": replace(_PAPER, estimator="exploration_share"),
    "ap_paper": _PAPER,
    "ap_paper/argmax": replace(_PAPER, sample_actions=False),
    "ap_beta": _BETA,
    "ap_beta_memory": replace(_BETA, memory=True),
    "ap_beta_memory_q": replace(_BETA, memory=True, first_edge=True),
    "ap_forward": replace(_ROBUST, edges="table"),
    "ap_forward/model": replace(_ROBUST, edges="model"),
    "ap": _ROBUST,
}
"""The planners compared: the paper's, then each with one more part of the default planner."""


@dataclass(frozen=True)
class View:
    """The kind of images, and the file they are read from, if any."""

    image_size: int = 64
    jitter: float = 1.0
    n_variants: int = 10
    file: str | None = None

    @property
    def env(self) -> str:
        """The environment's name in the results."""
        if (self.image_size, self.jitter) == (64, 1.0):
            return ENV_ID
        return f"{ENV_ID}[image_size={self.image_size},jitter={self.jitter:g}]"

    def collect(self, n: int, seed: int, **options: Any) -> OneStepExamples:
        """One-step examples with such images."""
        n_variants = self.n_variants if self.jitter else 1
        return collect(n, seed, n_variants=n_variants, **options)

    def frames(self) -> np.ndarray:
        """``(n_variants * n_states, size, size, 3)`` images, rendered now if there is no file."""
        if self.file is not None:
            return np.load(self.file)["frames"].reshape(-1, self.image_size, self.image_size, 3)
        options = {"image_size": self.image_size, "jitter": self.jitter}
        array = Frames(RULES, n_variants=self.n_variants, **options).array
        return array.reshape(-1, *array.shape[2:])


def feature_space(table: np.ndarray) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, table.shape[1:], np.float32)


class Beliefs:
    """The features of every image, and the detector's predictions for them."""

    def __init__(self, table: np.ndarray, vectors: np.ndarray, view: View) -> None:
        self.table, self.vectors, self.view = table, vectors, view

    @classmethod
    def load(cls, file: Path, view: View) -> Beliefs:
        """The file that :func:`train` saved with an agent."""
        with np.load(file) as kept:
            return cls(kept["table"], kept["vectors"], view)

    def make_envs(
        self, n_envs: int, *, task: str, terminate_on_success: bool = True, **options: Any
    ) -> VectorEnvAdapter:
        """The batched environments as the agent sees them; their task can be changed."""
        raw = BlocksVectorEnv(
            RULES,
            num_envs=n_envs,
            obs_type="state",
            jitter=self.view.jitter,
            n_variants=self.view.n_variants,
            **options,
        )

        def believed(envs: Any, features: np.ndarray) -> np.ndarray:
            return self.vectors[raw.frame_numbers]

        seen = TransformObservation(
            raw,
            lambda _: self.table[raw.frame_numbers],
            single_observation_space=feature_space(self.table),
        )
        tasks = TaskChoice(task)
        envs = AttributeVectorWrapper(
            seen,
            RULES.attributes,
            believed,
            goal_sampler=tasks,
            terminate_on_success=terminate_on_success,
        )
        return VectorEnvAdapter(TaskSwitchVector(envs, tasks))


def settings(budget: int, part: str) -> dict[str, Any]:
    config = yaml.safe_load(CONFIG.read_text())
    return {"holdout": 0.05, "patience": 1_000, **config[budget][part]}


def see(n_labels: int, seed: int, view: View, device: str) -> tuple[Beliefs, dict[str, float]]:
    """Train on ``n_labels`` labelled images: the trunk, then the detector on its features."""
    frames = view.frames()
    data = view.collect(n_labels // 2, seed)
    space = spaces.Box(0, 255, frames.shape[1:], np.uint8)
    actions = spaces.Discrete(RULES.n_actions)
    trunk = Trunk(space, actions, RULES.attributes, seed=seed, device=device)
    examples = Examples(
        IndexedRows(frames, data.frames),
        data.actions,
        data.attributes,
        data.next_attributes,
        IndexedRows(frames, data.next_frames),
    )
    trunk.fit(examples, **settings(n_labels, "trunk"))
    table = np.concatenate(
        [trunk.encode(frames[i : i + 4_096]) for i in range(0, len(frames), 4_096)]
    )
    detector = AttributeDetector(feature_space(table), RULES.attributes, seed=seed, device=device)
    rows = np.concatenate([data.frames, data.next_frames])
    labels = np.concatenate([data.attributes, data.next_attributes])
    detector.fit(table[rows], labels, **settings(n_labels, "heads"))
    beliefs = Beliefs(table, detector.predict(table), view)
    test = view.collect(N_DETECTED, 10_000 + seed, split="held_out")
    wrong = int((beliefs.vectors[test.frames] != test.attributes).any(axis=1).sum())
    return beliefs, {"detector_wrong": wrong}


@dataclass(frozen=True)
class Cell:
    """One training: an agent with ``budget`` one-step examples and ``n_labels`` labels."""

    budget: int
    n_labels: int
    seed: int
    view: View

    @property
    def key(self) -> dict[str, Any]:
        """Its key in the results."""
        return {"env": self.view.env, "budget": self.budget, "seed": self.seed}

    def method(self, name: str) -> str:
        """The name of a method in the results."""
        return name if self.n_labels == self.budget else f"{name}/{self.n_labels}_labels"

    def file(self, folder: Path) -> Path:
        """The agent's file; features and predictions are beside it, as npz."""
        view = self.view.image_size, self.view.jitter, self.view.n_variants
        parts = *view, self.budget, self.n_labels, self.seed
        return folder / ("-".join(f"{part:g}" for part in parts) + ".zip")


def train(cell: Cell, folder: Path, device: str) -> None:
    """Train the cell's agent and save it, unless it was saved before."""
    file = cell.file(folder)
    if not file.exists():
        _train(cell, file, device)
    _note_training(cell, file)


def _train(cell: Cell, file: Path, device: str) -> None:
    torch.set_num_threads(1 if device == "cpu" else 2)
    start, budget = time.perf_counter(), cell.budget
    beliefs, figures = see(cell.n_labels, cell.seed, cell.view, device)
    venv = beliefs.make_envs(512, task="multi_step", max_episode_steps=1)
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        venv,
        low_level="inverse",
        seed=cell.seed,
        device=device,
        low_level_kwargs=settings(budget, "heads"),
    )
    explored = cell.view.collect(budget // 2, cell.seed)
    before, after = beliefs.vectors[explored.frames], beliefs.vectors[explored.next_frames]
    agent.add_examples(Examples(beliefs.table[explored.frames], explored.actions, before, after))
    agent.learn(budget - len(explored), reset_num_timesteps=False)
    edges = agent.counts.n_edges
    figures |= {"edges": edges, "imagined_edges": agent.imagined.n_edges}
    extra = {
        **figures,
        "n_labels": cell.n_labels,
        "train_seconds": round(time.perf_counter() - start),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        file.with_suffix(".npz"),
        table=beliefs.table,
        vectors=beliefs.vectors,
        extra=np.array(json.dumps(extra)),
    )
    agent.save(file)
    print(f"{budget:,} seed {cell.seed}: {extra}", flush=True)


def _note_training(cell: Cell, file: Path) -> None:
    """Append what was measured in training, unless the ledger has it already."""
    extra = extra_of(file.with_suffix(".npz"))
    right = N_DETECTED - int(extra["detector_wrong"])
    figures: dict[tuple[str, str], dict[str, Any]] = {
        ("full_set", "detector"): {"n": N_DETECTED, "successes": right},
        ("edges", "ap"): {"value": extra["edges"], "unit": "edges"},
    }
    for (task, name), figure in figures.items():
        key = {**cell.key, "task": task, "method": cell.method(name)}
        if not measured_since(file.stat().st_mtime, SUITE, **key):
            append(SUITE, extra=extra, **key, **figure)


def extra_of(file: Path) -> dict[str, Any]:
    """The figures of a training."""
    with np.load(file) as kept:
        extra: dict[str, Any] = json.loads(str(kept["extra"]))
    return extra


@lru_cache(2)
def load(cell: Cell, folder: Path) -> tuple[AttributePlannerAgent, Beliefs, dict[str, Any]]:
    """The agent, features and figures that :func:`train` saved."""
    torch.set_num_threads(1)
    file = cell.file(folder)
    about = file.with_suffix(".npz")
    beliefs = Beliefs.load(about, cell.view)
    return AttributePlannerAgent.load(file, device="cpu"), beliefs, extra_of(about)


def evaluate(cell: Cell, folder: Path, name: str, task: str, n_tasks: int) -> None:
    """Evaluate the cell's agent and append the result, unless the ledger has it already."""
    key = {**cell.key, "task": task, "method": cell.method(name), "n": n_tasks}
    if measured_since(cell.file(folder).stat().st_mtime, SUITE, **key):
        return
    start, planner = time.perf_counter(), METHODS[name]
    agent, beliefs, extra = load(cell, folder)
    if planner is not None:
        agent.set_planner(planner)
    n_envs = min(N_ENVS, n_tasks)
    venv = beliefs.make_envs(n_envs, task=task, split="held_out", max_episode_steps=40)
    options = {"n_tasks": n_tasks, "seed": 20_000 + cell.seed * n_tasks, "truth": "true_attributes"}
    if planner is None:  # a rival: our hop policy by itself
        result = better(both_ways(agent.low_level, venv, **options))
    else:
        result = evaluate_tasks(agent, venv, **options)
    append(SUITE, successes=result.successes, extra=extra, **key)
    took = f"{time.perf_counter() - start:.0f} s"
    print(f"{cell.budget:,} seed {cell.seed} {key['method']} {task}: {result}, {took}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["quick", "full"], default="full")
    parser.add_argument("--budgets", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--labels", type=int, help="labels for the detector, if fewer")
    parser.add_argument("--seeds", nargs="+", type=int, help="default: 0 1 2; quick: 0")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--jitter", type=float, default=1.0)
    parser.add_argument("--frames", help="npz file of images, if they cannot be rendered")
    parser.add_argument("--save-frames", help="write a file for --frames and stop")
    parser.add_argument("--agents", type=Path, default=Path("runs/blocks"), help="their folder")
    parser.add_argument("--device", default="auto", help="of training; evaluation uses the CPU")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    n_variants = View.n_variants
    if options.scale == "quick":
        options.budgets, options.n_tasks, n_variants = [12_000], 200, 2
    options.seeds = options.seeds or ([0] if options.scale == "quick" else [0, 1, 2])
    view = View(options.image_size, options.jitter, n_variants, options.frames)
    if options.save_frames:
        np.savez_compressed(options.save_frames, frames=view.frames())
        return
    if view.file is None:
        view.frames()  # rendered once, before processes need them
    cells = [
        Cell(budget, options.labels or budget, seed, view)
        for budget in sorted(options.budgets, reverse=True)
        for seed in options.seeds
    ]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        trained = {pool.submit(train, cell, options.agents, options.device): cell for cell in cells}
        measured = []
        for one in as_completed(trained):
            one.result()
            for which in product(options.methods, options.tasks):
                how = trained[one], options.agents, *which, options.n_tasks
                measured.append(pool.submit(evaluate, *how))
        for done in measured:
            done.result()
    print_table(view.env, options.budgets)


if __name__ == "__main__":
    main()
