"""``attrplan check`` and ``attrplan attributes``: look at an attribute environment."""

from __future__ import annotations

import argparse
from typing import Any

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.cli.arguments import add_env_arguments
from gym_attrplan.cli.trained import make
from gym_attrplan.wrappers import check_attribute_env


def add(commands: Any) -> None:
    """Add both commands."""
    for name, run, words in (
        ("check", _check, "hold an attribute environment to its contract"),
        ("attributes", _attributes, "list an environment's attributes"),
    ):
        command = commands.add_parser(name, help=words)
        add_env_arguments(command)
        command.set_defaults(run=run)


def _check(options: argparse.Namespace) -> None:
    env = make(options.env, options.env_kwargs)
    check_attribute_env(env, seed=options.seed)
    space = env.get_wrapper_attr("attribute_space")
    print(f"{options.env}: {len(space)} attributes, every promise kept.")


def _attributes(options: argparse.Namespace) -> None:
    env = make(options.env, options.env_kwargs)
    _, info = env.reset(seed=options.seed)
    space: AttributeSpace = env.get_wrapper_attr("attribute_space")
    for name, value in space.decode(info["attributes"]).items():
        print(f"{name}: {value} of {space.values_of(name)}")
