"""Pictures of trained agents for the report: a graph with plans, and episodes side by side.

``python benchmarks/pictures.py graph --agent ZIP --out DIR`` draws what an agent of
``AttrSwitches-v0`` has explored, with plans. ``strip`` shows an agent of ``AttrBlocks-v0`` and a
rival, such as the A2C that ``baselines.py --agents`` keeps, at the same task. ``stuck`` shows the
agent with the paper's planner, which tries hops that are impossible from the state, and with
ours. Both show the first task that tells the two apart and say how many each has solved till then.
``missing`` shows the states that the first finding of ``find_missing`` tells apart, of an agent of
MiniGrid.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import matplotlib as mpl
import matplotlib.pyplot as plt
from blocks_errors import is_possible
from stable_baselines3 import A2C

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributePlannerAgent
from gym_attrplan.report import (
    Episode,
    film_strip,
    record_episode,
    save_graph,
    save_picture,
)
from gym_attrplan.report.states import draw_states

N_TRIED = 100
"""Number of tasks to try until one of two agents solves it and the other does not."""

STUCK = 20
"""Number of actions, of an episode's 40, spent on impossible hops for it to count as stuck."""


class Witness:
    """Acts as an agent does and counts its hops that no action could make from the state.

    Args:
        agent: The agent that acts.
        env: Its block world.
    """

    def __init__(self, agent: AttributePlannerAgent, env: gym.Env) -> None:
        self.agent, self.env = agent, env
        self.n_impossible = 0

    def predict(self, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        """The agent's actions."""
        actions, state = self.agent.predict(*arguments, **options)
        if not state.lost[0]:
            self.n_impossible += not is_possible(self.env.unwrapped.state, state.targets[0])
        return actions, state


def draw_graph(agent: AttributePlannerAgent, out: Path) -> None:
    """The switches' graph with plans for tasks that take 4, 8 and 12 hops."""
    tasks = []
    for n_hops in (4, 8, 12):
        env = gym.make("AttrSwitches-v0", task=f"targets=={n_hops}")
        observation, _ = env.reset(seed=n_hops)
        tasks.append((observation["achieved_goal"], observation["desired_goal"]))
    title = "Switches: what was explored, with plans of 4, 8 and 12 hops"
    save_graph(agent, out / "switches.graph.json", title=title, tasks=tasks)
    plan = agent.plan(observation)
    assert plan is not None  # save_graph has found one
    caption = f"{len(plan.vectors) - 1} hops, of which none was trained with this goal in mind."
    save_picture(plan.plot(), out / "plan.png", title="A plan", caption=caption)


def draw_apart(
    file: Path,
    title: str,
    watch: Callable[[int], dict[str, Episode]],
    *,
    winner: str,
    caption: str = "",
    accept: Callable[[], bool] = lambda: True,
) -> None:
    """Two ways at the same task, of which one fails.

    Args:
        file: The picture to write.
        title: What it shows.
        watch: Gives the episodes of a task, by the names of the ways.
        winner: The way that solves it.
        caption: What to say first.
        accept: Whether the task watched last will do.
    """
    solved: dict[str, int] = {}
    for seed in range(N_TRIED):
        episodes = watch(seed)
        for name, episode in episodes.items():
            solved[name] = solved.get(name, 0) + episode.solved
        if [name for name, one in episodes.items() if one.solved] == [winner] and accept():
            break
    else:
        raise SystemExit(f"{title}: {N_TRIED} tasks do not tell them apart, solved: {solved}")
    figure, axes = plt.subplots(
        len(episodes), figsize=(14, 2.4 * len(episodes)), layout="constrained"
    )
    for ax, (name, episode) in zip(axes, episodes.items(), strict=True):
        film_strip(episode.frames, episode.titles, ax=ax)
        ax.set_title(f"{name}, {episode.n_steps} actions", loc="left")
    counts = ", ".join(f"{name} {n}" for name, n in solved.items())
    until = f"The first such task; of the {seed + 1} till then were solved: {counts}."
    holds = [one for one in episodes[winner].goal.split(", ") if not one.startswith("not ")]
    goal = f"The goal: {', '.join(holds)}, and nothing else."
    save_picture(axes[0], file, title=title, caption=f"{caption} {until} {goal}".strip())
    plt.close(figure)


def draw_strip(agent: AttributePlannerAgent, rival: A2C, out: Path) -> None:
    env = block_world()

    def watch(seed: int) -> dict[str, Episode]:
        ways = {"AP": agent, "A2C": rival}
        return {name: record_episode(one, env, seed=seed) for name, one in ways.items()}

    agent.set_planner("robust")
    draw_apart(out / "strip.png", "AP beside A2C at the same task", watch, winner="AP")


def draw_stuck(agent: AttributePlannerAgent, out: Path) -> None:
    env, witnesses = block_world(), {}

    def watch(seed: int) -> dict[str, Episode]:
        episodes = {}
        for name, planner in (("the paper's planner", "paper"), ("our default", "robust")):
            agent.set_planner(planner)
            witnesses[name] = Witness(agent, env)
            episodes[name] = record_episode(witnesses[name], env, seed=seed)
        return episodes

    draw_apart(
        out / "stuck.png",
        "A plan stuck by aliasing, and the same start solved",
        watch,
        winner="our default",
        caption=f"At least {STUCK} actions of the paper's planner were meant for a hop that worked "
        "from other states with the same attributes, but that no action can make from this one.",
        accept=lambda: witnesses["the paper's planner"].n_impossible >= STUCK,
    )


def draw_missing(agent: AttributePlannerAgent, out: Path) -> None:
    """States that the first finding tells apart."""
    found = agent.find_missing()
    ax = draw_states(found[0]) if found else None
    if ax is None:
        print("nothing is missing, or the states are no views of MiniGrid")
        return
    save_picture(ax, out / "missing.png", title=str(found[0]))
    print(found[0])


def block_world() -> gym.Env:
    return gym.make("AttrBlocks-v0", obs_type="state", task="multi_step", render_mode="rgb_array")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=["graph", "strip", "stuck", "missing"])
    parser.add_argument("--agent", type=Path, required=True, metavar="ZIP")
    parser.add_argument("--rival", type=Path, metavar="ZIP", help="an A2C, for strip")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    mpl.use("Agg")
    agent = AttributePlannerAgent.load(options.agent, device="cpu")
    if "graph" in options.kinds:
        draw_graph(agent, options.out)
    if "strip" in options.kinds:
        if options.rival is None:
            parser.error("strip needs --rival, the file of an A2C")
        draw_strip(agent, A2C.load(options.rival, device="cpu"), options.out)
    if "stuck" in options.kinds:
        draw_stuck(agent, options.out)
    if "missing" in options.kinds:
        draw_missing(agent, options.out)


if __name__ == "__main__":
    main()
