"""Results as the benchmarks wrote them: JSON lines; all runs with the newest code count."""

from __future__ import annotations

import datetime
import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from gym_attrplan.agent.evaluation import wilson_interval
from gym_attrplan.error import InvalidData

Line: TypeAlias = dict[str, Any]

KEY = ("suite", "env", "task", "method", "budget", "seed")
"""The fields that identify a figure."""

FIELDS = (*KEY, "n", "successes", "value", "unit", "extra")
PROVENANCE = ("command", "commit", "versions", "machine", "date")

CHANGES = "changes.json"
"""The file beside the results that says since when, and why, older figures no longer count."""


def nominal(budget: int | None) -> int | None:
    """Return a budget to three digits: rollouts are whole, so that it may be exceeded a little.

    Example:
        >>> nominal(300_032), nominal(None)
        (300000, None)
    """
    return int(float(f"{budget:.3g}")) if budget else budget


@dataclass(frozen=True)
class Source:
    """The place of figures in the results; None matches anything."""

    suite: str | None = None
    env: str | None = None
    task: str | None = None
    method: str | None = None
    budget: int | None = None

    def has(self, line: Line) -> bool:
        """Whether a line is from here."""
        named = {key: value for key, value in vars(self).items() if value is not None}
        budget = named.pop("budget", None)
        if budget is not None and nominal(line["budget"]) != nominal(budget):
            return False
        return all(line[key] == value for key, value in named.items())


@dataclass(frozen=True)
class CodeChange:
    """A change of the code after which older figures no longer count.

    Args:
        source: Which figures it affects.
        since: The date, as lines have it, of the first line that the new code may have written.
        reason: What changed.
        wrong: Whether older figures were measured wrongly: they do not count even while there are
            no newer ones.
    """

    source: Source
    since: str
    reason: str
    wrong: bool = False

    @classmethod
    def of(cls, entry: dict[str, Any]) -> CodeChange:
        """From an entry of :data:`CHANGES`: the parts of a source, and those of a change.

        Raises:
            InvalidData: If a part is missing or unknown, ``since`` is no date, or ``wrong`` neither
                true nor false.
        """
        known = {field.name for field in fields(Source)}
        own = {key: entry[key] for key in ("since", "reason", "wrong") if key in entry}
        parts = {key: value for key, value in entry.items() if key not in own}
        good = bool(own.get("reason")) and _is_date(own.get("since")) and parts.keys() <= known
        if not good or not isinstance(own.get("wrong", False), bool):
            raise InvalidData(
                f"an entry of {CHANGES} has 'since' (an ISO date), 'reason' (what changed), "
                f"perhaps 'wrong' (true or false), and any of {sorted(known)}; received {entry}."
            )
        return cls(Source(**parts), **own)


