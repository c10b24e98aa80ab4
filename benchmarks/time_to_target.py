"""Wall-clock time until an agent reaches the target: ``python benchmarks/time_to_target.py``.

Trains with no option but a seed, on all cores, and gives 200 tasks after every 20,000 steps (or
``--every``), while the clock stands still, until as many are solved as ``defaults.py`` promises.
Suite ``learn_speed``, task ``to target``: seconds, or none where the time was up. ``ppo`` is plain
SB3 PPO on the same environments, asked for the same goals, with the agent's network, rollouts and
epochs.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from defaults import SUITE
from learn_speed import learner
from ledger import append
from stable_baselines3.common.callbacks import BaseCallback

from gym_attrplan.agent.evaluation import asking_for, evaluate_tasks, goals_to_ask

ENVS = ("MiniGrid-DoorKey-8x8-v0", "MiniGrid-KeyCorridorS3R3-v0")
METHODS = ("ap", "ppo")
N_TASKS = 200


class Watch(BaseCallback):
    """Tests at intervals, and ends the training at the target or when time is up.

    Args:
        env_id: Of the suite.
        seed: Of the tasks.
        max_seconds: Time limit of training; there is at least one test.
        every: Number of steps between two tests.

    Attributes:
        goals: What is asked for; None for the environment's own tasks.
        rates: Steps, seconds and the share of tasks solved, of each test.
    """

    def __init__(self, env_id: str, seed: int, max_seconds: float, every: int) -> None:
        super().__init__()
        case = SUITE[env_id]
        self._tests, self._least = case.make_envs(env_id, n_envs=20), case.least / 100.0
        self.goals = None if case.goals is None else case.goals(self._tests)
        self._seed, self._max_seconds, self._every = seed, max_seconds, every
        self.rates: list[tuple[int, float, float]] = []

    def _on_training_start(self) -> None:
        self._start = time.perf_counter()

    def _on_step(self) -> bool:
        seconds = time.perf_counter() - self._start
        if self.num_timesteps >= self._every * (len(self.rates) + 1):
            seed = 10_000 * (self._seed + 1) + len(self.rates)
            result = evaluate_tasks(
                self.model, self._tests, n_tasks=N_TASKS, goals=self.goals, seed=seed
            )
            self.rates.append((self.num_timesteps, round(seconds, 1), result.rate))
            print(f"  {self.num_timesteps:,} steps, {seconds:.0f} s: {result}", flush=True)
            self._start = time.perf_counter() - seconds
        return not self.rates or not (self.reached or seconds >= self._max_seconds)

    @property
    def reached(self) -> bool:
        """Whether the last test was good enough."""
        return bool(self.rates) and self.rates[-1][2] >= self._least


def run(env_id: str, method: str, seed: int, max_seconds: float, every: int) -> None:
    """Train until the target is reached, print the time and keep it."""
    watch = Watch(env_id, seed, max_seconds, every)
    model: Any = learner(method, env_id, seed)
    venv = model.get_env()
    goals = None if method == "ap" else goals_to_ask(None, venv, watch.goals, seed=seed)
    with asking_for(venv, goals):
        model.learn(100_000_000, callback=watch)
    n_steps, seconds, rate = watch.rates[-1]
    value = seconds if watch.reached else None
    print(f"{env_id} {method} seed {seed}: {seconds:.0f} s, {n_steps:,} steps, {100 * rate:.1f}%")
    append(
        "learn_speed",
        env=env_id,
        task="to target",
        method=method,
        seed=seed,
        value=value,
        unit="s",
        extra={
            "steps": n_steps,
            "seconds": seconds,
            "rate": rate,
            "max_seconds": max_seconds,
            "every": every,
        },
    )


def main() -> None:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--max-seconds", type=float, default=1_200.0)
    parser.add_argument("--every", type=int, default=20_000, help="steps between two tests")
    options = parser.parse_args()
    for env_id in options.envs:
        for method in options.methods:
            for seed in options.seeds:
                run(env_id, method, seed, options.max_seconds, options.every)


if __name__ == "__main__":
    main()
