"""Environment steps per second: MiniGrid's own DoorKey, ours one at a time, and ours in batches.

``python benchmarks/env_speed.py`` times every row in turn, several times over, in one process, with
random actions and with all that ``gym.make`` and ``gym.make_vec`` wrap around. Seconds are those of
the processor, so that a busy machine does not decide the figure; training, by PPO with UnitPolicy,
is timed by the clock on two threads. It prints each row's median and
its ratios to DoorKey and to the same environment alone within the same turn, and appends them to
the ledger. A new environment is a new row. Blocks are shown as pictures of 128 pixels; the first
run draws them all, once, into the user's cache (2.9 GB).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
import minigrid  # noqa: F401  registers DoorKey
import numpy as np
import torch
from ledger import append
from stable_baselines3 import PPO

import gym_attrplan  # noqa: F401  registers our environments
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.algorithms import UnitPolicy
from gym_attrplan.envs.blocks import collect

PEER = "MiniGrid-DoorKey-8x8-v0"
N_TURNS = 7


@dataclass(frozen=True)
class Row:
    """What is timed: an id, alone (1) or in a batch, examples collected at once, or training."""

    id: str
    n_envs: int
    n_steps: int
    collects: bool = False
    trains: bool = False

    @property
    def method(self) -> str:
        """As the ledger names it."""
        if self.collects:
            return "collect"
        if self.trains:
            return "train"
        return "single" if self.n_envs == 1 else "batched"


ROWS = [
    Row(PEER, 1, 2_000),
    Row("AttrSwitches-v0", 1, 4_000),
    Row("AttrCrafting-v0", 1, 4_000),
    Row("AttrSwitches-v0", 1024, 400),
    Row("AttrCrafting-v0", 1024, 400),
    Row("AttrBuildOrder-v0", 1, 1_000),
    Row("AttrBuildOrderLarge-v0", 1, 1_000),
    Row("AttrBuildOrder-v0", 512, 200),
    Row("AttrBuildOrderLarge-v0", 512, 200),
    Row("AttrBuildOrder-v0", 512, 64, trains=True),
    Row("AttrBlocks-v0", 1, 300),
    Row("AttrBlocks-v0", 256, 100),
    Row("AttrBlocks-v0", 1_000_000, 1, collects=True),
]


def random_actions(space: gym.Space, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    if isinstance(space, gym.spaces.MultiDiscrete):
        return rng.integers(space.nvec, size=(*shape, *space.shape))
    return rng.integers(space.n, size=shape)


def run_single(row: Row) -> Callable[[], int]:
    env = gym.make(row.id)
    actions = list(random_actions(env.action_space, row.n_steps))
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
    actions = random_actions(envs.single_action_space, row.n_steps, row.n_envs)
    envs.reset(seed=0)

    def run() -> int:
        for action in actions:
            envs.step(action)
        return row.n_steps * row.n_envs

    return run


def run_collect(row: Row) -> Callable[[], int]:
    return lambda: len(collect(row.n_envs * row.n_steps, seed=0))


def run_train(row: Row) -> Callable[[], int]:
    envs = gym.make_vec(row.id, row.n_envs, vectorization_mode="vector_entry_point")
    rollout = {"n_steps": 32, "batch_size": 2048, "n_epochs": 4}
    model = PPO(UnitPolicy, VectorEnvAdapter(envs), **rollout, seed=0, device="cpu")

    def run() -> int:
        model.learn(row.n_steps * row.n_envs, reset_num_timesteps=False)
        return row.n_steps * row.n_envs

    return run


RUNS = {
    "single": run_single,
    "batched": run_batch,
    "collect": run_collect,
    "train": run_train,
}


def steps_per_second(run: Callable[[], int], clock: Callable[[], float]) -> float:
    start = clock()
    n_steps = run()
    return n_steps / (clock() - start)


def main() -> None:
    """Time every row in each turn, print the medians and keep them."""
    runs = [RUNS[row.method](row) for row in ROWS]
    alone = {row.id: i for i, row in enumerate(ROWS) if row.method == "single"}
    # Torch trains with a thread for each of two processors, which only a clock on the wall sees.
    torch.set_num_threads(2)
    clocks = [time.perf_counter if row.trains else time.process_time for row in ROWS]
    timed = list(zip(runs, clocks, strict=True))
    turns = [[steps_per_second(*one) for one in timed] for _ in range(N_TURNS + 1)]
    turns = turns[1:]  # the first one warms up
    print(f"{'environment':<26}{'at once':>10}{'steps/s':>12}{'x DoorKey':>11}{'x alone':>10}")
    for i, row in enumerate(ROWS):
        rate = statistics.median(turn[i] for turn in turns)
        ratio = statistics.median(turn[i] / turn[0] for turn in turns)
        speedup = statistics.median(turn[i] / turn[alone[row.id]] for turn in turns)
        print(f"{row.id:<26}{row.n_envs:>10,}{rate:>12,.0f}{ratio:>11,.1f}{speedup:>10,.1f}")
        append(
            "env_speed",
            env=row.id,
            task="random_actions",
            method=row.method,
            value=round(rate, 1),
            unit="steps/s",
            extra={
                "n_envs": row.n_envs,
                "ratio_to_doorkey": round(ratio, 3),
                "ratio_to_single": round(speedup, 3),
                "turns": N_TURNS,
            },
        )


if __name__ == "__main__":
    main()
