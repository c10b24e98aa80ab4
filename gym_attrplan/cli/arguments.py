"""Arguments that several commands have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def add_env_arguments(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """Add what says which environment, and how to make it."""
    alone = parser.prog.endswith(("check", "attributes"))
    name = ["env"] if alone else ["--env"]
    required: dict[str, Any] = {} if alone else {"required": needed}
    known = "an id of the registry" if needed else "default: where the agent was trained"
    parser.add_argument(*name, metavar="ENV_ID", help=known, **required)
    parser.add_argument(
        "--env-kwargs",
        type=json_object,
        metavar="JSON",
        help='such as {"size": 8}; default for a trained agent: those of its training',
    )
    parser.add_argument(
        "--gym-packages",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module to import first, so that it registers its environments; may be repeated",
    )
    parser.add_argument("--seed", type=at_least(0), default=0)


def add_agent_argument(parser: argparse.ArgumentParser) -> None:
    """Add the agent's file."""
    parser.add_argument("--agent", type=Path, required=True, metavar="ZIP", help="what train saved")


def add_goal_argument(parser: argparse.ArgumentParser) -> None:
    """Add the goals to ask for."""
    parser.add_argument(
        "--goal",
        action="append",
        metavar="GOAL",
        help="such as 'switch 1=red'; may be repeated; default: the environment's own tasks, or "
        "whatever the agent knows",
    )


def at_least(low: int) -> Callable[[str], int]:
    """A reader of whole numbers that refuses those below ``low``."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(f"a whole number, at least {low}; received {text!r}")
        return number

    return read


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; anything else is refused."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return value
