"""``attrplan plan``: print an agent's plan from a start to a goal."""

from __future__ import annotations

import argparse
from typing import Any

from gym_attrplan.cli.arguments import add_agent_argument, add_env_arguments
from gym_attrplan.cli.trained import make, trained_kwargs


def add(commands: Any) -> None:
    """Add the command."""
    plan = commands.add_parser("plan", help="print an agent's plan from a start to a goal")
    add_env_arguments(plan)
    add_agent_argument(plan)
    plan.add_argument("--goal", help="such as 'switch 1=red'; by default a task is drawn")
    plan.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.agent import AttributePlannerAgent

    agent = AttributePlannerAgent.load(options.agent)
    env = agent.extend(make(options.env, trained_kwargs(agent, options)))
    goal = {} if options.goal is None else {"goal": options.goal}
    observation, _ = env.reset(seed=options.seed, options=goal)
    plan = agent.plan(observation)
    wanted = agent.attribute_space.describe(observation["desired_goal"])
    print(f"goal: {wanted}")
    print("no plan: the goal is not in the explored graph" if plan is None else plan.describe())
