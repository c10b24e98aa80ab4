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
"""With our settings and with SB3's own; the best counts."""


@dataclass(frozen=True)
class World:
    """A row: which environment, asked for what, seen how, with how many steps, ours and theirs."""

    env: str
    task: str
    seen: str
    budget: int
    rivals_budget: int


WORLDS = (
    World("MiniGrid-DoorKey-8x8-v0", "``at_goal``", "the partial 7×7 view", 1_000_000, 1_000_000),
    World("MiniGrid-KeyCorridorS3R3-v0", "``carrying=ball``", "the whole grid", 300_000, 1_000_000),
    World("Taxi-v4", "passenger anywhere", "the state's number", 500_000, 500_000),
    World("PointMaze_Medium-v3", "any open cell", "place and velocity", 1_000_000, 1_000_000),
)


def find(results: Results, world: World, method: str, task: str = "task") -> Measured | None:
    """A figure with the row's steps."""
    budget = world.budget if method == "ap" else world.rivals_budget
    return results.find(Source("others", world.env, task, method, budget))


def best(results: Results, world: World, methods: tuple[str, ...]) -> Measured | None:
    """The better figure of several methods."""
    found = [one for method in methods if (one := find(results, world, method))]
    return max(found, key=lambda one: one.percent, default=None)


def render(results: Results) -> str:
    """Both tables, in reStructuredText."""
    return "\n".join([_tasks(results), _other_goals(results)])


def _tasks(results: Results) -> str:
    rows = [["environment", "asked for", "seen by all", "steps, ours and theirs", "ours", *RIVALS]]
    for world in WORLDS:
        ours = find(results, world, "ap")
        rivals = [best(results, world, methods) for methods in RIVALS.values()]
        cells = [rate(one) if one else "—" for one in (ours, *rivals)]
        if ours and (timed := rivals[-1]):  # SAC's limit is time, not steps
            cells[-1] += f" in {_seconds(timed)}, ours {_seconds(ours)}"
        steps = f"{world.budget:,}, {world.rivals_budget:,}"
        rows.append([f"``{world.env}``", world.task, world.seen, steps, *cells])
    return list_table(rows)


def _seconds(figure: Measured) -> str:
    """How long the runs of a figure were trained."""
    times = [line["extra"]["train_seconds"] for line in figure.lines]
    return f"{min(times):.0f} to {max(times):.0f} s"


def _other_goals(results: Results) -> str:
    rows = [["environment", "steps", "goal", "ours", "mean steps"]]
    for world in WORLDS:
        asked = results.select(Source("others", world.env, None, "ap", world.budget))
        for task in dict.fromkeys(line["task"] for line in asked if line["task"] != "task"):
            figure = find(results, world, "ap", task)
            assert figure is not None
            steps = [line["extra"]["mean_steps"] for line in figure.lines]
            goal = task.removeprefix("goal: ")
            mean = f"{sum(steps) / len(steps):.1f}"
            trained = f"{world.budget:,}"
            rows.append([f"``{world.env}``", trained, f"``{goal}``", rate(figure), mean])
    return list_table(rows)


def main() -> None:
    FILE.write_text(render(Results.read(RESULTS)))
    print(FILE)


if __name__ == "__main__":
    main()
