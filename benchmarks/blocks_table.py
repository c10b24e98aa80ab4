"""The block results as a table: ours beside the paper's, with intervals."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ledger import read
from rich.console import Console
from rich.table import Table

from gym_attrplan.agent.evaluation import wilson_interval

TASKS = ("one_step", "multi_step", "four_stack", "one_step_70", "multi_step_70")
PAPER = {
    "inverse": (100, 9.1, 0.5, 98.8, 18.8),
    "ap_no_cpi": (74.5, 29.7, 62.2, 81.8, 28.1),
    "ap_paper": (98.8, 66.7, 98.5, 97.8, 63.5),
}
"""Success in percent with a million examples, by task."""

PAPER_BY_BUDGET = {10_000: 3.0, 100_000: 47.0, 1_000_000: 66.7, 10_000_000: 70.7}
"""Multi-step success of the paper's AP."""


def print_table(env: str, budgets: list[int], suite: str = "blocks") -> None:
    """What the results say of one environment, a table for each budget."""
    cells: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for line in read(suite):
        if line["env"] == env and line["n"]:
            cell = cells[line["budget"], line["method"], line["task"]]
            cell[0] += line["successes"]
            cell[1] += line["n"]
    console = Console(width=140)
    for budget in budgets:
        console.print(_table(cells, env, budget))


def _table(cells: dict[Any, list[int]], env: str, budget: int) -> Table:
    table = Table(title=f"{env}, {budget:,} examples: success in %, 95% interval")
    for column in ("method", *TASKS):
        table.add_column(column)
    methods = dict.fromkeys(method for n, method, _ in cells if n == budget)
    for method in (method for method in methods if "detector" not in method):
        if method in PAPER and budget == 1_000_000:
            table.add_row(f"{method} (paper's)", *(f"{value:g}" for value in PAPER[method]))
        table.add_row(method, *(_cell(cells.get((budget, method, task))) for task in TASKS))
    wrong = {
        method: cells[budget, method, "full_set"] for method in methods if "detector" in method
    }
    errors = ", ".join(f"{m}: {1 - s / n:.2%}" for m, (s, n) in wrong.items())
    table.caption = f"full-set error of the {errors}; the paper's AP, multi-step: " + str(
        PAPER_BY_BUDGET.get(budget, "not given")
    )
    return table


def _cell(counted: list[int] | None) -> str:
    if not counted:
        return ""
    low, high = wilson_interval(*counted)
    return f"{100 * counted[0] / counted[1]:.1f} ({100 * low:.1f}–{100 * high:.1f})"
