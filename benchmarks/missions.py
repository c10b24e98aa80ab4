"""BabyAI missions: an agent with no option but its seed follows them, trained on none.

``python benchmarks/missions.py --levels GoToLocal Open --seeds 0 1 2`` trains an agent for each
level without any mission, in the batched level, and tests it with missions of the level itself,
whose verifier decides. Every figure is a line of suite ``hard``, task ``missions``. Missions are
drawn from seed 10,000 on.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from functools import partial
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401  registers BabyAI's levels
import numpy as np
import torch
from cells import add_arguments, run_cells
from ledger import append, read
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.attributes.library.babyai_goals import BabyAIGoals

N_TEST_ENVS = 20

LEVELS = {
    "GoTo": 90.0,
    "Open": 90.0,
    "Pickup": 90.0,
    "PutNextLocal": 90.0,
    "Unlock": 90.0,
    "Synth": 75.0,
    "SynthLoc": 75.0,
    "SynthSeq": 75.0,
    "BossLevel": 60.0,
}
"""Level → success rate that we aim at after 3M steps, in percent."""

LOCAL = ("GoToLocal", "PickupLoc", "OpenDoor", "PutNextLocal")
"""Levels of one room, or of one room and its doors, for short trials."""


def level_with_goals(env_id: str) -> gym.Env[Any, Any]:
    """A level that asks for the goals of its missions."""
    return BabyAIGoals(AttributeWrapper(gym.make(env_id)))


def run(level: str, seed: int, n_tasks: int, budget: int, save: str | None) -> None:
    """Train an agent without missions, let it follow missions, and append the figure."""
    torch.set_num_threads(1)
    env_id = f"BabyAI-{level}-v0"
    start = time.perf_counter()
    agent = AttributePlannerAgent("MultiInputPolicy", env_id, seed=seed, device="cpu")
    agent.learn(budget)
    seconds = time.perf_counter() - start
    if save:
        agent.save(save.format(level=level, seed=seed, budget=budget))
    tests = as_vec_env(make_vec_env(partial(level_with_goals, env_id), N_TEST_ENVS))
    with contextlib.redirect_stdout(None):  # BabyAI prints each layout that it rejects
        result = evaluate_tasks(agent, tests, n_tasks=n_tasks, seed=10_000 + seed)
    append(
        "hard",
        env=env_id,
        task="missions",
        method="ap",
        budget=budget,
        seed=seed,
        n=result.n,
        successes=result.successes,
        extra={
            "mean_steps": float(result.n_steps.mean()),
            "train_seconds": round(seconds, 1),
            "n_descriptions": agent.counts.n_nodes,
        },
    )
    print(f"{env_id} seed {seed}: {result}, {result.n_steps.mean():.1f} steps, {seconds:.0f} s")
    print(result.table(), flush=True)


def print_table() -> None:
    """All seeds of each level and budget together, beside what we aim at."""
    lines = [row for row in read("hard") if row["task"] == "missions"]
    for env_id, budget in sorted({(row["env"], row["budget"]) for row in lines}):
        rows = [row for row in lines if (row["env"], row["budget"]) == (env_id, budget)]
        solved = 100.0 * sum(row["successes"] for row in rows) / sum(row["n"] for row in rows)
        seeds = " ".join(f"{100.0 * row['successes'] / row['n']:.1f}" for row in rows)
        steps = np.mean([row["extra"]["mean_steps"] for row in rows])
        least = LEVELS.get(env_id.removeprefix("BabyAI-").removesuffix("-v0"))
        aim = "" if least is None else f" (at least {least:.0f} after 3M)"
        print(
            f"{env_id:26} {budget:>9,} steps  {solved:5.1f}%{aim}  seeds {seeds}  {steps:.0f} steps"
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = list(dict.fromkeys([*LEVELS, *LOCAL]))
    parser.add_argument("--levels", nargs="+", default=list(LEVELS), choices=known)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=200)
    parser.add_argument("--total-timesteps", type=int, default=3_000_000)
    parser.add_argument("--save", metavar="ZIP", help="such as runs/{level}-{seed}-{budget}.zip")
    parser.add_argument("--table", action="store_true", help="only print what is in the ledger")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    if not options.table:
        how = options.n_tasks, options.total_timesteps, options.save
        cells = [(level, seed, *how) for level in options.levels for seed in options.seeds]
        run_cells(run, cells, options)
    print_table()


if __name__ == "__main__":
    main()
