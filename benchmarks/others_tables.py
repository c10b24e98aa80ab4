"""The documentation's tables of other people's environments, from the raw results.

``python benchmarks/others_tables.py`` writes ``docs/others_tables.inc``: our agent beside SB3's
learners on the task of each environment, and the other goals that our agent was given. A test holds
the file and the raw results together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from comparison import list_table, rate
from ledger import RESULTS
from paper.results import Measured, Results, Source

FILE = Path(__file__).parents[1] / "docs" / "others_tables.inc"

RIVALS = {
    "PPO": ("ppo", "ppo_short", "ppo_sb3"),
    "DQN + HER": ("dqn_her", "dqn_her_sb3"),
    "SAC + HER": ("sac_her", "sac_her_sb3"),
}
"""Methods with our settings and with SB3's own; the best counts."""


@dataclass(frozen=True)
class Case:
    """A row: environment, task, kind of observation, our steps and the rivals' steps."""

    env: str
    task: str
    seen: str
    budget: int
    rivals_budget: int


CASES = (
    Case("MiniGrid-DoorKey-8x8-v0", "``at_goal``", "the partial 7×7 view", 1_000_000, 1_000_000),
    Case("MiniGrid-KeyCorridorS3R3-v0", "``carrying=ball``", "the whole grid", 300_000, 1_000_000),
    Case("Taxi-v4", "passenger anywhere", "the state's number", 500_000, 500_000),
    Case("PointMaze_Medium-v3", "any open cell", "place and velocity", 1_000_000, 1_000_000),
)


def find(results: Results, case: Case, method: str, task: str = "task") -> Measured | None:
    """A figure with the row's steps."""
    budget = case.budget if method == "ap" else case.rivals_budget
    return results.find(Source("others", case.env, task, method, budget))


def best(results: Results, case: Case, methods: tuple[str, ...]) -> Measured | None:
    """The better figure of several methods."""
    found = [one for method in methods if (one := find(results, case, method))]
    return max(found, key=lambda one: one.percent, default=None)


def render(results: Results) -> str:
    """Both tables, in reStructuredText."""
    return "\n".join([_tasks(results), _other_goals(results)])


def _tasks(results: Results) -> str:
    rows = [["environment", "asked for", "seen by all", "steps, ours and theirs", "ours", *RIVALS]]
    for case in CASES:
        ours = find(results, case, "ap")
        rivals = [best(results, case, methods) for methods in RIVALS.values()]
        cells = [rate(one) if one else "—" for one in (ours, *rivals)]
        if ours and (timed := rivals[-1]):  # SAC's limit is time, not steps
            cells[-1] += f" in {_seconds(timed)}, ours {_seconds(ours)}"
        steps = f"{case.budget:,}, {case.rivals_budget:,}"
        rows.append([f"``{case.env}``", case.task, case.seen, steps, *cells])
    return list_table(rows)


def _seconds(figure: Measured) -> str:
    """How long the runs of a figure were trained."""
    times = [line["extra"]["train_seconds"] for line in figure.lines]
    return f"{min(times):.0f} to {max(times):.0f} s"


def _other_goals(results: Results) -> str:
    rows = [["environment", "steps", "goal", "ours", "mean steps"]]
    for case in CASES:
        asked = results.select(Source("others", case.env, None, "ap", case.budget))
        for task in dict.fromkeys(line["task"] for line in asked if line["task"] != "task"):
            figure = find(results, case, "ap", task)
            assert figure is not None
            steps = [line["extra"]["mean_steps"] for line in figure.lines]
            goal = task.removeprefix("goal: ")
            mean = f"{sum(steps) / len(steps):.1f}"
            trained = f"{case.budget:,}"
            rows.append([f"``{case.env}``", trained, f"``{goal}``", rate(figure), mean])
    return list_table(rows)


def main() -> None:
    FILE.write_text(render(Results.read(RESULTS)))
    print(FILE)


if __name__ == "__main__":
    main()
