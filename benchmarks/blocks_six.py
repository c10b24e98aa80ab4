"""Blocks tested in MuJoCo, by default six, more states than a table can hold.

``python benchmarks/blocks_six.py`` trains in the batched version, and tests through MuJoCo's
physics, on goals that are random other states. The agent is told the blocks' positions. Half of N
examples are random actions, half are its own attempts. Six blocks have 2,162,160 states, of which
it sees at most one in twenty; ``--n-blocks 4`` has 3,720 descriptions. The rival is the same hop
policy by itself, told the whole goal. Suite ``blocks_six``.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import gymnasium as gym
import torch
from cells import add_arguments, run_cells
from fair import better, both_ways
from ledger import append
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.agent.evaluation import evaluate_tasks

ENV_ID = "AttrBlocks-v0"


def env_kwargs(n_blocks: int) -> dict[str, Any]:
    """The environment's arguments."""
    return {"n_blocks": n_blocks, "obs_type": "state", "task": "multi_step"}


def train(n_blocks: int, n_examples: int, seed: int, device: str) -> AttributePlannerAgent:
    """An agent with default options, except that one action makes one transition."""
    kwargs = env_kwargs(n_blocks)
    envs = gym.make_vec(ENV_ID, 512, vectorization_mode="vector_entry_point", **kwargs)
    agent = AttributePlannerAgent(
        "MultiInputPolicy", VectorEnvAdapter(envs), low_level="inverse", seed=seed, device=device
    )
    return agent.learn(n_examples)


def make_test(n_blocks: int, n_envs: int) -> VecEnv:
    """The environment with MuJoCo's physics."""
    return make_vec_env(ENV_ID, n_envs, env_kwargs=env_kwargs(n_blocks))


def run(n_blocks: int, n_examples: int, seed: int, n_tasks: int, device: str) -> None:
    """Train, test, and append a line for each method."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    agent = train(n_blocks, n_examples, seed, device)
    extra = {"train_seconds": round(time.perf_counter() - began)}
    envs = make_test(n_blocks, min(10, n_tasks))
    options: dict[str, Any] = {"n_tasks": n_tasks, "seed": 20_000 + seed * n_tasks}
    results = {
        "ap": lambda: evaluate_tasks(agent, envs, **options),
        "inverse": lambda: better(both_ways(agent.low_level, envs, **options)),
    }
    for method, evaluate in results.items():
        began = time.perf_counter()
        result = evaluate()
        took = {"test_seconds": round(time.perf_counter() - began)}
        append(
            "blocks_six",
            env=f"{ENV_ID}[n_blocks={n_blocks}]",
            task="multi_step",
            method=method,
            budget=n_examples,
            seed=seed,
            n=n_tasks,
            successes=result.successes,
            extra=extra | took,
        )
        print(
            f"{n_blocks} blocks, {n_examples:,} seed {seed} {method}: {result}, {extra | took}",
            flush=True,
        )


def main() -> None:
    """Run the seeds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-blocks", type=int, default=6)
    parser.add_argument("--budgets", nargs="+", type=int, default=[100_000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=500)
    parser.add_argument("--device", default="auto")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    how = options.n_tasks, options.device
    cells = product(options.budgets, options.seeds)
    run_cells(run, [(options.n_blocks, *one, *how) for one in cells], options)


if __name__ == "__main__":
    main()
