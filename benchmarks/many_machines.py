"""The speed of Ray's workers on one machine: ``python benchmarks/many_machines.py``.

Practice without Ray and with 1, 2 and 4 workers; ``RayVecEnv`` beside SB3's ``SubprocVecEnv``; what
a batch weighs, how fast the driver counts it, and what the driver holds in memory. Suite ``ray``.
Run it on a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from defaults import point_maze
from ledger import append
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.copies import CopiesVecEnv
from gym_attrplan.agent.learned import Learned
from gym_attrplan.agent.remote import RayVecEnv
from gym_attrplan.agent.remote.practice import Recipe, Rounds, practise, take_in, working_in
from gym_attrplan.agent.remote.vec_env import make_shard
from gym_attrplan.agent.vec_env import VectorEnvAdapter

LARGE = "AttrBuildOrderLarge-v0"
MAZE = "PointMaze_Medium-v3"
N_COPIES = 32
WORKERS = (0, 1, 2, 4)
N_STEPS = 128
"""Steps of a batch in each environment."""

N_BATCHES = 8
"""Batches that are timed."""


make_large = partial(gym.make_vec, LARGE, 64, vectorization_mode="vector_entry_point")

STEPPED = {LARGE: (128, 1_024), MAZE: (8, 32)}
"""How many environments are stepped at a time."""

MAKERS = {LARGE: (make_large, "UnitPolicy"), MAZE: (point_maze, "MultiInputPolicy")}


def make_agent(env: str) -> AttributePlannerAgent:
    """An agent that has learned nothing."""
    make, policy = MAKERS[env]
    return AttributePlannerAgent(policy, make_shard(make, N_COPIES), seed=0, device="cpu")


def time_practice(env: str, n_workers: int) -> tuple[float, float]:
    """Steps a second once all workers have begun, and the driver's memory in MB."""
    torch.set_num_threads(1)
    agent = make_agent(env)
    rounds = Rounds.checked(agent, 1, batch_steps=N_STEPS * agent.n_envs, n_batches=N_BATCHES)
    batches = [(seed, N_STEPS) for seed in rounds.seeds(0, N_BATCHES * rounds.batch_steps)]
    if not n_workers:
        began = time.perf_counter()
        answers = [practise(agent, *batch) for batch in batches]
        seconds = time.perf_counter() - began
        return len(answers) * rounds.batch_steps / seconds, memory()
    recipe = Recipe.of(agent, MAKERS[env][0])
    with working_in(recipe, n_workers, address=None, timeout=600.0) as run:
        learned = Learned.by(agent, include=())
        list(run(learned, [(0, 1)] * 4 * n_workers))  # until all have begun
        began = time.perf_counter()
        for _, answer in run(learned, batches):
            take_in(agent, answer)
        seconds = time.perf_counter() - began
    return len(batches) * rounds.batch_steps / seconds, memory()


def memory() -> float:
    """Memory of this process in MB, without the shared object store."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0]) / 1024


def time_merging(env: str) -> tuple[int, float]:
    """Size of a batch in bytes, and the driver's speed of counting in steps per second."""
    agent = make_agent(env)
    answer = practise(agent, 0, N_STEPS)
    began = time.perf_counter()
    for _ in range(10):
        take_in(agent, pickle.loads(pickle.dumps(answer)))
    return len(pickle.dumps(answer)), 10 * answer.n_steps / (time.perf_counter() - began)


def make_venv(env: str, kind: str, n_envs: int) -> VecEnv:
    """The same environments here, in two of Ray's workers, or in a process each."""
    if env == LARGE:
        batch = partial(gym.make_vec, LARGE, vectorization_mode="vector_entry_point")
        if kind == "here":
            return VectorEnvAdapter(batch(num_envs=n_envs))
        return RayVecEnv(partial(batch, num_envs=n_envs // 2), n_workers=2)
    if kind == "subproc":
        return SubprocVecEnv([point_maze] * n_envs, start_method="forkserver")
    if kind == "here":
        return CopiesVecEnv([point_maze] * n_envs)
    return RayVecEnv(point_maze, n_workers=2, envs_per_worker=n_envs // 2)


def time_steps(env: str, kind: str, n_envs: int, n_steps: int = 500) -> float:
    """Steps a second with random actions."""
    torch.set_num_threads(1)
    venv = make_venv(env, kind, n_envs)
    venv.action_space.seed(0)
    actions = [
        np.stack([venv.action_space.sample() for _ in range(venv.num_envs)]) for _ in "12345"
    ]
    venv.reset()
    for i in range(50):
        venv.step(actions[i % 5])
    began = time.perf_counter()
    for i in range(n_steps):
        venv.step(actions[i % 5])
    seconds = time.perf_counter() - began
    venv.close()
    return n_steps * n_envs / seconds


def alone(function: Any, *args: Any) -> Any:
    """The function's result, computed in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def keep(env: str, task: str, method: str, value: float, unit: str, **extra: Any) -> None:
    """Append a line to the ledger and print it."""
    append("ray", env=env, task=task, method=method, value=round(value, 3), unit=unit, extra=extra)
    print(f"{env} {task} {method}: {value:,.2f} {unit} {extra}", flush=True)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", nargs="+", default=list(MAKERS), choices=list(MAKERS))
    parser.add_argument("--workers", nargs="+", type=int, default=list(WORKERS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    options = parser.parse_args()
    for env in options.envs:
        for part in options.parts:
            PARTS[part](env, options.workers)


def measure_practice(env: str, workers: list[int]) -> None:
    rates: dict[int, float] = {}
    for n in workers:
        rates[n], held = alone(time_practice, env, n)
        beside = {f"beside_{i}": round(rates[n] / rates[i], 3) for i in (0, 1) if i in rates}
        keep(env, "practise", f"workers/{n}", rates[n], "steps/s", **beside, cores=os.cpu_count())
        keep(env, "driver memory", f"workers/{n}", held, "MB")


def measure_merging(env: str, workers: list[int]) -> None:
    size, rate = alone(time_merging, env)
    keep(env, "batch", "ap", size, "bytes", steps=N_STEPS)
    keep(env, "merging", "ap", rate, "steps/s")


def measure_steps(env: str, workers: list[int]) -> None:
    kinds = ("here", "ray") if env == LARGE else ("here", "subproc", "ray")
    for n_envs in STEPPED[env]:
        for kind in kinds:
            rate = alone(time_steps, env, kind, n_envs)
            keep(env, f"stepping {n_envs}", kind, rate, "steps/s", cores=os.cpu_count())


PARTS = {"practise": measure_practice, "merging": measure_merging, "stepping": measure_steps}

if __name__ == "__main__":
    main()
