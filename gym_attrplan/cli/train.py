"""``attrplan train``: train an agent and save it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from gym_attrplan.cli.arguments import add_env_arguments, at_least
from gym_attrplan.error import InvalidOption


def add(commands: Any) -> None:
    """Add the command."""
    train = commands.add_parser("train", help="train an agent and save it")
    add_env_arguments(train)
    train.add_argument("--total-timesteps", type=at_least(1))
    train.add_argument(
        "--n-envs",
        type=at_least(1),
        help="environments to train in; default: 64 if they are made as one batch, else 32",
    )
    train.add_argument(
        "--from-log",
        type=Path,
        metavar="NPZ",
        help="learn from recorded episodes first: observations, actions, terminals, attributes",
    )
    train.add_argument(
        "--practise",
        type=at_least(1),
        metavar="STEPS",
        help="hop and explore without learning, after all learning: a larger, surer graph",
    )
    train.add_argument(
        "--workers", type=at_least(0), default=0, help="Ray's workers that practise; 0: no Ray"
    )
    train.add_argument(
        "--ray", metavar="ADDRESS", help="cluster of the workers, host:port; default: this machine"
    )
    train.add_argument("--config", type=Path, metavar="YML", help="hyper-parameters by id")
    train.add_argument("--save", type=Path, default=Path("agent.zip"), metavar="ZIP")
    train.add_argument("--tensorboard-log", metavar="DIR")
    train.add_argument("--no-progress", action="store_true", help="show no bar")
    train.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from stable_baselines3.common.utils import configure_logger

    from gym_attrplan.agent import AttributePlannerAgent
    from gym_attrplan.agent.environments import as_vec_env
    from gym_attrplan.agent.remote.cluster import connect
    from gym_attrplan.agent.remote.practice import Rounds
    from gym_attrplan.agent.storage import check_target

    check_target(options.save)
    config = _read_config(options.config, options.env)
    total = options.total_timesteps or config.get("total_timesteps")
    if total is None and options.from_log is None and options.practise is None:
        raise InvalidOption(
            "say how long to train, --total-timesteps or in the config, or what from, --from-log, "
            "or how long to --practise."
        )
    _check_workers(options)
    venv = as_vec_env(
        options.env,
        n_envs=config.get("n_envs") if options.n_envs is None else options.n_envs,
        env_kwargs={**config.get("env_kwargs", {}), **(options.env_kwargs or {})},
    )
    agent = AttributePlannerAgent(
        config.get("policy", "MultiInputPolicy"),
        venv,
        seed=options.seed,
        verbose=1,
        **config.get("agent", {}),
    )
    if options.practise is not None:  # what cannot be done is said before training
        Rounds.checked(agent, options.practise)
        if options.workers:
            connect(options.ray, n_workers=options.workers)
    logs = options.tensorboard_log or agent.options.tensorboard_log
    if logs:  # to the folder alone: tables on the screen would tear the bars apart
        agent.set_logger(configure_logger(0, logs, "AttributePlanner"))
    try:
        _teach(agent, options, total, log_interval=1 if logs else None)
    except KeyboardInterrupt:
        print("interrupted; what was learned is kept", file=sys.stderr)
    agent.save(options.save)
    print(f"saved {options.save}")


def _check_workers(options: argparse.Namespace) -> None:
    if (options.workers or options.ray) and options.practise is None:
        raise InvalidOption("workers practise: say how long with --practise STEPS.")
    if options.ray and not options.workers:
        raise InvalidOption(f"say how many --workers practise on {options.ray}.")


def _teach(
    agent: Any, options: argparse.Namespace, total: int | None, *, log_interval: int | None
) -> None:
    """From a log, in the environment, and by practice, as far as each was asked for."""
    bar = not options.no_progress
    if options.from_log is not None:
        agent.learn_from(options.from_log, progress_bar=bar)
    if total is not None:
        agent.learn(int(total), progress_bar=bar, log_interval=log_interval)
    if options.practise is not None:
        agent.practise(
            options.practise,
            options.workers,
            address=options.ray,
            checkpoint=options.save,
            log_interval=log_interval,
            progress_bar=bar,
        )


def _read_config(path: Path | None, env_id: str) -> dict[str, Any]:
    """The part of a YAML file that belongs to the id."""
    if path is None:
        return {}
    try:
        table = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise InvalidOption(f"{path} cannot be read: {error}.") from error
    if not isinstance(table, dict) or env_id not in table:
        raise InvalidOption(f"{path} has no entry for {env_id}; it has {list(table or {})}.")
    known = {"total_timesteps", "n_envs", "env_kwargs", "policy", "agent"}
    unknown = set(table[env_id]) - known
    if unknown:
        raise InvalidOption(f"{path} says {sorted(unknown)}; an entry holds {sorted(known)}.")
    config: dict[str, Any] = table[env_id]
    return config
