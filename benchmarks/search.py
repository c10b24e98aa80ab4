"""A small search for settings, the same for every learner and for ours; its results are kept.

``python benchmarks/search.py --env AttrSwitches-v0 --algo ppo --regime curriculum`` trains six
variants of a learner's settings, three learning rates by two values of what keeps it exploring, on
one seed and a small budget, and tests them on tasks that no other benchmark draws. The ledger
(suite ``search``) keeps all of them; the best of each learner goes into ``configs/`` by hand.
"""

from __future__ import annotations

import argparse
import inspect
from itertools import product
from typing import Any

import torch
from cells import add_arguments, run_cells
from ledger import append, read
from rivals import ALGORITHMS, LEARNERS, WITHOUT_REGIME, read_config, train
from rivals_envs import BY_STATE, CASES, REGIMES, Cell, evaluate, make_envs, read_settings
from rivals_inverse import FIT
from stable_baselines3 import DQN, PPO, SAC

from gym_attrplan.agent.low_level import defaults
from gym_attrplan.error import InvalidEnvironment, InvalidOption

SUITE = "search"
SEED = 100
"""The training seed; no published figure has it."""

RATES = (1 / 3, 1.0, 3.0)
SECOND = (1.0, 3.0)
"""Factors on the learning rate, and on the second setting."""


def second_setting(algo: str) -> str:
    """What is varied besides the learning rate: how much a learner explores, or repeats."""
    if algo == "inverse":
        return "updates"
    algorithm = ALGORITHMS.get(algo, PPO)
    return {DQN: "exploration_final_eps", SAC: "gradient_steps"}.get(algorithm, "ent_coef")


def base_settings(cell: Cell) -> dict[str, Any]:
    """A learner's settings before any variation: configured, our defaults, or SB3's."""
    names = ("learning_rate", second_setting(cell.algo))
    if cell.algo == "inverse":
        return {name: FIT[name] for name in names}
    case = cell.case
    algorithm = ALGORITHMS.get(cell.algo, PPO)
    if cell.algo == "ap":
        assert case.agent_config is not None
        settings = read_settings(case.agent_config, cell.env_id)
        config = {**settings, **settings.get("agent", {}).get("low_level_kwargs", {})}
    else:
        config = read_config(cell.algo, cell.env_id, cell.regime)
    venv = make_envs(cell, case.task, config.get("n_envs", 64) if case.batched else 1)
    signature = inspect.signature(algorithm.__init__).parameters
    known = {name: one.default for name, one in signature.items()}
    known = {**known, **defaults(algorithm, venv), **config}
    return {name: known[name] for name in names}


def variants(cell: Cell) -> list[dict[str, Any]]:
    """Six settings, the configured one among them."""
    base = base_settings(cell)
    found = []
    for factors in product(RATES, SECOND):
        pairs = zip(base.items(), factors, strict=True)
        found.append({name: type(value)(value * factor) for (name, value), factor in pairs})
    return found


def name_of(cell: Cell, settings: dict[str, Any]) -> str:
    """A variant's name in the ledger."""
    parts = [f"{name}={one:.4g}" for name, one in settings.items()]
    if cell.algo in ALGORITHMS:  # other settings that matter, though they are not varied here
        parts.append(f"n_envs={read_config(cell.algo, cell.env_id, cell.regime)['n_envs']}")
    return f"{cell.method}[{','.join(parts)}]"


def run(cell: Cell, settings: dict[str, Any], n_tasks: int, device: str) -> None:
    """Train one variant and test it on the test task's kind of tasks."""
    torch.set_num_threads(1)
    key: dict[str, Any] = {"env": cell.env, "budget": cell.budget, "seed": cell.seed}
    key |= {"task": cell.case.task, "method": name_of(cell, settings)}
    about = {"learner": cell.method, "settings": settings}
    try:
        model = train(cell, device=device, overrides=settings)
    except (InvalidEnvironment, InvalidOption) as error:
        append(SUITE, extra={**about, "cannot": str(error)}, **key)
        return
    result = evaluate(model, cell, key["task"], n_tasks=n_tasks, seed=50_000)
    extra = {**about, **result.pop("extra"), "steps": getattr(model, "num_timesteps", cell.budget)}
    append(SUITE, extra=extra, **key, **result)
    print(f"{cell.env} {key['method']}: {result['successes'] / result['n']:.1%}", flush=True)


def print_best(envs: list[str]) -> None:
    """Print the variants of every learner, best first."""
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for line in read(SUITE):
        if line["env"] in envs and line["n"]:
            group = line["env"], line["extra"]["learner"], line["budget"]
            groups.setdefault(group, []).append(line)
    for (env, learner, budget), lines in sorted(groups.items()):
        print(f"{env} {learner}, {budget:,} steps")
        if len({line["successes"] / line["n"] for line in lines}) == 1 < len(lines):
            # For example, our agent without a plan acts as in exploration, whatever its hop policy.
            print("  all variants are equal: this budget or these tasks tell nothing about them")
        for line in sorted(lines, key=lambda one: -one["successes"] / one["n"]):
            print(
                f"  {line['successes'] / line['n']:6.1%}  {line['method'].partition('[')[2][:-1]}"
            )


def _is_tuned(algo: str, env: str) -> bool:
    """Whether a learner has settings to tune in an environment."""
    if algo == "ap":
        return CASES[env].agent_config is not None  # None on blocks: blocks.py has the settings
    return "Blocks" in env if algo == "inverse" else bool(read_config(algo, env, ""))


def jobs_of(options: argparse.Namespace) -> list[tuple[Any, ...]]:
    """The cells that were asked for and are not in the ledger."""
    done = {(line["env"], line["method"], line["budget"]) for line in read(SUITE)}
    jobs = []
    for env, algo in product(options.env, options.algo):
        if not _is_tuned(algo, env):
            continue
        regimes = [""] if algo in WITHOUT_REGIME else options.regime
        if algo == "inverse":  # its examples have no order
            regimes = [one if one != "curriculum" else "test_tasks" for one in regimes]
        for regime in dict.fromkeys(regimes):
            cell = Cell(env, algo, regime, options.budget, SEED)
            jobs += [
                (cell, settings, options.n_tasks, options.device)
                for settings in variants(cell)
                if (env, name_of(cell, settings), cell.budget) not in done
            ]
    return jobs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    learners = [name for name in LEARNERS if name != "random"]
    parser.add_argument("--env", nargs="+", choices=BY_STATE, default=BY_STATE)
    parser.add_argument("--algo", nargs="+", choices=learners, default=learners)
    parser.add_argument("--regime", nargs="+", choices=REGIMES, default=["curriculum"])
    parser.add_argument("--budget", type=int, default=500_000)
    parser.add_argument("--n-tasks", type=int, default=250)
    parser.add_argument("--device", default="cpu")
    add_arguments(parser, jobs=1)
    parser.add_argument("--show", action="store_true", help="only print what is in the ledger")
    options = parser.parse_args()
    if not options.show:
        run_cells(run, jobs_of(options), options)
    print_best(options.env)


if __name__ == "__main__":
    main()
