"""Learning curves: success on the test tasks against environment steps, ours among them.

``python benchmarks/baselines.py --points 10 …`` evaluates while it trains, our agent too
(``--algo ap``); ``python benchmarks/curves.py`` then draws a figure for each environment. On blocks
our agent is fitted at the end, so its points are trainings of their own.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from ledger import RESULTS, append, read
from paper.results import nominal
from rivals_envs import CASES, Cell, evaluate
from stable_baselines3.common.callbacks import BaseCallback

SUITE = "curves"
N_TASKS = {True: 250, False: 50}
"""Number of tasks at each point, by whether the environment is batched; others simulate physics."""

FITTED = {
    "AttrBlocks-v0": ("blocks", "from images"),
    "AttrBlocksContinuous-v0": ("blocks_continuous", "from positions"),
}
"""Environments where our agent is fitted once, at the end of training: the suite whose budgets are
the points of the curve, and what the agent sees."""


class Checkpoints(BaseCallback):
    """Tests a learner at evenly spaced moments of its training and appends the results.

    Args:
        cell: What is trained.
        n_points: Number of moments, the last one at the end.
        n_tasks: Number of tasks at each moment; by default :data:`N_TASKS`.
    """

    def __init__(self, cell: Cell, n_points: int, *, n_tasks: int | None = None) -> None:
        super().__init__()
        self._cell, self._n_tasks = cell, n_tasks or N_TASKS[cell.case.batched]
        self._moments = np.linspace(0, cell.budget, n_points + 1)[1:].tolist()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        # Between rollouts, since a policy must not be tested during a step of its environments.
        if self._moments and self.num_timesteps >= self._moments[0]:
            self._test(int(self._moments[0]))
            self._moments = [one for one in self._moments if one > self.num_timesteps]

    def _on_training_end(self) -> None:
        if self._moments:
            self._test(self._cell.budget)
            self._moments = []

    def _test(self, moment: int) -> None:
        cell, model = self._cell, self.model
        if cell.regime == "one_step":  # our agent's hop policy, without the planner
            model = getattr(model, "low_level", model)
        task = cell.case.task + cell.suffix
        result = evaluate(model, cell, task, n_tasks=self._n_tasks, seed=30_000 + cell.seed)
        extra = {**result.pop("extra"), "moment": moment, "steps": self.num_timesteps}
        # The moment is part of the task's name: it tells the lines of one training apart.
        key: dict[str, Any] = {"env": cell.env, "task": f"{task}@{moment}", "method": cell.method}
        append(SUITE, **key, budget=cell.budget, seed=cell.seed, extra=extra, **result)


def curves(env: str, budget: int | None = None) -> dict[str, np.ndarray]:
    """For each method ``(n_points, 4)``: steps, and mean, minimum and maximum success over seeds.

    Args:
        env: Which environment.
        budget: Total steps of the trainings; by default each method's largest.
    """
    # By seed: a training that was cut short and run again has its earlier moments twice.
    points: dict[str, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for method, moment, line in (*_while_training(env, budget), *_fitted(env)):
        points[method][moment][line["seed"]] = line["successes"] / line["n"]
    rates = {
        method: [(moment, [*own.values()]) for moment, own in sorted(by.items())]
        for method, by in points.items()
    }
    return {
        method: np.array([(moment, np.mean(own), min(own), max(own)) for moment, own in rows])
        for method, rows in rates.items()
    }


def _while_training(env: str, budget: int | None) -> list[tuple[str, int, dict[str, Any]]]:
    own = f"{CASES[env].task}@"
    lines = [one for one in read(SUITE) if one["env"] == env and one["task"].startswith(own)]
    longest: dict[str, int] = {}
    for line in lines:
        longest[line["method"]] = max(line["budget"], longest.get(line["method"], 0))
    return [
        (line["method"], line["extra"]["moment"], line)
        for line in lines
        if line["budget"] == (nominal(budget) or longest[line["method"]])
    ]


def _fitted(env: str) -> list[tuple[str, int, dict[str, Any]]]:
    if env not in FITTED:
        return []
    suite, seen = FITTED[env]
    return [
        (f"{line['method']}, {seen}", line["budget"], line)
        for line in read(suite)
        if line["env"] == env
        and line["task"] == CASES[env].task
        and line["method"] in ("ap", "inverse")
    ]


def plot(env: str, folder: Path, budget: int | None = None) -> Path | None:
    """Draw an environment's curves; None if there are no lines."""
    import matplotlib.pyplot as plt

    found = curves(env, budget)
    if not found:
        return None
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for method, rows in sorted(found.items(), key=lambda one: -one[1][-1, 1]):
        ours = method.split(",")[0] == "ap"
        steps, mean, least, most = rows.T
        style = {"linewidth": 3 if ours else 1.3, "marker": "o" if "," in method else None}
        (line,) = axes.plot(steps, 100 * mean, label=method, **style)
        axes.fill_between(steps, 100 * least, 100 * most, color=line.get_color(), alpha=0.15)
    axes.set(xlabel="environment steps", ylabel="test tasks solved, %", ylim=(0, 101), title=env)
    if env in FITTED:  # budgets grow tenfold
        axes.set_xscale("log")
    axes.legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{env}.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--budget", type=int, help="of the trainings; default: each's largest")
    parser.add_argument("--folder", type=Path, default=RESULTS / "curves")
    options = parser.parse_args()
    for env in options.env:
        print(plot(env, options.folder, options.budget) or f"{env}: no lines")


if __name__ == "__main__":
    main()
