"""The cost of the attribute wrappers: CartPole with 8 attributes, one and 256 environments.

``python benchmarks/wrapper_overhead.py`` prints microseconds per environment step, and the time
that the wrapper adds to that of the attribute function. The raw environment, the function and the
wrapped environment are timed in turn. The added time is the median of the differences within each
turn, so that a machine that is busy for a while does not distort it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import gymnasium as gym
import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from ledger import append

from gym_attrplan import AttributeVectorWrapper, AttributeWrapper

NAMES = [
    f"{part}_{level}" for part in ("x", "v", "tilt", "spin") for level in ("positive", "large")
]
LIMITS = np.array([0.0, 0.05], np.float32)
LARGE_BUT_NOT_POSITIVE = np.array([0, 1] * 4, np.int8)
N_ENVS = 256


def eight_bits(env: object, observation: np.ndarray) -> np.ndarray:
    """For each of CartPole's four numbers: is it positive, is it large?"""
    eight_bits.n_rows += 1 if observation.ndim == 1 else len(observation)
    return (observation[..., None] > LIMITS).reshape(*observation.shape[:-1], 8).view(np.int8)


eight_bits.n_rows = 0


def never_met(achieved: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A goal that no state meets, so that episodes end exactly as in the raw run."""
    return np.broadcast_to(LARGE_BUT_NOT_POSITIVE, achieved.shape)


def microseconds(run: Callable[[], int]) -> float:
    """Microseconds per environment step; ``run`` returns how many it took."""
    start = time.perf_counter()
    n_steps = run()
    return (time.perf_counter() - start) / n_steps * 1e6


def compare(
    runs: dict[str, Callable[[], int]], calls_per_step: float, n_turns: int = 15
) -> dict[str, float]:
    """Medians of each run over the turns, and of what ``wrapped`` adds beyond ``function``."""
    turns = [{name: microseconds(run) for name, run in runs.items()} for _ in range(n_turns + 1)]
    for turn in turns:
        turn["function"] *= calls_per_step
        turn["added"] = turn["wrapped"] - turn["raw"] - turn["function"]
    turns = turns[1:]  # the first one warms up
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def run_single(env: gym.Env, n_steps: int = 5_000) -> Callable[[], int]:
    actions = np.random.default_rng(0).integers(2, size=n_steps).tolist()

    def run() -> int:
        env.reset(seed=0)
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return n_steps

    return run


def run_vector(envs: gym.vector.VectorEnv, n_steps: int = 40) -> Callable[[], int]:
    actions = np.random.default_rng(0).integers(2, size=(n_steps, N_ENVS))

    def run() -> int:
        envs.reset(seed=0)
        for action in actions:
            _, _, terminated, truncated, _ = envs.step(action)
            if isinstance(envs, SyncVectorEnv):  # the wrapper resets by itself
                done = terminated | truncated
                if done.any():
                    envs.reset(options={"reset_mask": done})
        return n_steps * N_ENVS

    return run


def run_function(observation: np.ndarray, n_calls: int) -> Callable[[], int]:
    n_rows = 1 if observation.ndim == 1 else len(observation)

    def run() -> int:
        for _ in range(n_calls):
            eight_bits(None, observation)
        return n_calls * n_rows

    return run


def count_calls(run: Callable[[], int]) -> float:
    """Calls of the attribute function per environment step; resets call it too."""
    eight_bits.n_rows = 0
    n_steps = run()
    return eight_bits.n_rows / n_steps


def cartpoles() -> SyncVectorEnv:
    # The bare class: TimeLimit and the passive checker would hide what is measured.
    return SyncVectorEnv([CartPoleEnv] * N_ENVS, autoreset_mode=AutoresetMode.DISABLED)


def main() -> None:
    """Compare, print and keep the figures."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    options = {"goal_sampler": never_met}
    sample = np.zeros(4, np.float32)
    wrapped = run_single(AttributeWrapper(CartPoleEnv(), NAMES, eight_bits, **options))
    single = compare(
        {
            "raw": run_single(CartPoleEnv()),
            "function": run_function(sample, 10_000),
            "wrapped": wrapped,
        },
        count_calls(wrapped),
    )
    wrapped = run_vector(AttributeVectorWrapper(cartpoles(), NAMES, eight_bits, **options))
    vector = compare(
        {
            "raw": run_vector(cartpoles()),
            "function": run_function(np.tile(sample, (N_ENVS, 1)), 200),
            "wrapped": wrapped,
        },
        count_calls(wrapped),
    )
    print("microseconds per environment step, medians of 15 turns, 8 attributes")
    for env, rows, limit in (("one", single, 15), (f"vector of {N_ENVS}", vector, 1)):
        for name, value in rows.items():
            print(f"  {env:14} {name:10} {value:8.2f}")
            append("overhead", env="CartPole-v1", task=env, method=name, value=value, unit="us")
        print(f"  {env:14} adds {rows['added']:.2f} µs, at most {limit} wanted")


if __name__ == "__main__":
    main()
