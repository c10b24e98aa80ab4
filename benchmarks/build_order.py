"""The build order: explore, learn to hop and plan for counts of units, beside the paper's figures.

``python benchmarks/build_order.py`` trains agents as ``benchmarks/configs/build_order.yml`` says,
two seeds of each version, exploring with the bonus and at random, and gives each 1,000 tasks of at
most 500 steps with either planner. ``--quick`` takes less than three minutes.

``--agents`` saves the agents in files, and the same command resumes their training. With
``--time-limit`` training stops in time; the exit status is 75 if it is unfinished.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
import yaml
from cells import add_arguments, run_cells
from ledger import append, is_measured, read
from paper.figures import EDGES, paper_figure
from paper.results import Results, Source
from rich.console import Console
from rich.table import Table
from stable_baselines3.common.callbacks import BaseCallback

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import PLANNERS, AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import evaluate_tasks

SUITE = "build_order"
ENVS = {"small": "AttrBuildOrder-v0", "large": "AttrBuildOrderLarge-v0"}
CONFIG = Path(__file__).parent / "configs" / "build_order.yml"
EXPLORATIONS = ("count_bonus", "random")
METHODS = {"ap": PLANNERS["robust"], "ap_paper": PLANNERS["paper"]}

N_ENVS = 250

ROWS = (
    "ap",
    "ap_paper",
    "ap/random_exploration",
    "ap_paper/random_exploration",
    "reinforce/test_tasks",
    "reinforce/curriculum",
)


@dataclass(frozen=True)
class Cell:
    """One training."""

    version: str
    exploration: str
    seed: int
    budget: int

    @property
    def env(self) -> str:
        """The environment's id."""
        return ENVS[self.version]

    @property
    def key(self) -> dict[str, Any]:
        """Its key in the results."""
        return {"env": self.env, "budget": self.budget, "seed": self.seed}

    def method(self, name: str) -> str:
        """The name in the results of one of :data:`METHODS`."""
        return name if self.exploration == "count_bonus" else f"{name}/random_exploration"


class Watch(BaseCallback):
    """Records the edges found by exploring, saves at intervals and stops in time.

    Args:
        cell: What is trained.
        file: Where to save; None for nowhere.
        save_every: Number of steps between two saves.
        deadline: When to stop, in the unit of ``time.time()``.
    """

    model: Any

    def __init__(self, cell: Cell, file: Path | None, save_every: int, deadline: float) -> None:
        super().__init__()
        self._cell, self._file, self._deadline = cell, file, deadline
        self._save_every = save_every
        self._explored = (0, 0)

    def _on_training_start(self) -> None:
        agent = self.model
        self._explored = agent.counts.n_edges, agent.counts.n_nodes
        self._exploring = not agent.steps_done["hop"]
        self._resumed = agent.num_timesteps > 0
        self._next_save = agent.num_timesteps + self._save_every

    def _on_step(self) -> bool:
        agent = self.model
        if self._exploring and agent.steps_done["hop"]:
            self._exploring = False
            self._note_explored()
        if self._exploring:
            self._explored = agent.counts.n_edges, agent.counts.n_nodes
        if self._file is not None and agent.num_timesteps >= self._next_save:
            self._next_save += self._save_every
            agent.save(self._file)
        return time.time() < self._deadline

    def _note_explored(self) -> None:
        cell, (n_edges, n_nodes) = self._cell, self._explored
        known = is_measured(SUITE, task="edges", method=cell.exploration, **cell.key)
        if self._resumed and known:
            return  # by a run that was killed before it saved its first hops
        append(
            SUITE,
            task="edges",
            method=cell.exploration,
            value=n_edges,
            unit="edges",
            extra={"explore_steps": self.model.steps_done["explore"], "nodes": n_nodes},
            **cell.key,
        )
        print(f"{cell}: exploring found {n_edges:,} edges", flush=True)


def agent_for(cell: Cell, file: Path | None, device: str) -> AttributePlannerAgent:
    """The agent in the file, or a new one if there is no file."""
    config: dict[str, Any] = yaml.safe_load(CONFIG.read_text())[cell.env]
    venv = as_vec_env(cell.env, n_envs=config["n_envs"])
    if file is not None and file.exists():
        n_done = AttributePlannerAgent.load(file, device="cpu").num_timesteps
        # Another seed, or random actions would repeat what they have done before.
        seed = cell.seed + n_done
        agent: AttributePlannerAgent = AttributePlannerAgent.load(
            file, env=venv, device=device, seed=seed
        )
        return agent
    options = {**config["agent"], "exploration": cell.exploration}
    return AttributePlannerAgent(config["policy"], venv, seed=cell.seed, device=device, **options)


