"""``attrplan play``: a page to pick goals on and watch an agent."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gym_attrplan.cli.arguments import add_env_arguments, at_least
from gym_attrplan.cli.trained import load_where_trained
from gym_attrplan.error import InvalidOption


def add(commands: Any) -> None:
    """Add the command."""
    play = commands.add_parser("play", help="a page to pick goals on and watch an agent")
    play.add_argument(
        "what", metavar="AGENT.zip|ENV_ID", help="what train saved, or an id to train in first"
    )
    add_env_arguments(play, needed=False)
    play.add_argument(
        "--with", dest="other", type=Path, metavar="ZIP", help="a second agent, to compare with"
    )
    play.add_argument(
        "--total-timesteps",
        type=at_least(1),
        default=500_000,
        help="steps of training, where an id is given; default: 500,000",
    )
    play.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine alone")
    play.add_argument("--port", type=at_least(1), default=8080, help="default: 8080")
    play.add_argument("--no-show", action="store_true", help="open no browser")
    play.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.report.play.server import check_page, serve

    check_page(options.host, options.port)
    is_agent = options.what.endswith(".zip") or Path(options.what).is_file()
    lobby = _agent_to_play(options) if is_agent else _training_to_play(options)
    serve(lobby, host=options.host, port=options.port, show=not options.no_show)


def _agent_to_play(options: argparse.Namespace) -> Any:
    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.report.play.lobby import Lobby
    from gym_attrplan.report.play.setup import Setup

    agent, kwargs = load_where_trained(options.what, options)
    others = {}
    if options.other is not None:
        others[options.other.name] = AttributePlannerAgent.load(options.other)
    return Lobby(Setup.of(agent, options.env, kwargs, others=others))


def _training_to_play(options: argparse.Namespace) -> Any:
    from gym_attrplan.report.play.lobby import Lobby
    from gym_attrplan.report.play.quick_training import QuickTraining
    from gym_attrplan.report.play.setup import make_drawn

    if options.env is not None or options.other is not None:
        raise InvalidOption(
            f"--env and --with belong to an agent's file; received the id {options.what!r}. Train "
            "and save an agent first: attrplan train."
        )
    kwargs = options.env_kwargs or {}
    make_drawn(options.what, kwargs).close()  # what cannot be made is said before the page opens
    training = QuickTraining(
        options.what, kwargs, total_timesteps=options.total_timesteps, seed=options.seed
    )
    training.start()
    return Lobby(training)
