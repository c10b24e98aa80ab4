"""``attrplan demo``: train, plan and compare, with pictures."""

from __future__ import annotations

import argparse
from typing import Any

from gym_attrplan.cli.arguments import at_least


def add(commands: Any) -> None:
    """Add the command."""
    demo = commands.add_parser("demo", help="train, plan and compare, with pictures")
    demo.add_argument("--out", default="attrplan-demo", metavar="DIR")
    demo.add_argument("--total-timesteps", type=at_least(1), default=1_000_000)
    demo.add_argument("--seed", type=at_least(0), default=0)
    demo.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from gym_attrplan.report.demo import run_demo

    run_demo(out=options.out, total_timesteps=options.total_timesteps, seed=options.seed)
