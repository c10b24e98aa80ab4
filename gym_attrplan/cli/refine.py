"""``attrplan refine``: add the attributes that an agent's own lack."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path
from typing import Any

from gym_attrplan.cli.arguments import add_env_arguments, at_least
from gym_attrplan.cli.trained import load_where_trained


def add(commands: Any) -> None:
    """Add the command."""
    refine = commands.add_parser("refine", help="add the attributes that an agent's own lack")
    refine.add_argument("agent", type=Path, metavar="AGENT.zip", help="what train saved")
    add_env_arguments(refine, needed=False)
    refine.add_argument(
        "--n-new", type=at_least(1), default=1, help="attributes to add at most; default: 1"
    )
    refine.add_argument(
        "--total-timesteps",
        type=at_least(1),
        help="steps of training for each; default: a fifth of those so far, for all together",
    )
    refine.add_argument("--n-tasks", type=at_least(1), default=400, help="default: 400")
    refine.add_argument(
        "--ask", action="store_true", help="show each finding, and ask for a name or none"
    )
    refine.add_argument(
        "--drop", action="store_true", help="plan without attributes that do not matter"
    )
    refine.add_argument("--save", type=Path, metavar="ZIP", help="default: AGENT.zip itself")
    refine.add_argument("--no-progress", action="store_true", help="show no bar")
    refine.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.storage import check_target

    target = check_target(options.save or options.agent)
    agent, kwargs = load_where_trained(options.agent, options)
    agent.set_env(as_vec_env(options.env, n_envs=agent.options.n_envs, env_kwargs=kwargs))
    tried = agent.refine(
        options.n_new,
        options.total_timesteps,
        n_tasks=options.n_tasks,
        ask=partial(_ask, folder=target.parent) if options.ask else None,
        drop=options.drop,
        progress_bar=not options.no_progress,
    )
    for one in tried:
        print(one)
    if not any(one.kept for one in tried):
        print("nothing was changed")
        return
    agent.save(target)
    print(f"saved {target}")


def _ask(missing: Any, *, folder: Path) -> str | None:
    """Show a finding, with a picture of its states, and return the name that is typed."""
    from gym_attrplan.report.album import save_picture
    from gym_attrplan.report.states import draw_states

    print(missing)
    ax = draw_states(missing)
    if ax is not None:
        file = folder / f"missing-{re.sub(r'[^a-z0-9]+', '-', missing.asked.lower())}.png"
        save_picture(ax, file, title=str(missing))
        print(f"states of both kinds: {file}")
    try:
        name = input(f"name for {missing.asked!r}, or nothing to leave it out: ").strip()
    except EOFError:
        return None
    return name or None
