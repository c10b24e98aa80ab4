"""The switches with a learned detector in place of the given attributes.

``python benchmarks/grids_detector.py`` fits a detector on 10,000 labelled states. It trains an
agent as ``benchmarks/grids.py`` does, but on the detector's predictions, and gives it 1,000 tasks.
A task is solved if the true attributes meet the goal when the predicted ones do.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import yaml
from cells import add_arguments, run_cells
from detector import play
from grids import CONFIG
from ledger import append

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributeVectorWrapper
from gym_attrplan.agent import AttributePlannerAgent, VectorEnvAdapter
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.models import AttributeDetector

ENV_ID = "AttrSwitches-v0"
N_LABELS = 10_000


class Believed:
    """An attribute function that calls a detector and counts its errors."""

    def __init__(self, detector: AttributeDetector) -> None:
        self.detector = detector
        self.n_states = self.n_wrong = 0

    def __call__(self, envs: Any, words: np.ndarray) -> np.ndarray:
        """The detector's predictions for a batch."""
        believed = self.detector.predict(words)
        self.n_states += len(words)
        self.n_wrong += int((believed != envs.attributes).any(axis=1).sum())
        return believed


def make_envs(function: Believed, n_envs: int, **kwargs: Any) -> VectorEnvAdapter:
    """The batched environments with the detector's predictions as attributes."""
    truth = gym.make_vec(ENV_ID, n_envs, vectorization_mode="vector_entry_point", **kwargs)
    sampler = truth.env.rules.sampler("targets")
    envs = AttributeVectorWrapper(truth.env, truth.attribute_space, function, goal_sampler=sampler)
    return VectorEnvAdapter(envs)


def run(seed: int, total_timesteps: int | None) -> None:
    torch.set_num_threads(1)
    config = yaml.safe_load(CONFIG.read_text())[ENV_ID]
    total = total_timesteps or config["total_timesteps"]
    envs = gym.make_vec(ENV_ID, 1, vectorization_mode="vector_entry_point")
    words, attributes = play(ENV_ID, N_LABELS, seed=seed)
    space = envs.single_observation_space["observation"]
    detector = AttributeDetector(space, envs.attribute_space, seed=seed, device="cpu")
    detector.fit(words, attributes)
    train = make_envs(Believed(detector), config["n_envs"], **config["env_kwargs"])
    agent = AttributePlannerAgent(
        "MultiInputPolicy", train, seed=seed, device="cpu", **config["agent"]
    )
    agent.learn(total)
    test = Believed(detector)
    result = evaluate_tasks(agent, make_envs(test, 250), n_tasks=1_000, seed=10_000 + seed)
    # The worst case: each wrong prediction may have made one task count as solved.
    solved = max(0, result.successes - test.n_wrong)
    append(
        "grids",
        env=ENV_ID,
        task="targets",
        method="detector",
        budget=total,
        seed=seed,
        n=result.n,
        successes=solved,
        extra={"labels": N_LABELS, "states_seen": test.n_states, "states_wrong": test.n_wrong},
    )
    print(f"seed {seed}: {result}; {test.n_wrong} of {test.n_states:,} states detected wrongly")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--total-timesteps", type=int, help="instead of the config's")
    add_arguments(parser, jobs=2)
    options = parser.parse_args()
    jobs = [(seed, options.total_timesteps) for seed in options.seeds]
    run_cells(run, jobs, options)


if __name__ == "__main__":
    main()
