"""What Ray's workers are worth on one machine: ``python benchmarks/many_machines.py``.

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
    """What this process holds, in MB, the shared object store left out."""
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0]) / 1024


def time_merging(env: str) -> tuple[int, float]:
    """Bytes of a batch, and steps a second that the driver counts."""
    agent = make_agent(env)
    answer = practise(agent, 0, N_STEPS)
    began = time.perf_counter()
    for _ in range(10):
        take_in(agent, pickle.loads(pickle.dumps(answer)))
    return len(pickle.dumps(answer)), 10 * answer.n_steps / (time.perf_counter() - began)


def make_venv(env: str, kind: str) -> VecEnv:
    """The same number of environments in two workers, or in a process each."""
    if env == LARGE:
        if kind == "here":
            return VectorEnvAdapter(
                gym.make_vec(LARGE, 128, vectorization_mode="vector_entry_point")
            )
        return RayVecEnv(make_large, n_workers=2)
    if kind == "subproc":
        return SubprocVecEnv([point_maze] * 8, start_method="forkserver")
    if kind == "here":
        return CopiesVecEnv([point_maze] * 8)
    return RayVecEnv(point_maze, n_workers=2, envs_per_worker=4)


def time_steps(env: str, kind: str, n_steps: int = 1_000) -> float:
    """Steps a second with random actions."""
    torch.set_num_threads(1)
    venv = make_venv(env, kind)
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
    n_envs = venv.num_envs
    venv.close()
    return n_steps * n_envs / seconds


def alone(function: Any, *args: Any) -> Any:
    """The function's answer from a process of its own, which nothing was done in before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def keep(env: str, task: str, method: str, value: float, unit: str, **extra: Any) -> None:
    """A line of the ledger, and a word on the screen."""
    append("ray", env=env, task=task, method=method, value=round(value, 3), unit=unit, extra=extra)
    print(f"{env} {task} {method}: {value:,.2f} {unit} {extra}", flush=True)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", nargs="+", default=list(MAKERS), choices=list(MAKERS))
    parser.add_argument("--workers", nargs="+", type=int, default=list(WORKERS))
    options = parser.parse_args()
    cores = {"cores": os.cpu_count()}
    for env in options.envs:
        rates: dict[int, float] = {}
        for n in options.workers:
            rates[n], held = alone(time_practice, env, n)
            ratio = {"beside_none": round(rates[n] / rates[0], 3)} if 0 in rates else {}
            if n > 1 and 1 in rates:
                ratio["beside_one"] = round(rates[n] / rates[1], 3)
            keep(env, "practise", f"workers/{n}", rates[n], "steps/s", **ratio, **cores)
            keep(env, "driver memory", f"workers/{n}", held, "MB")
        size, rate = alone(time_merging, env)
        keep(env, "batch", "ap", size, "bytes", steps=N_STEPS)
        keep(env, "merging", "ap", rate, "steps/s")
        for kind in ("here", "ray") if env == LARGE else ("here", "subproc", "ray"):
            keep(env, "stepping", kind, alone(time_steps, env, kind), "steps/s", **cores)


if __name__ == "__main__":
    main()
