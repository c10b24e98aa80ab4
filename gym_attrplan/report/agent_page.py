"""``attrplan report AGENT.zip``: one page about one agent."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

import gym_attrplan
from gym_attrplan.agent.advice import on_exploring
from gym_attrplan.agent.environments import EnvLike, SpacesOnly, as_vec_env
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks, goals_to_ask
from gym_attrplan.attributes import GoalLike
from gym_attrplan.error import InvalidData, InvalidEnvironment
from gym_attrplan.graph import Plan
from gym_attrplan.report.agent_facts import MAX_LINES, HopTable, attribute_rows, result_lines
from gym_attrplan.report.calibration import Trials, try_edges
from gym_attrplan.report.graphs import graph_data
from gym_attrplan.report.page import TEMPLATES, Dots, write_page
from gym_attrplan.report.plots import plot_reliability
from gym_attrplan.report.svg import page_axes, to_svg
from gym_attrplan.report.video import record_video, video_suffix

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent

MIN_TASKS = 5
"""So many tasks of each goal, on average, tell goals apart."""

N_SHOWN = 12
"""Tasks among which to look for those whose plans are drawn, and for the one to film."""


@dataclass(frozen=True)
class Reliability:
    """Predictions beside what came of them, as the page shows them."""

    title: str
    about: str
    svg: str


def write_agent_report(
    agent: AttributePlannerAgent,
    out: str | Path,
    *,
    env: EnvLike | None = None,
    picture_env: gym.Env[Any, Any] | None = None,
    name: str = "An agent",
    n_tasks: int = 200,
    goals: list[GoalLike] | None = None,
    seed: int = 0,
) -> Path:
    """Give an agent tasks and hops to try, and write all that is known of it on one page.

    Args:
        agent: A trained agent; it learns nothing from this.
        out: The file to write.
        env: Environments to try it in, by default its own.
        picture_env: One of them with ``render_mode="rgb_array"``, for a video; None for no video.
        name: What to call the agent, such as its file.
        n_tasks: Tasks to give it; ten times as many hops are tried.
        goals: What to ask for; by default what the environments draw, or what the agent knows.
        seed: Of the environments and goals.

    Returns:
        The file written.

    Raises:
        InvalidEnvironment: If the agent was loaded without environments and none are given.
        InvalidGraph: If the agent knows no hop yet.
        InvalidGoal: If a goal does not belong to the attributes.
        DependencyNotInstalled: If Jinja2, matplotlib or imageio is missing.
    """
    venv = agent.env if env is None else as_vec_env(env)
    if isinstance(venv, SpacesOnly):
        raise InvalidEnvironment(
            "a report tries the agent out, and it was loaded without an environment: give one with "
            "env=..., or --env ENV_ID on the command line."
        )
    venv = agent.extend(venv)
    result = evaluate_tasks(agent, venv, n_tasks=n_tasks, goals=goals, seed=seed)
    wanted = goals_to_ask(agent, venv, goals, seed=seed)
    hops, planner = HopTable.of(agent), agent.graph
    plans = _plans_to_show(agent, venv, wanted)
    fresh = _try_hops(agent, venv, 10 * n_tasks, seed)
    assert result.promised is not None  # an agent's result has it
    whole = Trials(result.promised, result.solved)
    context = {
        "name": name,
        "agent": agent,
        "version": gym_attrplan.__version__,
        "result": result,
        "by_goal": result.by_goal(),
        "result_panels": _result_panels(result),
        "hops": hops,
        "planner": planner,
        "graph": graph_data(planner, "The graph and some plans", plans),
        "reliability": [
            *([] if fresh is None else [_reliability("single hops", fresh)]),
            _reliability("whole plans", whole),
        ],
        "calibration_error": whole.calibration_error,
        "missing": agent.find_missing(),
        "needless": agent.find_needless(),
        "attributes": attribute_rows(agent, hops),
        "problems": [*on_exploring(agent.counts), *agent.find_problems()],
        "video": _film(agent, picture_env, wanted, seed),
        "settings": _settings(agent),
    }
    return write_page(Path(out), TEMPLATES / "agent.html", context)


def _result_panels(result: TaskResult) -> list[tuple[str, list[Dots]]]:
    """Results by goal and by length of plan; first what has enough tasks to say something."""
    by_goal, by_hops = result.by_goal(), _named_by_hops(result)
    goals = ("hardest goals" if len(by_goal) > MAX_LINES else "by goal", result_lines(by_goal))
    hops = ("by hops of the plan", result_lines(by_hops, most=len(by_hops)))
    return [goals, hops] if result.n >= MIN_TASKS * len(by_goal) else [hops, goals]


def _named_by_hops(result: TaskResult) -> dict[str, TaskResult]:
    """``"2"`` → ``"2 hops"``."""
    words = {"1": "1 hop", "no plan": "no plan"}
    return {words.get(name, f"{name} hops"): one for name, one in result.by_hops().items()}


def _plans_to_show(
    agent: AttributePlannerAgent, venv: VecEnv, wanted: npt.NDArray[Any] | None
) -> dict[str, Plan]:
    """A long, a middling and a short plan, by the words of their goals."""
    observations: Any = venv.reset()
    starts, goals = observations["achieved_goal"], observations["desired_goal"]
    if wanted is not None:
        goals = wanted[np.arange(max(len(starts), len(wanted))) % len(wanted)]
        starts = starts[np.arange(len(goals)) % len(starts)]
    found: dict[str, Plan] = {}
    for start, goal in zip(starts[:N_SHOWN], goals[:N_SHOWN], strict=True):
        plan = agent.navigator.plan(start, goal)
        if plan is not None and len(plan):
            found[agent.attribute_space.describe(goal)] = plan
    by_length = sorted(found.items(), key=lambda item: -len(item[1]))
    places = sorted({0, len(by_length) // 2, len(by_length) - 1}) if by_length else []
    return dict(by_length[i] for i in places)


def _try_hops(
    agent: AttributePlannerAgent, venv: VecEnv, n_attempts: int, seed: int
) -> Trials | None:
    """Fresh attempts at single hops; None if no hop was met that the agent knows."""
    try:
        return try_edges(agent, venv, n_attempts=n_attempts, seed=seed)
    except InvalidData:
        return None


def _reliability(title: str, trials: Trials) -> Reliability:
    ax = plot_reliability(trials, ax=page_axes(4.4, 4.4))
    about = f"{len(trials):,} attempts, calibration error {trials.calibration_error:.3f}"
    ax.set_title("")
    ax.collections[-1].set_gid("bins")
    tips = [
        f"predicted {one.predicted:.2f}\nachieved {one.achieved:.2f}, 95% interval {one.low:.2f} "
        f"to {one.high:.2f}\n{one.n:,} attempts"
        for one in trials.bins()
    ]
    return Reliability(title, about, to_svg(ax, f"{title}: predicted and achieved", {"bins": tips}))


def _film(
    agent: AttributePlannerAgent,
    env: gym.Env[Any, Any] | None,
    wanted: npt.NDArray[Any] | None,
    seed: int,
) -> dict[str, Any] | str:
    """A video of a task whose plan is of middling length, or why there is none."""
    if env is None:
        return 'its environment draws no pictures (render_mode="rgb_array").'
    env, tasks = agent.extend(env), []
    for i in range(seed, seed + N_SHOWN):
        goal = None if wanted is None else wanted[i % len(wanted)]
        observation, _ = env.reset(seed=i, options={} if goal is None else {"goal": goal})
        asked = observation["desired_goal"]
        plan = agent.navigator.plan(observation["achieved_goal"], asked)
        if plan is not None and len(plan):
            tasks.append((len(plan), i, goal, plan))
    if not tasks:
        return "no task was drawn that the agent has a plan for."
    _, chosen, goal, plan = sorted(tasks, key=lambda task: task[:2])[len(tasks) // 2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"video{video_suffix()}"
        try:
            video = record_video(agent, env, goal, file, seed=chosen)
        except gym.error.DependencyNotInstalled as error:  # of ours, or what the environment needs
            return str(error)
        return {**asdict(video), "address": video.address, "kind": video.kind, "plan": plan}


def _settings(agent: AttributePlannerAgent) -> dict[str, str]:
    """How the agent was made, as names and values."""
    options = {key: value for key, value in agent.options.to_json().items() if value is not None}
    planner = asdict(agent.planner_options)
    return {key: str(value) for key, value in {**options, **planner}.items()}
