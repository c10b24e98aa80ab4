"""``attrplan demo``: from nothing to goals nobody trained, in a few minutes, with pictures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import RandomModel, TaskResult, evaluate_tasks
from gym_attrplan.error import DependencyNotInstalled
from gym_attrplan.report.album import save_picture
from gym_attrplan.report.video import record_video, video_suffix

ENV_ID = "AttrSwitches-v0"
FARTHEST_GOAL = "targets==12"
"""Every switch has to be toggled three times."""


def run_demo(
    *,
    out: str | Path = "attrplan-demo",
    total_timesteps: int = 1_000_000,
    n_tasks: int = 200,
    n_envs: int = 512,
    seed: int = 0,
) -> dict[str, TaskResult]:
    """Train on the switches, plan for a goal 12 transitions away, and compare.

    Args:
        out: Folder for the agent, a video (MP4, or GIF without ffmpeg) and a picture of the graph.
        total_timesteps: Steps of training.
        n_tasks: Random full targets to solve.
        n_envs: Number of environments to train in at once.
        seed: Of everything.

    Returns:
        The results of the agent, of its hop policy without a plan, and of random actions.

    Raises:
        DependencyNotInstalled: If what draws the pictures is missing; nothing was trained then.
    """
    missing = [
        name
        for name in ("imageio", "matplotlib", "minigrid", "networkx")
        if find_spec(name) is None
    ]
    if missing:
        raise DependencyNotInstalled(
            f"the demo's environment and pictures need {', '.join(missing)}: "
            'pip install "gym_attrplan[minigrid,viz]".'
        )
    console, folder = Console(), Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    console.print(
        f"[bold]{ENV_ID}[/bold]: four switches of four colours, in a new room every episode. "
        "The agent is given no task: it explores, and learns to change one switch by one colour."
    )
    # Short episodes show the agent more rooms in as many steps. Hops go to whole descriptions, so
    # that the same policy can be sent straight to the goal, to show what planning adds.
    venv = as_vec_env(ENV_ID, n_envs=n_envs, env_kwargs={"max_episode_steps": 60})
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        venv,
        hops="neighbours",
        exploration_fraction=0.1,
        seed=seed,
        verbose=0,
    )
    agent.learn(total_timesteps, progress_bar=True)
    agent.save(folder / "agent.zip")
    _show_plan(agent, console, folder, seed)
    results = _compare(agent, n_tasks=n_tasks, seed=seed + 1)
    console.print(_table(results))
    console.print(
        f"The agent, a video of that journey and a picture of the graph are in {folder}/."
    )
    console.print(f"A page about this agent: attrplan report {folder / 'agent.zip'}")
    if find_spec("nicegui") is not None:
        console.print(f"To ask it for goals of your own: attrplan play {folder / 'agent.zip'}")
    return results


def _show_plan(agent: AttributePlannerAgent, console: Console, folder: Path, seed: int) -> None:
    """Plan for the farthest goal, act it out, and draw both."""
    env = gym.make(ENV_ID, task=FARTHEST_GOAL, render_mode="rgb_array")
    observation, _ = env.reset(seed=seed)
    plan = agent.plan(observation)
    if plan is None:
        console.print("The goal is not in the explored graph yet: train longer.")
        return
    console.print("\n[bold]A goal 12 transitions away, never trained:[/bold]")
    console.print(plan.describe(), highlight=False)
    start = observation["achieved_goal"]
    drawn = agent.plot_graph(observation["desired_goal"], start=start)
    save_picture(drawn, folder / "graph.png", title="The graph and the plan")
    video = record_video(agent, env, None, folder / f"journey{video_suffix()}", seed=seed)
    env.close()
    word = "reached" if video.solved else "not reached"
    console.print(f"Acted out: {word} after {video.n_steps} steps; see {video.path}.\n")


def _compare(agent: AttributePlannerAgent, *, n_tasks: int, seed: int) -> dict[str, TaskResult]:
    """The agent beside its own hop policy sent straight to the goal, and random actions."""
    venv = as_vec_env(ENV_ID, n_envs=min(n_tasks, 200))
    models: dict[str, Any] = {
        "agent": agent,
        "same policy without planning": agent.low_level,
        "random actions": RandomModel(venv, seed=seed),
    }
    return {
        name: evaluate_tasks(model, venv, n_tasks=n_tasks, seed=seed)
        for name, model in models.items()
    }


def _table(results: dict[str, TaskResult]) -> Table:
    table = Table("", "solved", "95% interval", "steps (median)", title="Random full targets")
    for name, result in results.items():
        low, high = result.interval
        steps = f"{np.median(result.n_steps):.0f}"
        table.add_row(name, f"{result.rate:.1%}", f"{low:.1%} to {high:.1%}", steps)
    return table