@dataclass(frozen=True)
class Measured:
    """One figure of ours: the lines of all its runs together.

    Args:
        lines: Equal in all but the seed; several runs may share one.

    Example:
        >>> lines = [{"seed": seed, "n": 100, "successes": 90 + seed} for seed in (0, 2)]
        >>> measured = Measured(tuple(lines))
        >>> measured.percent, measured.seeds
        (91.0, {0: 90.0, 2: 92.0})
    """

    lines: tuple[Line, ...]

    @property
    def n(self) -> int:
        """Tasks, over all runs; 0 for figures that are no success rates."""
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
        """The percentage of each seed, over all its runs."""
        by_seed: dict[int, list[Line]] = defaultdict(list)
        for line in self.lines:
            by_seed[line["seed"]].append(line)
        return {seed: Measured(tuple(lines)).percent for seed, lines in by_seed.items()}

    @property
    def runs(self) -> str:
        """Number of seeds, and of runs where a seed has several."""
        n_seeds = len({line["seed"] for line in self.lines})
        seeds = f"{n_seeds} seed{'s' if n_seeds > 1 else ''}"
        return seeds if n_seeds == len(self.lines) else f"{seeds}, {len(self.lines)} runs"

    @property
    def value(self) -> float:
        """The mean over runs of a figure that is no success rate."""
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
    """The lines that count: of each figure all runs with the newest code.

    Lines with the same :data:`KEY` are runs of the same code unless a change says otherwise. Lines
    from before a change count as long as nothing was measured after it, unless they are wrong.

    Args:
        lines: As the benchmarks wrote them, older ones included.
        changes: Since when, and why, older lines no longer count.

    Example:
        >>> line = {key: None for key in FIELDS} | {"suite": "grids", "seed": 0, "n": 10}
        >>> old = line | {"successes": 1, "date": "2026-01-01"}
        >>> new = line | {"successes": 9, "date": "2026-01-03"}
        >>> Results([old, new]).find(Source("grids")).percent
        50.0
        >>> change = CodeChange(Source("grids"), "2026-01-02", "another planner")
        >>> Results([old, new], [change]).find(Source("grids")).percent
        90.0
    """

    def __init__(self, lines: Iterable[Line], changes: Sequence[CodeChange] = ()) -> None:
        by_key: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
        for line in sorted(lines, key=lambda line: line["date"]):
            line = line | {"budget": nominal(line["budget"])}
            by_key[tuple(line[key] for key in KEY)].append(line)
        self.lines = tuple(one for own in by_key.values() for one in _newest_code(own, changes))

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """All ``*.jsonl`` of a folder, with the changes noted beside them.

        Raises:
            InvalidData: If there is no such folder, or a line is not a figure, or a change is not
                one. A line that was cut off, as by a benchmark that was killed, is left out with a
                warning.
        """
        path = Path(folder)
        if not path.is_dir():
            raise InvalidData(f"results are a folder of *.jsonl files; there is no folder {path}.")
        lines = (line for file in sorted(path.glob("*.jsonl")) for line in read_lines(file))
        return cls(lines, read_changes(path))

    def select(self, source: Source) -> list[Line]:
        """The lines from a source."""
        return [line for line in self.lines if source.has(line)]

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
                chosen = nominal(budget) if nominal(budget) in budgets else max(budgets)
                return Measured(tuple(one for one in lines if (one["budget"] or 0) == chosen))
        return None

    def reason(self, *sources: Source) -> str | None:
        """Why a method cannot do what a source asks of it, as its benchmark said last."""
        lines = [line for source in sources for line in self.select(source)]
        told = [line for line in lines if "cannot" in line["extra"]]
        newest = max(told, key=lambda line: str(line["date"]), default=None)
        return newest["extra"]["cannot"] if newest else None

    @cached_property
    def suites(self) -> dict[str, list[Line]]:
        """The lines of each suite."""
        names = sorted({line["suite"] for line in self.lines})
        return {name: self.select(Source(name)) for name in names}


def _newest_code(lines: Sequence[Line], changes: Iterable[CodeChange]) -> list[Line]:
    """Of one key's lines, in the order of their dates, those since the last change."""
    newest = lines[-1]
    mine = (one for one in changes if one.source.has(newest))
    since = max((one.since for one in mine if one.wrong or one.since <= newest["date"]), default="")
    return [line for line in lines if line["date"] >= since]


def _is_figure(line: Line) -> bool:
    return bool(line["n"]) or line["value"] is not None


def _is_date(text: object) -> bool:
    try:
        datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return False
    return True


def read_changes(folder: Path) -> tuple[CodeChange, ...]:
    """The changes of code noted in a folder of results; none if it has no such file.

    Raises:
        InvalidData: If the file is not a list of changes.
    """
    file = folder / CHANGES
    if not file.exists():
        return ()
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidData(f"{file} is no JSON: {error}. It is a list of changes.") from error
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InvalidData(f"{file} is a list of changes, each an object; received {entries!r:.80}.")
    return tuple(CodeChange.of(entry) for entry in entries)


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
