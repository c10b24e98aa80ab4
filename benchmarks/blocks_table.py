"""The block results as a table: ours beside the paper's, with intervals."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ledger import read
from paper.figures import BLOCK_TASKS, BLOCKS, BUDGETS, BY_EXAMPLES, paper_figure
from paper.results import Line, Measured
from paper.stage import SLACK
from rich.console import Console
from rich.markup import escape
from rich.table import Table

_BESIDE = ("inverse", "ap_no_cpi", "ap_paper")
"""The methods that are the paper's own."""


def print_table(env: str, budgets: list[int], suite: str = "blocks") -> None:
    """Print the results of one environment, one table for each budget."""
    lines: dict[Any, list[Line]] = defaultdict(list)
    for line in read(suite):
        if line["env"] == env and line["n"]:
            for budget in budgets:
                if budget <= line["budget"] <= SLACK * budget:
                    lines[budget, line["method"], line["task"]].append(line)
    cells = {key: Measured(tuple(own)) for key, own in lines.items()}
    console = Console(width=140)
    for budget in budgets:
        console.print(_table(cells, env, budget))


def _table(cells: dict[Any, Measured], env: str, budget: int) -> Table:
    table = Table(title=f"{escape(env)}, {budget:,} examples: success in %, 95% interval")
    for column in ("method", *BLOCK_TASKS):
        table.add_column(column)
    methods = dict.fromkeys(method for n, method, _ in cells if n == budget)
    for method in (method for method in methods if "detector" not in method):
        paper = [paper_figure(env, task, method) for task in BLOCK_TASKS]
        if method in _BESIDE and None not in paper and budget == BUDGETS.get(env, budget):
            table.add_row(f"{method} (paper's)", *(f"{value:g}" for value in paper))
        table.add_row(method, *(_cell(cells.get((budget, method, task))) for task in BLOCK_TASKS))
    wrong = {
        method: cells[budget, method, "full_set"] for method in methods if "detector" in method
    }
    errors = ", ".join(f"{m}: {100 - one.percent:.2f}%" for m, one in wrong.items())
    paper_env = env.partition("[")[0]
    figure = paper_figure(paper_env, "multi_step", "ap_paper")
    if paper_env == BLOCKS:
        figure = BY_EXAMPLES.get(budget, {}).get("ap_paper", (None, None))[1]
    about = [f"full-set error of the {errors}"] if errors else []
    about += [] if figure is None else [f"the paper's AP, multi-step: {figure}"]
    table.caption = "; ".join(about)
    return table


def _cell(measured: Measured | None) -> str:
    if measured is None:
        return ""
    low, high = measured.interval
    return f"{measured.percent:.1f} ({low:.1f}–{high:.1f})"
