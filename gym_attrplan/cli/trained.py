"""The environment of a command, and of an agent's training."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

from gym_attrplan.error import InvalidOption
from gym_attrplan.wrappers import with_attributes
from gym_attrplan.wrappers.offscreen import draw_off_screen


def make(env_id: str, kwargs: dict[str, Any] | None) -> gym.Env[Any, Any]:
    """Make an environment with its attributes; it can draw without a screen."""
    draw_off_screen()
    return with_attributes(gym.make(env_id, **kwargs or {}))


def load_where_trained(file: str | Path, options: argparse.Namespace) -> Any:
    """An agent, and what to make its environment with; ``--env`` is by default where it trained."""
    from gym_attrplan.agent import AttributePlannerAgent

    agent = AttributePlannerAgent.load(file)
    if options.env is None:
        if agent.trained_in is None:
            raise InvalidOption(
                f"{file} does not say in which environment it was trained: name it with --env "
                "ENV_ID."
            )
        options.env = agent.trained_in["id"]
    return agent, trained_kwargs(agent, options)


def trained_kwargs(agent: Any, options: argparse.Namespace) -> dict[str, Any]:
    """What to make an agent's environment with: as given, or as in training; said if it matters."""
    trained = agent.trained_in or {"id": options.env, "kwargs": {}}
    same = options.env == trained["id"]
    if options.env_kwargs is None and same:
        if trained["kwargs"]:
            said = json.dumps(trained["kwargs"])
            print(f"with the arguments of training: {said}", file=sys.stderr)
        return dict(trained["kwargs"])
    given = dict(options.env_kwargs or {})
    if not same or given != trained["kwargs"]:
        now, then = f"{options.env} {json.dumps(given)}", json.dumps(trained["kwargs"])
        print(f"trained in {trained['id']} {then}, now in {now}", file=sys.stderr)
    return given
