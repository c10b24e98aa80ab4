"""Environment steps per second: MiniGrid's own and batched, ours one at a time and in batches.

``python benchmarks/env_speed.py`` times every row in turn, several times over, in one process, with
random actions and with all that ``gym.make`` and ``gym.make_vec`` wrap around. Seconds are those of
the processor, so that a busy machine does not decide the figure; training, by PPO with UnitPolicy,
is timed by the clock on two threads. It prints each row's median and its ratios to DoorKey and to
its peer within the same turn, and appends them to the ledger. The peer is the same environment
alone; of the batched MiniGrid, which also reads its attributes, it is Gymnasium's ``SyncVectorEnv``
of MiniGrid's own, which does not. ``pool`` begins its episodes in a full pool of layouts,
``engine`` draws each; what 1,024 of the largest take of memory comes last. A new environment is a
new row; ``python benchmarks/env_speed.py MiniGrid`` times those with that name alone. Blocks have
images of 128 pixels; the first run renders them all into the user's cache (2.9 GB).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
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
from gym_attrplan.attributes.library.minigrid_batch import MiniGridBatchAttributes
from gym_attrplan.envs.blocks import collect
from gym_attrplan.envs.minigrid import MiniGridVectorEnv

PEER = "MiniGrid-DoorKey-8x8-v0"
N_TURNS = 7


MINIGRID = (PEER, "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-MultiRoom-N6-v0")
PEERS = {"engine": "sync", "pool": "sync", "sync": "sync"}
"""Method → the one it is compared with, if not the same environment alone."""


@dataclass(frozen=True)
class Row:
    """What is timed: an id, how many environments at once, steps of each, and in which way."""

    id: str
    n_envs: int
    n_steps: int
    method: str = "batched"

    @property
    def peer(self) -> tuple[str, str]:
        """The id and method that it is compared with."""
        return self.id, PEERS.get(self.method, "single")

    @property
    def task(self) -> str:
        """As the ledger names it: batches of several sizes are figures of their own."""
        return f"random_actions_{self.n_envs}" if self.method == "pool" else "random_actions"


ROWS = [
    Row(PEER, 1, 2_000, "single"),
    Row("AttrSwitches-v0", 1, 4_000, "single"),
    Row("AttrCrafting-v0", 1, 4_000, "single"),
    Row("AttrSwitches-v0", 1024, 400),
    Row("AttrCrafting-v0", 1024, 400),
    Row("AttrBuildOrder-v0", 1, 1_000, "single"),
    Row("AttrBuildOrderLarge-v0", 1, 1_000, "single"),
    Row("AttrBuildOrder-v0", 512, 200),
    Row("AttrBuildOrderLarge-v0", 512, 200),
    Row("AttrBuildOrder-v0", 512, 64, "train"),
    Row("AttrBlocks-v0", 1, 300, "single"),
    Row("AttrBlocks-v0", 256, 100),
    Row("AttrBlocks-v0", 1_000_000, 1, "collect"),
    *(Row(one, 16, 100, "sync") for one in MINIGRID),
    *(Row(one, 256, 400, "engine") for one in MINIGRID),
    *(Row(one, 256, 400, "pool") for one in MINIGRID),
    *(Row(one, 1024, 200, "pool") for one in MINIGRID),
]


LARGEST = ROWS[-1]


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
    mode = "sync" if row.method == "sync" else "vector_entry_point"
    envs = gym.make_vec(row.id, row.n_envs, vectorization_mode=mode)
    actions = random_actions(envs.single_action_space, row.n_steps, row.n_envs)
    envs.reset(seed=0)

    def run() -> int:
        for action in actions:
            envs.step(action)
        return row.n_steps * row.n_envs

    return run


def run_minigrid(row: Row) -> Callable[[], int]:
    pool_size = 2 * row.n_envs if row.method == "pool" else None
    envs = MiniGridVectorEnv(row.id, row.n_envs, pool_size=pool_size)
    attributes = MiniGridBatchAttributes(envs)
    actions = random_actions(envs.single_action_space, row.n_steps, row.n_envs)
    envs.reset(seed=0)
    for _ in range(2 if pool_size else 0):
        attributes(envs)
        envs.reset()

    def run() -> int:
        for action in actions:
            envs.step(action)
            attributes(envs)
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
    "sync": run_batch,
    "engine": run_minigrid,
    "pool": run_minigrid,
}


def peak_memory(row: Row) -> float:
    """Megabytes that a process takes at most which does nothing but run a row."""
    RUNS[row.method](row)()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def keep_memory(row: Row) -> None:
    """Measure it in a process of its own, print it and keep it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        megabytes = pool.apply(peak_memory, (row,))
    print(f"{row.id}, {row.n_envs:,} at once: {megabytes:,.0f} MB")
    key = {"env": row.id, "task": row.task, "method": "memory"}
    append("env_speed", **key, value=megabytes, unit="MB", extra={"n_envs": row.n_envs})


def steps_per_second(run: Callable[[], int], clock: Callable[[], float]) -> float:
    start = clock()
    n_steps = run()
    return n_steps / (clock() - start)


def main() -> None:
    """Time every row of the ids asked for in each turn, print the medians and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("named", nargs="?", default="", help="only ids that contain this")
    named = parser.parse_args().named
    rows = ROWS[:1] + [row for row in ROWS[1:] if named in row.id]
    runs = [RUNS[row.method](row) for row in rows]
    places = {(row.id, row.method): i for i, row in enumerate(rows)}
    # Torch trains with a thread for each of two processors, which only a clock on the wall sees.
    torch.set_num_threads(2)
    clocks = [time.perf_counter if row.method == "train" else time.process_time for row in rows]
    timed = list(zip(runs, clocks, strict=True))
    turns = [[steps_per_second(*one) for one in timed] for _ in range(N_TURNS + 1)]
    turns = turns[1:]  # the first one warms up
    title = f"{'environment':<28}{'method':>8}{'at once':>10}"
    print(f"{title}{'steps/s':>12}{'x DoorKey':>11}{'x peer':>10}")
    for i, row in enumerate(rows):
        rate = statistics.median(turn[i] for turn in turns)
        ratio = statistics.median(turn[i] / turn[0] for turn in turns)
        speedup = statistics.median(turn[i] / turn[places[row.peer]] for turn in turns)
        title = f"{row.id:<28}{row.method:>8}{row.n_envs:>10,}"
        print(f"{title}{rate:>12,.0f}{ratio:>11,.1f}{speedup:>10,.1f}")
        append(
            "env_speed",
            env=row.id,
            task=row.task,
            method=row.method,
            value=round(rate, 1),
            unit="steps/s",
            extra={
                "n_envs": row.n_envs,
                "ratio_to_doorkey": round(ratio, 3),
                f"ratio_to_{row.peer[1]}": round(speedup, 3),
                "turns": N_TURNS,
            },
        )
    if LARGEST in rows:
        keep_memory(LARGEST)


if __name__ == "__main__":
    main()
