"""The command line: ``attrplan check``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from gym_attrplan.error import AttrPlanError
from gym_attrplan.wrappers import check_attribute_env


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status: 0, 1 for a failure said in one line."""
    options = _parser().parse_args(arguments)
    try:
        for package in options.gym_packages:
            importlib.import_module(package)
        options.run(options)
    except (AttrPlanError, gym.error.Error, ImportError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attrplan", description="Agents that do what you ask, by planning over attributes."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="hold an attribute environment to its contract")
    _add_env_arguments(check)
    check.set_defaults(run=_check)
    return parser


def _add_env_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("env", metavar="ENV_ID", help="an id of the Gymnasium registry")
    parser.add_argument(
        "--env-kwargs", type=_json_object, default={}, metavar="JSON", help='{"size": 8}'
    )
    parser.add_argument(
        "--gym-packages",
        nargs="+",
        default=[],
        metavar="MODULE",
        help="modules to import first, so that they register their environments",
    )
    parser.add_argument("--seed", type=int, default=0)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"not a JSON object: {text}")
    return value


def _check(options: argparse.Namespace) -> None:
    env = gym.make(options.env, **options.env_kwargs)
    check_attribute_env(env, seed=options.seed)
    space = env.get_wrapper_attr("attribute_space")
    print(f"{options.env}: {len(space)} attributes, every promise kept.")
