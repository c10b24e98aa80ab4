"""Edges of ``AttrCrafting-v0`` found by random actions and by the two bonuses, in as many steps.

``python benchmarks/exploration.py`` explores with ten seeds each and prints the means. Results that
are in the ledger are not measured again without ``--again``. The room is larger than the default
(``size=12``): in the default room random actions soon find all 25 edges, in this one at most 20
(in the paper 18.6).
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import torch
from cells import add_arguments, run_cells
from ledger import append, is_measured, read
from paper.results import nominal

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env

SUITE = "exploration"
ENV_ID = "AttrCrafting-v0"
SIZE = 12
METHODS = {"random": "random", "normalized_count_bonus": "bonus", "count_bonus": "count_bonus"}


def key(method: str, seed: int, total_timesteps: int) -> dict[str, Any]:
    """A figure's key in the ledger."""
    return {
        "env": ENV_ID,
        "task": "edges",
        "method": method,
        "budget": total_timesteps,
        "seed": seed,
    }


def explore(method: str, seed: int, total_timesteps: int, n_envs: int) -> None:
    torch.set_num_threads(1)
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        as_vec_env(ENV_ID, n_envs=n_envs, env_kwargs={"size": SIZE}),
        seed=seed,
        device="cpu",
        hops="neighbours",
        exploration=METHODS[method],
        exploration_fraction=1.0,
        exploration_kwargs={} if method == "random" else {"n_steps": 64, "batch_size": 1_024},
    )
    agent.learn(total_timesteps)
    append(
        SUITE,
        **key(method, seed, total_timesteps),
        value=agent.counts.n_edges,
        unit="edges",
        extra={"n_envs": n_envs, "size": SIZE},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--total-timesteps", type=int, default=600_000)
    parser.add_argument("--n-envs", type=int, default=128)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=10)
    add_arguments(parser, jobs=2)
    parser.add_argument("--again", action="store_true", help="also measure what is in the ledger")
    options = parser.parse_args()
    total = options.total_timesteps
    runs = [
        (method, seed, total, options.n_envs)
        for method in options.methods
        for seed in range(options.seeds)
        if options.again or not is_measured(SUITE, **key(method, seed, total))
    ]
    run_cells(explore, runs, options)
    print(f"edges of 25 found in {total:,} steps of {options.n_envs} environments")
    lines = [line for line in read(SUITE) if line["budget"] == nominal(total)]
    for method in options.methods:
        own = [line["value"] for line in lines if line["method"] == method]
        print(f"  {method:24} mean {statistics.mean(own):5.1f}   seeds {own}")


if __name__ == "__main__":
    main()
