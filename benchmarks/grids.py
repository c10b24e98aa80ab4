"""The grid worlds: train, then solve held-out tasks, beside the paper's figures.

``python benchmarks/grids.py`` trains three agents for each of ``AttrSwitches-v0`` and
``AttrCrafting-v0`` as ``benchmarks/configs/grids.yml`` says and gives each 1,000 tasks of at
most 300 steps; tasks that hold at the start are left out. One agent serves all planners.

``--agents`` saves the agents in files. The same command resumes: saved agents are not trained
again, and their results are not measured again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import yaml
from cells import add_arguments, run_cells
from ledger import append, measured_since, read
from paper.figures import paper_figure
from paper.results import Measured

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import PLANNERS, AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import RandomModel, evaluate_tasks

TASKS = {"AttrSwitches-v0": "targets", "AttrCrafting-v0": "items"}
METHODS = {
    "ap": PLANNERS["robust"],
    "ap_paper": PLANNERS["paper"],
    "ap_no_cpi": replace(PLANNERS["paper"], estimator="exploration_share"),
}
CONFIG = Path(__file__).parent / "configs" / "grids.yml"


def agent_for(env_id: str, seed: int, total: int, file: Path | None) -> AttributePlannerAgent:
    """The agent in the file, or a new one that is trained and saved there."""
    if file is not None and file.exists():
        kept: AttributePlannerAgent = AttributePlannerAgent.load(file, device="cpu")
        return kept
    config: dict[str, Any] = yaml.safe_load(CONFIG.read_text())[env_id]
    venv = as_vec_env(env_id, n_envs=config["n_envs"], env_kwargs=config["env_kwargs"])
    options = config["agent"]
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=seed, device="cpu", **options)
    agent.learn(total)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        agent.save(file)
    return agent


def run(
    env_id: str, seed: int, total_timesteps: int | None, n_tasks: int, template: str | None
) -> None:
    """Train one agent and evaluate it with every planner; each figure is a line of the ledger."""
    torch.set_num_threads(1)
    total = total_timesteps or yaml.safe_load(CONFIG.read_text())[env_id]["total_timesteps"]
    file = Path(template.format(env=env_id, seed=seed, budget=total)) if template else None
    agent = agent_for(env_id, seed, total, file)
    venv = as_vec_env(env_id, n_envs=min(250, n_tasks))
    models: dict[str, Any] = {**METHODS, "random": RandomModel(venv, seed=seed)}
    for method, model in models.items():
        key = {"env": env_id, "task": TASKS[env_id], "method": method, "seed": seed}
        key |= {"budget": total, "n": n_tasks}
        if file is not None and measured_since(file.stat().st_mtime, "grids", **key):
            continue
        if method in METHODS:
            agent.set_planner(model)
            model = agent
        result = evaluate_tasks(model, venv, n_tasks=n_tasks, seed=10_000 + seed)
        append(
            "grids",
            successes=result.successes,
            **key,
            extra={"mean_steps": float(result.n_steps.mean()), "edges": agent.counts.n_edges},
        )
        print(f"{env_id} seed {seed} {method}: {result}", flush=True)


def print_table() -> None:
    """All seeds of the newest budget together, beside the paper."""
    lines = [line for line in read("grids") if line["successes"] is not None]
    for env_id, task in TASKS.items():
        own = [line for line in lines if line["env"] == env_id and line["task"] == task]
        for method in [*METHODS, "random"]:
            rows = [line for line in own if line["method"] == method]
            if not rows:
                continue
            newest = max(rows, key=lambda line: line["date"])["budget"]
            found = Measured(tuple(row for row in rows if row["budget"] == newest))
            low, high = found.interval
            seeds = " ".join(f"{one:.1f}" for one in found.seeds.values())
            paper = paper_figure(env_id, task, "ap")
            print(
                f"{env_id:16} {method:10} {newest:>9,} steps  {found.percent:.2f}% "
                f"({low:.2f} to {high:.2f})  seeds {seeds}  paper {paper}%"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--total-timesteps", type=int, help="instead of the config's")
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument(
        "--agents", metavar="ZIP", help="their files, such as runs/{env}-{seed}-{budget}.zip"
    )
    add_arguments(parser, jobs=2)
    options = parser.parse_args()
    jobs = [
        (env_id, seed, options.total_timesteps, options.n_tasks, options.agents)
        for env_id in options.envs
        for seed in options.seeds
    ]
    run_cells(run, jobs, options)
    print_table()


if __name__ == "__main__":
    main()
