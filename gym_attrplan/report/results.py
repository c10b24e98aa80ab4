"""Results as the benchmarks wrote them: JSON lines, of which the newest with equal keys count."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from gym_attrplan.agent.evaluation import wilson_interval
from gym_attrplan.error import InvalidData

Line: TypeAlias = dict[str, Any]

KEY = ("suite", "env", "task", "method", "budget", "seed")
"""What tells figures apart."""

FIELDS = (*KEY, "n", "successes", "value", "unit", "extra")
PROVENANCE = ("command", "commit", "versions", "machine", "date")


@dataclass(frozen=True)
class Source:
    """Where figures stand; a part that is None may be anything."""

    suite: str | None = None
    env: str | None = None
    task: str | None = None
    method: str | None = None
    budget: int | None = None


@dataclass(frozen=True)
class Measured:
    """One figure of ours: the lines of all its seeds together.

    Args:
        lines: Equal in all but the seed.

    Example:
        >>> lines = [{"seed": seed, "n": 100, "successes": 90 + seed} for seed in (0, 2)]
        >>> measured = Measured(tuple(lines))
        >>> measured.percent, measured.seeds
        (91.0, {0: 90.0, 2: 92.0})
    """

    lines: tuple[Line, ...]

    @property
    def n(self) -> int:
        """Tasks, over all seeds; 0 for figures that are no success rates."""
        return sum(line.get("n") or 0 for line in self.lines)

    @property
    def percent(self) -> float:
        """Tasks solved, in percent."""
        return 100.0 * self._solved / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the percentage."""
        low, high = wilson_interval(self._solved, self.n)
        return 100 * low, 100 * high

    @property
    def _solved(self) -> int:
        return sum(int(line["successes"]) for line in self.lines)

    @property
    def seeds(self) -> dict[int, float]:
        """The percentage of each seed."""
        return {line["seed"]: 100 * line["successes"] / line["n"] for line in self.lines}

    @property
    def value(self) -> float:
        """The mean over seeds of a figure that is no success rate."""
        return sum(float(line["value"]) for line in self.lines) / len(self.lines)

    @property
    def budget(self) -> int:
        """Examples or steps of training; 0 where there was none."""
        return int(self.lines[0].get("budget") or 0)

    def verdict(self, paper: float | None) -> str:
        """``ours`` or ``paper`` if the paper's figure lies outside the interval, else ``even``."""
        if paper is None:
            return ""
        low, high = self.interval
        return "ours" if low > paper else "paper" if high < paper else "even"


class Results:
    """The lines that count.

    Args:
        lines: As the benchmarks wrote them, older ones included.

    Example:
        >>> line = {key: None for key in FIELDS} | {"suite": "grids", "date": "2026-01-01"}
        >>> old, new = line | {"n": 9, "successes": 1}, line | {"n": 9, "successes": 9}
        >>> Results([old, new]).find(Source("grids")).percent
        100.0
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        by_date = sorted(lines, key=lambda line: line["date"])  # stable: of one date the later line
        self.lines = tuple({tuple(line[key] for key in KEY): line for line in by_date}.values())

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """All ``*.jsonl`` of a folder.

        Raises:
            InvalidData: If there is no such folder, or a line is not a figure. A line that was
                cut off, as by a benchmark that was killed, is left out with a warning.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InvalidData(f"results are a folder of *.jsonl files; there is no folder {path}.")
        return cls(
            line for file in sorted(path.glob("*.jsonl")) for line in read_lines(file) if line
        )

    def select(self, source: Source) -> list[Line]:
        """The lines from a source."""
        wanted = {key: value for key, value in vars(source).items() if value is not None}
        return [line for line in self.lines if all(line[k] == v for k, v in wanted.items())]

    def find(self, *sources: Source, budget: int | None = None) -> Measured | None:
        """The figure of the first source that has one, None if none has.

        Args:
            sources: Each with suite, environment, task and method.
            budget: Which to take where there are several and the source does not say; the largest
                if it is not there.
        """
        for source in sources:
            lines = [line for line in self.select(source) if _is_figure(line)]
            if lines:
                budgets = {line["budget"] or 0 for line in lines}
                chosen = budget if budget in budgets else max(budgets)
                return Measured(tuple(one for one in lines if (one["budget"] or 0) == chosen))
        return None

    def reason(self, *sources: Source) -> str | None:
        """Why a method cannot do what a source asks of it, if its benchmark says so."""
        lines = (line for source in sources for line in self.select(source))
        return next((line["extra"]["cannot"] for line in lines if "cannot" in line["extra"]), None)

    @cached_property
    def suites(self) -> dict[str, list[Line]]:
        """The lines of each suite."""
        names = sorted({line["suite"] for line in self.lines})
        return {name: self.select(Source(name)) for name in names}


def _is_figure(line: Line) -> bool:
    return bool(line["n"]) or line["value"] is not None


def read_lines(file: Path) -> Iterable[Line]:
    """The lines of a file, older ones included.

    Raises:
        InvalidData: If a line is not a figure; one that was cut off is left out with a warning.
    """
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            # A benchmark was killed while it wrote: the figure will be measured again.
            warnings.warn(f"{file}, line {number} was cut off and is left out.", stacklevel=2)
            continue
        missing = [key for key in (*FIELDS, *PROVENANCE) if key not in line]
        if missing:
            raise InvalidData(f"{file}, line {number} lacks {missing}: it is no benchmark's.")
        yield line
