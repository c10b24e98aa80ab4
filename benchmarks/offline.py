"""OGBench's light puzzles from logs alone: ``python benchmarks/offline.py --data FOLDER``.

A robot arm presses buttons; each press flips its light and those beside it. Needs ``pip install
ogbench==1.2.2``. The play data is made by the benchmark's own collector, ``generate_manipspace.py``
in OGBench's repository, as it is (it draws its own seeds)::

    python generate_manipspace.py --env_name=puzzle-4x4-v0 --save_path=FOLDER/puzzle-4x4-0.npz
        --num_episodes=100 --max_episode_steps=1001 --dataset_type=play

``FOLDER/puzzle-SIZE-SEED.npz`` is what the agent of that seed learns from. Lights are the
attributes, for ours and for the rival: goal-conditioned behaviour cloning, the same network told
the lights of a later state of the episode. Suite ``offline``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ledger import append

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent import cloning

SIZES = ("3x3", "4x4", "4x5", "4x6")
METHODS = ("ap", "gcbc")
N_TASKS = 5
FIRST_LIGHT, STRIDE = 20, 4
"""Where a button's light stands in an observation, and how many numbers a button has."""

MEAN_AHEAD = 100
"""How far ahead the rival's goals lie on average, in steps; at 0.99 a step, as in OGBench."""


def lights(env: Any, observation: Any) -> Any:
    """``(…, n_buttons)`` which lights are on, of one observation or of many."""
    return (np.asarray(observation)[..., FIRST_LIGHT::STRIDE] > 0.5).astype(np.int8)


def make_puzzle(size: str) -> gym.Env[Any, Any]:
    """The puzzle with its lights as attributes."""
    import ogbench

    env = ogbench.make_env_and_datasets(f"puzzle-{size}-play-v0", env_only=True)
    rows, columns = map(int, size.split("x"))
    return AttributeWrapper(env, [f"light {i}" for i in range(rows * columns)], lights)


def read_data(folder: Path, size: str, seed: int, n_steps: int) -> dict[str, Any]:
    """The first steps of a log, as whole episodes."""
    names = ("observations", "actions", "terminals")
    with np.load(folder / f"puzzle-{size}-{seed}.npz") as arrays:
        data = {name: arrays[name] for name in names}
    if len(data["terminals"]) < n_steps:
        raise SystemExit(f"the log of {size}, seed {seed}, has fewer than {n_steps:,} steps")
    last = np.flatnonzero(data["terminals"])
    n_rows = int(last[: max(1, round(n_steps * len(last) / len(data["terminals"])))][-1]) + 1
    return {name: array[:n_rows] for name, array in data.items()}


def imitate(agent: AttributePlannerAgent, data: dict[str, Any]) -> Any:
    """The rival: the same policy, told the lights of a later state instead of the next change."""
    log, hops = cloning.read_log(agent, data, lambda seen: lights(None, seen))
    rng = agent.rng
    end = np.flatnonzero(log.last)[np.searchsorted(np.flatnonzero(log.last), hops.step)]
    later = np.minimum(hops.step + rng.geometric(1.0 / MEAN_AHEAD, len(hops.step)), end)
    told = hops._replace(target=log.attributes[later], distance=np.ones(len(later), np.int64))
    learner = cloning.Cloning(agent.low_level.policy, log, told, rng=rng)
    for _ in range(learner.n_updates):
        learner.update()
    return agent.low_level


def solve(model: Any, env: gym.Env[Any, Any], task: int, seed: int) -> tuple[bool, int]:
    """One episode of one of the benchmark's tasks: whether it was solved, and its steps."""
    _, info = env.reset(seed=seed, options={"task_id": task})
    goal = lights(None, info["goal"])
    observation, info = env.reset(seed=seed, options={"task_id": task, "goal": goal})
    state, n_steps, over = None, 0, False
    while not over:
        begun = np.array([n_steps == 0])
        action, state = model.predict(observation, state, begun, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        n_steps, over = n_steps + 1, terminated or truncated
    return bool(info["success"]), n_steps


def run(args: argparse.Namespace, size: str, method: str, seed: int) -> None:
    """Learn from a log, try every task, and append a line for each."""
    torch.set_num_threads(1)
    env = make_puzzle(size)
    data = read_data(args.data, size, seed, args.n_steps)
    own = {} if method == "ap" else {"policy_kwargs": cloning.POLICY}
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=seed, device="cpu", **own)
    began = time.perf_counter()
    if method == "ap":
        model: Any = agent.learn_from(data, describe=lambda seen: lights(None, seen))
    else:
        model = imitate(agent, data)
    seconds = time.perf_counter() - began
    for task in range(1, N_TASKS + 1):
        seeds = [10_000 * seed + 100 * task + i for i in range(args.n_episodes)]
        solved, lengths = zip(*(solve(model, env, task, one) for one in seeds), strict=True)
        append(
            suite="offline",
            env=f"puzzle-{size}-play",
            task=f"task {task}",
            method=method,
            budget=args.n_steps,
            seed=seed,
            n=len(solved),
            successes=sum(solved),
            extra={"mean_steps": float(np.mean(lengths)), "train_seconds": round(seconds, 1)},
        )
        print(f"{size} {method} seed {seed} task {task}: {sum(solved)} of {len(solved)}")


def main() -> None:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of puzzle-SIZE-SEED.npz")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-steps", type=int, default=100_000, help="of the log to learn from")
    parser.add_argument("--n-episodes", type=int, default=20, help="of each of the five tasks")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", module="gymnasium")
    for size in args.sizes:
        for seed in args.seeds:
            for method in args.methods:
                run(args, size, method, seed)


if __name__ == "__main__":
    main()
