"""Whether an evaluation without goals tells what an agent can do.

``python benchmarks/evaluation.py`` trains an agent for a short time and evaluates it twice: as
``attrplan evaluate`` does, on goals that the agent knows, and on goals drawn uniformly from all
reachable descriptions, which are those that another agent found in ten times the steps. The two
results should agree. Suite ``evaluation``.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from defaults import SUITE, Case
from ledger import append

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.advice import AdviceWarning
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks

CASES = {
    "MiniGrid-DoorKey-5x5-v0": Case(40_000, None, 0),
    "CliffWalking-v1": replace(SUITE["CliffWalking-v1"], budget=40_000),
    "Taxi-v4": replace(SUITE["Taxi-v4"], budget=100_000),
    "Corridor": replace(SUITE["Corridor"], budget=20_000),
}
"""Environments and steps of training: few enough that an agent does not know everything yet."""


def trained(env_id: str, *, seed: int, budget: int) -> Any:
    """An agent with no option but its seed."""
    venv = CASES[env_id].make_envs(env_id)
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=seed, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdviceWarning)  # of an agent whose training is not complete
        return agent.learn(budget)


def run(env_id: str, seed: int, n_tasks: int, budget: int | None) -> None:
    """Train, evaluate in both ways, and append both figures."""
    torch.set_num_threads(1)
    case = CASES[env_id]
    budget = budget or case.budget
    agent = trained(env_id, seed=seed, budget=budget)
    everywhere = trained(env_id, seed=seed + 1_000, budget=10 * budget)
    reachable = everywhere.counts.index.vectors(np.arange(everywhere.counts.n_nodes))
    tests = case.make_envs(env_id, n_envs=20)

    def asked(goals: Any) -> TaskResult:
        return evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=goals, seed=10_000 + seed)

    for task, result in (("known to the agent", asked(None)), ("reachable", asked(reachable))):
        known = agent.counts.n_nodes if task != "reachable" else len(reachable)
        print(f"{env_id} seed {seed}, {known} goals {task}: {result}", flush=True)
        append(
            "evaluation",
            env=env_id,
            task=task,
            method="ap",
            budget=budget,
            seed=seed,
            n=result.n,
            successes=result.successes,
            extra={"goals": known},
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=400)
    parser.add_argument("--total-timesteps", type=int, help="instead of the cases' own")
    options = parser.parse_args()
    for env_id in options.envs:
        for seed in options.seeds:
            run(env_id, seed, options.n_tasks, options.total_timesteps)


if __name__ == "__main__":
    main()
