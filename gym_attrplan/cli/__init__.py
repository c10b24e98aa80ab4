"""The command line: ``attrplan demo | train | evaluate | plan | play | report | …``."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

import gymnasium as gym

from gym_attrplan.cli import check, demo, evaluate, plan, play, refine, report, train
from gym_attrplan.error import AttrPlanError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the answer is the exit status: 0, or 1 for a failure said in one line."""
    options = _parser().parse_args(arguments)
    try:
        _import_packages(getattr(options, "gym_packages", []))
        options.run(options)
    except (AttrPlanError, gym.error.Error, ImportError) as error:
        unknown = isinstance(error, gym.error.NameNotFound)
        remedy = " If a package registers it, add --gym-packages PACKAGE." if unknown else ""
        print(f"{type(error).__name__}: {error}{remedy}", file=sys.stderr)
        return 1
    return 0


def _import_packages(names: Sequence[str]) -> None:
    """Import modules that register environments, also from the folder one works in.

    That folder comes last on the path: a ``json.py`` in it must not stand in for Python's. It stays
    there, since the module that defines an environment is imported when one is made.
    """
    if names and "" not in sys.path:
        sys.path.append("")
    for name in names:
        importlib.import_module(name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attrplan", description="Agents that do what you ask, by planning over attributes."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, train, evaluate, plan, play, report, refine, check):
        command.add(commands)
    return parser
