"""``attrplan report``: write one page about an agent."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gym_attrplan.cli.arguments import add_env_arguments, add_goal_argument, at_least
from gym_attrplan.cli.trained import load_where_trained, make
from gym_attrplan.error import InvalidOption


def add(commands: Any) -> None:
    """Add the command."""
    report = commands.add_parser("report", help="write one page about an agent")
    report.add_argument("agent", type=Path, metavar="AGENT.zip", help="what train saved")
    report.add_argument("--out", type=Path, metavar="HTML", help="default: AGENT.html")
    add_env_arguments(report, needed=False)
    report.add_argument(
        "--n-tasks", type=at_least(1), default=200, help="tasks to give the agent; default: 200"
    )
    add_goal_argument(report)
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.report.agent_page import write_agent_report

    if options.agent.is_dir():
        raise InvalidOption(
            f"attrplan report needs the file of an agent; received the folder {options.agent}. A "
            "page of benchmark results is written by python benchmarks/paper_page.py, in a "
            "checkout of the repository."
        )
    agent, kwargs = load_where_trained(options.agent, options)
    draws = "rgb_array" in make(options.env, kwargs).metadata.get("render_modes", [])
    page = write_agent_report(
        agent,
        options.out or options.agent.with_suffix(".html"),
        env=as_vec_env(options.env, env_kwargs=kwargs),
        picture_env=make(options.env, {**kwargs, "render_mode": "rgb_array"}) if draws else None,
        name=options.agent.stem,
        n_tasks=options.n_tasks,
        goals=options.goal,
        seed=options.seed,
    )
    print(f"wrote {page}")
