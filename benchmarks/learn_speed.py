"""Training throughput with no option but a seed: ``python benchmarks/learn_speed.py``.

Steps per second of ``learn()``, on all cores, each in a process of its own and in turn:

- ``ap``: the agent as it is;
- ``ppo``: plain SB3 PPO on the same environments, with the agent's network, rollouts and epochs,
  and SB3's own Adam, which is not fused;
- ``before``: the agent of an earlier commit on 32 copies, as one had to make them then. Its tree is
  given by ``--before FOLDER``, such as ``git worktree add FOLDER a047dc8`` makes.

Prints the ratios of ``ap`` to the others, and appends them to suite ``learn_speed``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym

# Code that runs with an earlier commit imports only what that commit has.

N_STEPS = {"ap": 200_000, "ppo": 200_000, "before": 20_000}
ENVS = ("MiniGrid-DoorKey-8x8-v0", "Taxi-v4", "PointMaze_Medium-v3")
N_COPIES = 32


def copies(env_id: str) -> Any:
    """Environments one by one, with their ready attributes."""
    import minigrid
    from stable_baselines3.common.env_util import make_vec_env

    from gym_attrplan import AttributeWrapper

    gym.register_envs(minigrid)

    def make() -> Any:
        if not env_id.startswith("PointMaze"):
            return AttributeWrapper(gym.make(env_id))
        import gymnasium_robotics

        gym.register_envs(gymnasium_robotics)
        return AttributeWrapper(gym.wrappers.FilterObservation(gym.make(env_id), ["observation"]))

    return make_vec_env(make, N_COPIES)


def learner(method: str, env_id: str, seed: int = 0) -> Any:
    """The learner to measure; it has ``learn``."""
    from gym_attrplan import AttributePlannerAgent

    own = env_id.startswith("PointMaze") or method == "before"
    envs = copies(env_id) if own else env_id
    if method != "ppo":
        return AttributePlannerAgent("MultiInputPolicy", envs, seed=seed, device="cpu")
    from stable_baselines3 import PPO

    from gym_attrplan.agent.environments import as_vec_env, attribute_space
    from gym_attrplan.agent.low_level import change_defaults, defaults, policy_defaults

    venv = as_vec_env(envs)
    kwargs = policy_defaults(venv.observation_space, attribute_space(venv).value_names())
    options = {**defaults(PPO, venv), **change_defaults(PPO, venv), "policy_kwargs": kwargs}
    return PPO("MultiInputPolicy", venv, **options, seed=seed, device="cpu")


def measure(method: str, env_id: str) -> None:
    """Print the steps per second of one learner, made and warmed up before."""
    model = learner(method, env_id)
    model.learn(N_STEPS[method] // 10)
    start, before = time.perf_counter(), model.num_timesteps
    model.learn(N_STEPS[method], reset_num_timesteps=False)
    print("rate", (model.num_timesteps - before) / (time.perf_counter() - start))


def rate_of(method: str, env_id: str, tree: Path) -> float:
    """The same in a process of its own, with the package of a tree."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", method, "--envs", env_id]
    settings = {**os.environ, "PYTHONPATH": str(tree)}
    run = subprocess.run(command, env=settings, check=True, capture_output=True, text=True)
    return float(run.stdout.split("rate")[-1])


def main() -> None:
    """Measure the environments asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS))
    parser.add_argument("--before", type=Path, help="folder of an earlier commit")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--measure", choices=N_STEPS, help="print one rate and stop")
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.envs[0])
        return
    from ledger import append

    here = Path(__file__).resolve().parents[1]
    trees = {"ap": here, "ppo": here}
    if options.before:
        trees["before"] = options.before.resolve()
    for env_id in options.envs:
        rates: dict[str, list[float]] = {name: [] for name in trees}
        for _ in range(options.turns):
            for name, tree in trees.items():
                rates[name].append(rate_of(name, env_id, tree))
        for name, found in rates.items():
            rate = statistics.median(found)
            print(f"{env_id} {name:6} {rate:8,.0f} steps/s", flush=True)
            append("learn_speed", env=env_id, task="asked", method=name, value=rate, unit="steps/s")
            if name != "ap":
                ratio = statistics.median(a / b for a, b in zip(rates["ap"], found, strict=True))
                print(f"{env_id} ap is {ratio:.2f} × {name}", flush=True)
                key = {"env": env_id, "task": "asked", "method": f"ap/{name}"}
                append("learn_speed", **key, value=ratio, unit="ratio")


if __name__ == "__main__":
    main()
