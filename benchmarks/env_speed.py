"""Environment steps per second: MiniGrid's own DoorKey, ours one at a time, and ours in batches.

``python benchmarks/env_speed.py`` times every row in turn, several times over, in one process, with
random actions and with all that ``gym.make`` and ``gym.make_vec`` wrap around. Seconds are those of
the processor, so that a busy machine does not decide the figure. It prints each row's median and
its ratio to DoorKey within the same turn, and appends them to the ledger. A new environment is a
new row.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import minigrid  # noqa: F401  registers DoorKey
import numpy as np
from ledger import append

import gym_attrplan  # noqa: F401  registers our environments

PEER = "MiniGrid-DoorKey-8x8-v0"
N_TURNS = 7


@dataclass(frozen=True)
class Row:
    """What is timed: an id, alone (1) or in a batch."""

    id: str
    n_envs: int
    n_steps: int


ROWS = [
    Row(PEER, 1, 2_000),
    Row("AttrSwitches-v0", 1, 4_000),
    Row("AttrCrafting-v0", 1, 4_000),
    Row("AttrSwitches-v0", 1024, 400),
    Row("AttrCrafting-v0", 1024, 400),
]


def run_single(row: Row) -> Callable[[], int]:
    env = gym.make(row.id)
    n_actions = env.action_space.n
    actions = np.random.default_rng(0).integers(n_actions, size=row.n_steps).tolist()
    env.reset(seed=0)

    def run() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return row.n_steps

    return run


def run_batch(row: Row) -> Callable[[], int]:
    envs = gym.make_vec(row.id, row.n_envs, vectorization_mode="vector_entry_point")
    n_actions = envs.single_action_space.n
    actions = np.random.default_rng(0).integers(n_actions, size=(row.n_steps, row.n_envs))
    envs.reset(seed=0)

    def run() -> int:
        for action in actions:
            envs.step(action)
        return row.n_steps * row.n_envs

    return run


def steps_per_second(run: Callable[[], int]) -> float:
    start = time.process_time()
    n_steps = run()
    return n_steps / (time.process_time() - start)


def main() -> None:
    """Time every row in each turn, print the medians and keep them."""
    runs = [(run_single if row.n_envs == 1 else run_batch)(row) for row in ROWS]
    turns = [[steps_per_second(run) for run in runs] for _ in range(N_TURNS + 1)]
    turns = turns[1:]  # the first one warms up
    print(f"{'environment':<26}{'at once':>8}{'steps/s':>12}{'x DoorKey':>11}")
    for i, row in enumerate(ROWS):
        rate = statistics.median(turn[i] for turn in turns)
        ratio = statistics.median(turn[i] / turn[0] for turn in turns)
        print(f"{row.id:<26}{row.n_envs:>8,}{rate:>12,.0f}{ratio:>11,.1f}")
        append(
            "env_speed",
            env=row.id,
            task="random_actions",
            method="single" if row.n_envs == 1 else "batched",
            value=round(rate, 1),
            unit="steps/s",
            extra={"n_envs": row.n_envs, "ratio_to_doorkey": round(ratio, 3), "turns": N_TURNS},
        )


if __name__ == "__main__":
    main()
