"""The documentation's table of other people's environments, from the raw results.

``python benchmarks/others_tables.py`` writes ``docs/others_tables.inc``: our agent with default
options beside SB3's learners, which were trained on the goals that are asked. A test holds the file
and the raw results together.
"""

from __future__ import annotations

from pathlib import Path

from comparison import list_table, rate
from defaults import SUITE as CASES
from ledger import RESULTS
from others import ENVS, PAPER, SUITE
from paper.results import Measured, Results, Source

FILE = Path(__file__).parents[1] / "docs" / "others_tables.inc"

RIVALS = {
    'ours, ``planner="paper"``': (PAPER,),
    "PPO + our bonus": ("ppo_count",),
    "PPO + RND": ("ppo_rnd",),
    "PPO": ("ppo", "ppo_sb3"),
    "DQN or SAC + HER": ("dqn_her", "dqn_her_sb3", "sac_her", "sac_her_sb3"),
}
"""Methods with our settings and with SB3's own; the best counts. Empty columns are left out."""

N_SEEDS = 3
"""Number of seeds of a complete cell."""


def find(results: Results, env: str, method: str) -> Measured | None:
    """A figure with the steps of our agent, or more."""
    suite = "defaults" if method == "ap" else SUITE
    return results.find(Source(suite, env, "asked", method, CASES[env].budget))


def best(results: Results, env: str, methods: tuple[str, ...]) -> Measured | None:
    """The better figure of several methods."""
    found = [one for method in methods if (one := find(results, env, method))]
    return max(found, key=lambda one: one.percent, default=None)


def render(results: Results) -> str:
    """The table, in reStructuredText."""
    measured = {
        name: methods
        for name, methods in RIVALS.items()
        if any(best(results, env, methods) for env in ENVS)
    }
    rows = [["environment, goal", "steps, ours and theirs", "minutes", "ours", *measured]]
    for env, goal in ENVS.items():
        ours = find(results, env, "ap")
        rivals = [best(results, env, methods) for methods in measured.values()]
        assert ours is not None  # the rivals are trained as long as ours
        lines = [line for one in rivals if one for line in one.lines]
        theirs = [line["extra"]["train_steps"] for line in lines]
        steps = (
            f"{_millions(CASES[env].budget)}, {_millions(min(theirs))} to {_millions(max(theirs))}"
        )
        given = [line["extra"]["our_seconds"] for line in lines if line["extra"].get("our_seconds")]
        minutes = sum(given) / len(given) / 60
        cells = [_cell(one) for one in (ours, *rivals)]
        rows.append([f"``{env}``, {goal}", steps, f"{minutes:.0f}", *cells])
    return list_table(rows)


def _millions(n_steps: int) -> str:
    return f"{n_steps / 1_000_000:.1f}M"


def _cell(figure: Measured | None) -> str:
    if figure is None:
        return "—"
    n_seeds = len(figure.seeds)
    return rate(figure) + ("" if n_seeds == N_SEEDS else f", {n_seeds} of {N_SEEDS} seeds")


def main() -> None:
    FILE.write_text(render(Results.read(RESULTS)))
    print(FILE)


if __name__ == "__main__":
    main()
