"""The benchmarks behind every table of the paper, one after the other, and a page of the results.

``python benchmarks/reproduce.py`` runs them all with small budgets, in about 45 minutes on two
cores; ``python benchmarks/reproduce.py grids --scale full --out runs/full`` runs the grid worlds
with the paper's budgets. Stop it in any way: the same command resumes.

Each stage is a script of ``benchmarks/`` in a process of its own. What it measures are lines in a
folder. A stage whose lines are all there is done, and is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch
from paper import keeper
from paper.results import Line, Results
from paper.stage import Stage
from paper.stages import PARTS, SCALES, stages_of
from paper_page import write_report
from rich.console import Console
from rich.live import Live
from rich.table import Table
from torch import nn

from gym_attrplan.agent.remote.cluster import connect
from gym_attrplan.error import AttrPlanError, InvalidOption

BENCHMARKS = Path(__file__).resolve().parent
LOOK_EVERY = 1.0
"""Seconds between two looks at what a stage has left behind."""

REFERENCE = 0.37
"""Seconds that :func:`slowness` measured on the machine of the stages' costs."""

PATIENCE = 5.0
"""Seconds to wait for a folder that somebody else writes to."""

N_SEEDS = {"quick": 1, "full": 3}


@dataclass
class Progress:
    """How far a stage is.

    Args:
        stage: Which.
        cost: Seconds it takes here, from nothing.
        n_lines: Lines and files it promises.
        n_missing: Those that are not there yet.
        state: In a word or two.
        spent: Seconds.
        has_ended: Whether it will not be run any more.
    """

    stage: Stage
    cost: float
    n_lines: int
    n_missing: int
    state: str = ""
    spent: float = 0.0
    has_ended: bool = False
    _missing_at_start: int = field(init=False)

    def __post_init__(self) -> None:
        self._missing_at_start = self.n_missing

    @property
    def is_done(self) -> bool:
        """Whether everything it promises is there."""
        return self.n_missing == 0

    @property
    def left(self) -> float:
        """Seconds that it will still take, by the cost of what was missing at the start."""
        if self.is_done or self.has_ended:
            return 0.0
        return max(self.cost * self._missing_at_start / self.n_lines - self.spent, 0.0)


