"""``attrplan evaluate``: give an agent tasks, and print what it solves."""

from __future__ import annotations

import argparse
from typing import Any

from gym_attrplan.cli.arguments import (
    add_agent_argument,
    add_env_arguments,
    add_goal_argument,
    at_least,
)
from gym_attrplan.cli.trained import trained_kwargs


def add(commands: Any) -> None:
    """Add the command."""
    evaluate = commands.add_parser("evaluate", help="give an agent tasks, print what it solves")
    add_env_arguments(evaluate)
    add_agent_argument(evaluate)
    evaluate.add_argument("--n-tasks", type=at_least(1), default=1_000)
    add_goal_argument(evaluate)
    evaluate.add_argument("--planner", nargs="+", help="robust, paper; default: the agent's own")
    evaluate.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.evaluation import evaluate_tasks

    agent = AttributePlannerAgent.load(options.agent)
    venv = as_vec_env(options.env, env_kwargs=trained_kwargs(agent, options))
    for planner in options.planner or [None]:
        if planner is not None:
            agent.set_planner(planner)
        result = evaluate_tasks(
            agent, venv, n_tasks=options.n_tasks, goals=options.goal, seed=options.seed
        )
        name = options.env if planner is None else f"{options.env} {planner}"
        print(f"{name}: {result}, {result.n_steps.mean():.1f} steps on average")
        print(result.table())
