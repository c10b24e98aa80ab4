"""The cells of a benchmark, side by side: in processes here, or in Ray's workers anywhere.

A cell is one call of the benchmark's own function, which appends its lines to the ledger. In Ray's
workers the lines are handed back with the answer, and this process writes them: a cell whose worker
died is tried again, and leaves its lines once.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ledger
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gym_attrplan.agent.remote.batches import Workers
from gym_attrplan.agent.remote.cluster import connect

Lines = dict[str, str]

A_WEEK = 7 * 24 * 3600.0


def add_arguments(parser: argparse.ArgumentParser, *, jobs: int) -> None:
    """Add the options that say how cells are run."""
    parser.add_argument("--jobs", type=int, default=jobs, help="cells at a time")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run them in Ray's workers, of the cluster at host:port, or 'local'",
    )


class CellWorker:
    """Runs cells like the benchmark's own process, but returns the lines instead of writing them.

    Args:
        arguments: The benchmark's command line, which its lines name.
        folder: Where it was called.
        results: The ledger to read, if this machine has it.
        commit: The code that figures are measured with.
    """

    def __init__(self, arguments: list[str], folder: str, results: Path, commit: str) -> None:
        sys.argv = arguments
        if os.path.isdir(folder):
            os.chdir(folder)
        ledger.RESULTS = results
        os.environ["GIT_COMMIT"] = commit

    def is_ready(self) -> bool:
        """Whether the worker is ready."""
        return True

    def work(self, function: Callable[..., Any], cell: tuple[Any, ...]) -> tuple[Any, Lines]:
        """The function's result, and the lines that it appended, by file."""
        ledger.collected = lines = {}
        return function(*cell), lines


def run_cells(
    function: Callable[..., Any], cells: Sequence[tuple[Any, ...]], options: argparse.Namespace
) -> list[Any]:
    """Run the function for each cell and return the results."""
    if options.ray is None:
        with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
            return pool.starmap(function, cells, chunksize=1)
    n_workers = max(1, min(options.jobs, len(cells)))
    ray = connect(options.ray, n_workers=n_workers)
    actor = ray.remote(num_cpus=1)(CellWorker)
    about = (sys.argv, os.getcwd(), ledger.RESULTS.resolve(), ledger.commit())
    answers: dict[int, Any] = {}
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeRemainingColumn(), TextColumn("{task.fields[rate]}")]
    began, n_steps = time.monotonic(), 0
    with (
        Progress(*columns) as progress,
        Workers(ray, lambda: actor.remote(*about), n_workers, timeout=A_WEEK) as workers,
    ):
        bar = progress.add_task("cells", total=len(cells), rate="")
        for number, (answer, lines) in workers.run([(function, cell) for cell in cells]):
            ledger.add_lines(lines)
            answers[number] = answer
            n_steps += steps_of(lines)
            rate = f"{n_steps / (time.monotonic() - began):,.0f} steps/s"
            progress.update(bar, advance=1, rate=rate)
    return [answers[i] for i in range(len(cells))]


def steps_of(lines: Lines) -> int:
    """Training steps behind a cell's lines; several lines may be of one agent."""
    found = [json.loads(line) for text in lines.values() for line in text.splitlines()]
    return max((line["budget"] or 0 for line in found), default=0)
