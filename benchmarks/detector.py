"""How often the learned detector is wrong about the grid worlds, with 1,000 and 10,000 labels.

``python benchmarks/detector.py`` trains on the word observations of states from random play and
tests on 20,000 states of new episodes. It prints the share of states with any wrong attribute and
appends it to the ledger. The paper's error on its block world is 1.4% with 10,000 labels.
"""

from __future__ import annotations

import argparse
import time

import gymnasium as gym
import numpy as np
import torch
from ledger import append

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.models import AttributeDetector

IDS = ("AttrSwitches-v0", "AttrCrafting-v0")
N_ENVS = 200
N_STEPS = 1_000
N_TEST = 20_000


def play(env_id: str, n_states: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Word observations and attributes of ``n_states`` states, drawn from random play."""
    envs = gym.make_vec(env_id, N_ENVS, vectorization_mode="vector_entry_point")
    rng = np.random.default_rng(seed)
    observations, _ = envs.reset(seed=seed)
    words, attributes = [], []
    for step in range(N_STEPS):
        if step % 10 == 0:
            words.append(observations["observation"].copy())
            attributes.append(observations["achieved_goal"].copy())
        actions = rng.integers(envs.single_action_space.n, size=N_ENVS)
        observations = envs.step(actions)[0]
    rows = rng.permutation(N_ENVS * N_STEPS // 10)[:n_states]
    return np.concatenate(words)[rows], np.concatenate(attributes)[rows]


def measure(env_id: str, n_labels: int, seed: int) -> None:
    envs = gym.make_vec(env_id, 1, vectorization_mode="vector_entry_point")
    words, attributes = play(env_id, n_labels, seed=2 * seed)
    detector = AttributeDetector(
        envs.single_observation_space["observation"],
        envs.attribute_space,
        seed=seed,
    )
    start = time.perf_counter()
    report = detector.fit(words, attributes)
    seconds = time.perf_counter() - start
    words, attributes = play(env_id, N_TEST, seed=2 * seed + 1)
    error = float((detector.predict(words) != attributes).any(axis=1).mean())
    print(
        f"  {env_id:16} {n_labels:7,} labels  seed {seed}  wrong {error:8.3%}  "
        f"held-out {report.full_set_error:8.3%}  {report.epochs} epochs, {seconds:.0f} s"
    )
    extra = {
        "n_test": N_TEST,
        "held_out_error": report.full_set_error,
        "calibration_error": report.calibration_error_after,
        "epochs": report.epochs,
        "seconds": round(seconds, 1),
    }
    append(
        "grids",
        env=env_id,
        task="detector",
        method="detector",
        budget=n_labels,
        seed=seed,
        value=error,
        unit="error",
        extra=extra,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # small networks gain nothing from more
    for env_id in IDS:
        for n_labels in arguments.labels:
            for seed in range(arguments.seeds):
                measure(env_id, n_labels, seed)


if __name__ == "__main__":
    main()
