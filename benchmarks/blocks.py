"""Planning from pictures: block stacking with everything learned, beside the paper's figures.

``python benchmarks/blocks.py --budgets 10000 100000 1000000 --seeds 0 1 2`` on a GPU, or
``python benchmarks/blocks.py --scale quick`` on a CPU, in less than five minutes.

Of N one-step examples half explore: random actions from random starts, both states labelled, which
makes N labels. They train the trunk and the detector. The other half are π's own attempts at
explored edges, judged by the detector. From then on nothing but the detector's word is seen:
graph, policy, rewards and planner; the true attributes only score. Evaluation shows pictures that
were held out. A task has 40 actions and is solved if the goal is truly met when the agent believes
so; goals that hold at the start are never drawn.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from blocks_table import print_table
from gymnasium import spaces
from gymnasium.wrappers.vector import TransformObservation
from ledger import append

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
from gym_attrplan.models import AttributeDetector, Examples, IndexedRows, Trunk

CONFIG = Path(__file__).parent / "configs" / "blocks.yml"
ENV_ID = "AttrBlocks-v0"
TASKS = ("one_step", "multi_step", "four_stack", "one_step_70", "multi_step_70")
N_DETECTED = 20_000
N_WORLDS = 200
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
"""What is compared: the paper's agent, then one part of the default planner more in each row."""


@dataclass(frozen=True)
class View:
    """What the pictures are like, and where to take them from."""

    image_size: int = 64
    jitter: float = 1.0
    n_variants: int = 5
    file: str | None = None

    @property
    def env(self) -> str:
        """The environment's name in the results."""
        if (self.image_size, self.jitter) == (64, 1.0):
            return ENV_ID
        return f"{ENV_ID}[image_size={self.image_size},jitter={self.jitter:g}]"

    def collect(self, n: int, seed: int, **options: Any) -> OneStepExamples:
        """One-step examples that show such pictures."""
        n_variants = self.n_variants if self.jitter else 1
        return collect(n, seed, n_variants=n_variants, **options)

    def frames(self) -> np.ndarray:
        """``(n_variants * n_states, size, size, 3)``, drawn now unless a file has them."""
        if self.file is not None:
            return np.load(self.file)["frames"].reshape(-1, self.image_size, self.image_size, 3)
        options = {"image_size": self.image_size, "jitter": self.jitter}
        array = Frames(RULES, n_variants=self.n_variants, **options).array
        return array.reshape(-1, *array.shape[2:])


def feature_space(table: np.ndarray) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, table.shape[1:], np.float32)


class Beliefs:
    """Everything seen of a world: features of its pictures, and the detector's word on each."""

    def __init__(self, table: np.ndarray, detector: AttributeDetector, view: View) -> None:
        self.table, self.view = table, view
        self.vectors = detector.predict(table)

    def worlds(self, n_envs: int, *, task: str, **options: Any) -> VectorEnvAdapter:
        """The batched twin as the agent sees it."""
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
        sampler = raw.sampler(task)
        return VectorEnvAdapter(
            AttributeVectorWrapper(seen, RULES.attributes, believed, goal_sampler=sampler)
        )


def settings(budget: int, part: str) -> dict[str, Any]:
    config = yaml.safe_load(CONFIG.read_text())
    return {"holdout": 0.05, "patience": 1_000, **config[budget][part]}


def see(n_labels: int, seed: int, view: View, device: str) -> tuple[Beliefs, dict[str, float]]:
    """Learn to see from so many labelled pictures: the trunk, then the detector on its features."""
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
    beliefs = Beliefs(table, detector, view)
    test = view.collect(N_DETECTED, 10_000 + seed, split="held_out")
    wrong = int((beliefs.vectors[test.frames] != test.attributes).any(axis=1).sum())
    return beliefs, {"detector_wrong": wrong}


def train(
    budget: int, n_labels: int, seed: int, view: View, device: str
) -> tuple[AttributePlannerAgent, Beliefs, dict[str, float]]:
    """An agent that has seen so many one-step examples, with so many labels."""
    beliefs, figures = see(n_labels, seed, view, device)
    worlds = beliefs.worlds(512, task="multi_step", max_episode_steps=1)
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        worlds,
        low_level="inverse",
        seed=seed,
        device=device,
        low_level_kwargs=settings(budget, "heads"),
    )
    explored = view.collect(budget // 2, seed)
    before, after = beliefs.vectors[explored.frames], beliefs.vectors[explored.next_frames]
    agent.add_examples(Examples(beliefs.table[explored.frames], explored.actions, before, after))
    agent.learn(budget - len(explored), reset_num_timesteps=False)
    figures |= {"edges": agent.counts.n_edges, "imagined_edges": agent.imagined.n_edges}
    return agent, beliefs, figures


def run(
    budget: int, n_labels: int, seed: int, view: View, n_tasks: int, device: str, methods: list[str]
) -> None:
    torch.set_num_threads(1 if device == "cpu" else 2)
    start = time.perf_counter()
    agent, beliefs, figures = train(budget, n_labels, seed, view, device)
    name = "" if n_labels == budget else f"/{n_labels}_labels"
    extra = {**figures, "n_labels": n_labels, "train_seconds": round(time.perf_counter() - start)}
    key: dict[str, Any] = {"env": view.env, "budget": budget, "seed": seed, "extra": extra}
    right = N_DETECTED - int(figures["detector_wrong"])
    append(
        "blocks", task="full_set", method=f"detector{name}", n=N_DETECTED, successes=right, **key
    )
    append(
        "blocks",
        task="edges",
        method=f"ap{name}",
        value=figures["edges"],
        unit="edges",
        **key,
    )
    for method in methods:
        planner = METHODS[method]
        if planner is not None:
            agent.set_planner(planner)
        for task in TASKS:
            n_envs = min(N_WORLDS, n_tasks)
            worlds = beliefs.worlds(n_envs, task=task, split="held_out", max_episode_steps=40)
            result = evaluate_tasks(
                agent if planner is not None else agent.low_level,
                worlds,
                n_tasks=n_tasks,
                seed=20_000 + seed * n_tasks,
                truth="true_attributes",
            )
            append(
                "blocks",
                task=task,
                method=f"{method}{name}",
                n=result.n,
                successes=result.successes,
                **key,
            )
            print(f"{budget:,} seed {seed} {method}{name} {task}: {result}", flush=True)
    print(f"{budget:,} seed {seed}: {time.perf_counter() - start:.0f} s, {figures}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=["quick", "full"], default="full")
    parser.add_argument("--budgets", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--labels", type=int, help="labels for the detector, if fewer")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--jitter", type=float, default=1.0)
    parser.add_argument("--frames", help="an npz with the pictures, where none can be drawn")
    parser.add_argument("--save-frames", help="write such a file and stop")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    n_variants = 5
    if options.scale == "quick":
        options.budgets, options.seeds, options.n_tasks, n_variants = [4_000], [0], 200, 2
    view = View(options.image_size, options.jitter, n_variants, options.frames)
    if options.save_frames:
        np.savez_compressed(options.save_frames, frames=view.frames())
        return
    if view.file is None:
        view.frames()  # drawn once, before anybody needs them
    chosen = options.n_tasks, options.device, options.methods
    jobs = [
        (budget, options.labels or budget, seed, view, *chosen)
        for budget in sorted(options.budgets, reverse=True)
        for seed in options.seeds
    ]
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        pool.starmap(run, jobs, chunksize=1)
    print_table(view.env, options.budgets)


if __name__ == "__main__":
    main()