def run(
    cell: Cell, template: str | None, save_every: int, deadline: float, n_tasks: int, device: str
) -> bool:
    """Train an agent and evaluate it with both planners; False if time was up before the end."""
    torch.set_num_threads(2 if device == "cuda" else 1)
    if time.time() > deadline:
        return False
    file = Path(template.format(**asdict(cell))) if template else None
    agent = agent_for(cell, file, device)
    start, n_before = time.perf_counter(), agent.num_timesteps
    if n_before < cell.budget:
        watch = Watch(cell, file, save_every, deadline)
        agent.learn(cell.budget - n_before, callback=watch, reset_num_timesteps=False)
        speed = (agent.num_timesteps - n_before) / (time.perf_counter() - start)
        print(f"{cell}: {agent.num_timesteps:,} steps, {speed:,.0f} a second", flush=True)
        if file is not None:
            agent.save(file)
    if agent.num_timesteps < cell.budget:
        return False
    for name, planner in METHODS.items():
        method = cell.method(name)
        known = is_measured(SUITE, task="counts", method=method, n=n_tasks, **cell.key)
        if n_before < cell.budget or not known:
            agent.set_planner(planner)
            measure(agent, cell, method, n_tasks)
    return True


def measure(agent: AttributePlannerAgent, cell: Cell, method: str, n_tasks: int) -> None:
    """Evaluate the agent and append the result."""
    venv = as_vec_env(cell.env, n_envs=min(N_ENVS, n_tasks))
    result = evaluate_tasks(agent, venv, n_tasks=n_tasks, seed=20_000 + 1_000 * cell.seed)
    key = cell.key
    source = Source(SUITE, cell.env, "edges", cell.exploration, cell.budget)
    explored = [one for one in Results(read(SUITE)).select(source) if one["seed"] == cell.seed]
    extra = {
        "version": cell.version,
        "explore_steps": agent.steps_done["explore"],
        "hop_steps": agent.steps_done["hop"],
        "edges_explored": explored[0]["value"] if explored else None,
        "edges": agent.counts.n_edges,
        "nodes": agent.counts.n_nodes,
        "mean_steps": round(float(result.n_steps.mean()), 1),
    }
    successes = result.successes
    append(SUITE, task="counts", method=method, n=n_tasks, successes=successes, extra=extra, **key)
    print(f"{cell} {method}: {result}", flush=True)


def print_table(budget: int) -> None:
    """Print the results of one budget."""
    results = Results(line for suite in (SUITE, "baselines") for line in read(suite))
    console = Console(width=120)
    for env in ENVS.values():
        console.print(_success(results, env, budget))
    console.print(_edges(results, budget))


def _success(results: Results, env: str, budget: int) -> Table:
    table = Table(title=f"{env}, {budget:,} steps: tasks solved in %")
    for column in ("method", "paper, 30M", "ours", "95% interval", "seeds"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method in ROWS:
        paper, cells = paper_figure(env, "counts", method), ["", "", ""]
        found = results.find(Source(None, env, "counts", method, budget))
        if found:
            low, high = found.interval
            seeds = " ".join(f"{one:.1f}" for one in found.seeds.values())
            cells = [f"{found.percent:.1f}", f"{low:.1f} to {high:.1f}", seeds]
        table.add_row(method, "" if paper is None else f"{paper:g}", *cells)
    return table


def _edges(results: Results, budget: int) -> Table:
    table = Table(title=f"{budget:,} steps: edges found by exploring, means over seeds")
    for column in ("version", "", "random", "bonus", "bonus / random"):
        table.add_column(column, justify="right")
    for version, env in ENVS.items():
        ways = ("random", "count_bonus")
        table.add_row(version, "paper", *_ratio(*(EDGES[env].get(way) for way in ways)))
        found = [results.find(Source(SUITE, env, "edges", way, budget)) for way in ways]
        table.add_row("", "ours", *_ratio(*(one and one.value for one in found)))
    return table


def _ratio(random: float | None, bonus: float | None) -> list[str]:
    ratio = f"{bonus / random:.1f}" if random and bonus else ""
    return [*("" if value is None else f"{value:,.0f}" for value in (random, bonus)), ratio]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", nargs="+", choices=ENVS, default=list(ENVS))
    parser.add_argument("--explorations", nargs="+", choices=EXPLORATIONS, default=EXPLORATIONS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--budget", type=int, default=3_000_000, help="steps, exploring included")
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--quick", action="store_true", help="small, one seed, few steps and tasks")
    parser.add_argument(
        "--agents",
        metavar="ZIP",
        help="their files, such as runs/build-order-{version}-{exploration}-{seed}-{budget}.zip",
    )
    parser.add_argument("--save-every", type=int, default=1_000_000, help="steps")
    parser.add_argument("--time-limit", type=float, default=float("inf"), help="of training, in s")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    add_arguments(parser, jobs=2)
    options = parser.parse_args()
    if options.quick:
        options.versions, options.seeds = ["small"], [0]
        options.budget, options.n_tasks = 600_000, 200
    if options.device == "auto":
        options.device = "cuda" if torch.cuda.is_available() else "cpu"
    deadline = time.time() + options.time_limit
    how = options.agents, options.save_every, deadline, options.n_tasks, options.device
    chosen = product(options.versions, options.explorations, options.seeds)
    jobs = [(Cell(*which, options.budget), *how) for which in chosen]
    finished = run_cells(run, jobs, options)
    print_table(options.budget)
    if not all(finished):
        print(f"unfinished agents: {finished.count(False)}; run the same command to resume.")
        sys.exit(os.EX_TEMPFAIL)


if __name__ == "__main__":
    main()