class Reproduction:
    """Runs stages until all they promise is in a folder.

    Args:
        stages: What to run, in order.
        out: The folder of results; logs, agents and pictures go to folders in it.
        seeds: How many, from 0 on.
        benchmarks: The folder of the scripts.
        ray: The cluster whose workers run the cells, if any does.
        console: Where to show what happens.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        out: Path,
        *,
        seeds: int,
        benchmarks: Path,
        ray: str | None = None,
        console: Console | None = None,
    ) -> None:
        if seeds < 1:
            raise InvalidOption(f"at least one seed is needed; received {seeds}.")
        self.out, self.seeds = out.resolve(), range(seeds)
        self.benchmarks, self.console = benchmarks, console or Console()
        self.n_jobs = _processors(ray)
        self.ray = ray
        lines = self._lines()
        self.rows = [
            Progress(
                stage,
                cost=cost_here(stage, seeds, self.n_jobs),
                n_lines=stage.count(self.seeds),
                n_missing=stage.missing(lines, self.out, self.seeds),
            )
            for stage in stages
        ]

    def run(self) -> list[str]:
        """Run the stages that are not done, and return the names of those that failed."""
        (self.out / "logs").mkdir(parents=True, exist_ok=True)
        with _alone(self.out) as lock, Live(console=self.console, refresh_per_second=2) as live:
            for row in self.rows:
                live.update(self.table())
                if row.is_done:
                    row.state = "was done before"
                else:
                    self._run_stage(row, live, lock)
                live.update(self.table())
        return [row.stage.name for row in self.rows if not row.is_done]

    def _run_stage(self, row: Progress, live: Live, lock: int) -> None:
        row.state = "running"
        start, log = time.monotonic(), self.out / "logs" / f"{row.stage.name}.log"
        with log.open("a") as output, self._process(row.stage, output.fileno(), lock) as process:
            status = None
            while status is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(LOOK_EVERY)
                row.spent = time.monotonic() - start
                row.n_missing = row.stage.missing(self._lines(), self.out, self.seeds)
                live.update(self.table())
        row.state, row.has_ended = "done", True
        if not row.is_done:
            row.state = f"failed, exit status {status}: {log}"

    @contextlib.contextmanager
    def _process(self, stage: Stage, output: int, lock: int) -> Iterator[subprocess.Popen[bytes]]:
        """The script, which ends with this process, however this process ends."""
        script, *arguments = stage.command(
            self.out, seeds=self.seeds, jobs=self.n_jobs, ray=self.ray
        )
        # Parallel trainings slow each other down if each has several threads.
        settings = {"ATTRPLAN_RESULTS": str(self.out), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(self.benchmarks / script), *arguments]
        with subprocess.Popen(
            [sys.executable, keeper.__file__, *command],
            cwd=self.benchmarks.parent,
            env={**os.environ, **settings, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock],
        ) as process:
            yield process

    def _lines(self) -> Sequence[Line]:
        if not self.out.is_dir():
            return ()
        with warnings.catch_warnings():
            # The page warns once; here files are read every second, including half-written ones.
            warnings.simplefilter("ignore")
            return Results.read(self.out).lines

    def table(self) -> Table:
        """Stages, with time spent and left."""
        rest = sum(row.left for row in self.rows)
        table = Table(title=f"{self.out}: about {_time(rest)} left", title_justify="left")
        for column in ("stage", "figures", "spent", "left", ""):
            table.add_column(column, justify="left" if column in ("stage", "") else "right")
        for row in self.rows:
            figures = f"{row.n_lines - row.n_missing} of {row.n_lines}"
            times = _time(row.spent), _time(row.left)
            table.add_row(row.stage.name, figures, *times, row.state)
        return table


def reproduce(
    part: str,
    *,
    scale: str,
    seeds: int | None = None,
    out: str | Path,
    ray: str | None = None,
    console: Console | None = None,
) -> list[str]:
    """Run the benchmarks behind the paper's tables and write a page of what they found.

    A second call with the same folder resumes: nothing that was measured is measured again.

    Args:
        part: ``blocks``, ``blocks-continuous``, ``grids``, ``build-order`` or ``all``.
        scale: ``quick`` for small budgets, ``full`` for the paper's.
        seeds: How many; by default one of ``quick`` and three of ``full``.
        out: The folder of results; ``report.html`` in it is the page.
        ray: ``host:port`` of a Ray cluster whose workers run the cells, or ``"local"``.
        console: Where to show what happens.

    Returns:
        The names of stages that failed.

    Raises:
        InvalidOption: If there is no such part, scale or cluster, or somebody else writes to the
            folder.
    """
    console = console or Console()
    stages = stages_of(part, scale)
    n_seeds = N_SEEDS[scale] if seeds is None else seeds
    run = Reproduction(
        stages, Path(out), seeds=n_seeds, benchmarks=BENCHMARKS, ray=ray, console=console
    )
    where = f"{run.n_jobs} cores" + (" and a GPU" if _has_gpu() else "")
    console.print(
        f"{part}, {scale}: {len(stages)} stages, {n_seeds} seed(s), about "
        f"{_time(sum(row.left for row in run.rows))} on this machine ({where}):"
    )
    for row in run.rows:
        console.print(f"  {row.stage.name:26} {_time(row.left) if row.left else 'done before'}")
    console.print(f"Stop it at any time: the same command resumes. Logs: {run.out / 'logs'}")
    failed = run.run()
    console.print(f"\nwrote {write_report(run.out)}", soft_wrap=True)
    return failed


def _processors(ray: str | None) -> int:
    """Processors that this process may use, or those of a cluster."""
    if ray is not None:
        cluster = connect(ray)
        n_processors = int(cluster.cluster_resources().get("CPU", 0))
        cluster.shutdown()
        return n_processors
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


def cost_here(stage: Stage, n_seeds: int, n_cores: int) -> float:
    """Seconds that a stage takes on this machine, from nothing."""
    seconds = stage.seconds
    if stage.gpu_seconds is not None and _has_gpu():
        seconds = stage.gpu_seconds
    n_runs = n_seeds if stage.per_seed else 1
    # A seed has few trainings that could run side by side.
    return seconds * slowness() * n_runs * 2 / min(n_cores, 4 * n_runs)


@cache
def slowness() -> float:
    """Time of a short training here, relative to the machine of the stages' costs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start, batch = time.perf_counter(), torch.ones(1_024, 128)
    net = nn.Sequential(nn.Linear(128, 256), nn.ELU(), nn.Linear(256, 36))
    for _ in range(30):
        net(batch).square().mean().backward()
    torch.set_num_threads(threads)
    return (time.perf_counter() - start) / REFERENCE


def _has_gpu() -> bool:
    return torch.cuda.is_available()


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[int]:
    """Lock the folder; wait a moment, since a run that was just killed may still hold it."""
    with (out / "logs" / "lock").open("w") as file:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise InvalidOption(
                        f"another run writes to {out}: wait for it, or give another --out."
                    ) from error
            time.sleep(0.05)
        yield file.fileno()


def _time(seconds: float) -> str:
    """Hours and minutes, or minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="all", help=f"{', '.join(PARTS)} or all")
    parser.add_argument("--scale", default="quick", help=f"{' or '.join(SCALES)}")
    parser.add_argument("--seeds", type=int, metavar="N", help="how many")
    parser.add_argument("--out", default="attrplan-reproduce", metavar="DIR")
    parser.add_argument("--ray", metavar="ADDRESS", help="run cells in a Ray cluster's workers")
    options = parser.parse_args(arguments)
    try:
        failed = reproduce(**vars(options))
    except KeyboardInterrupt:
        raise SystemExit("interrupted; the same command resumes") from None
    except AttrPlanError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    if failed:
        raise SystemExit(f"these stages failed, see their logs: {', '.join(failed)}")


if __name__ == "__main__":
    main()
