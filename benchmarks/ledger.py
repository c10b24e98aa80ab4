"""Results are files: every benchmark appends its figures, one JSON line each; nothing edits them.

The README's table, the report and the tests read these lines and nothing else. All lines with the
same (suite, env, task, method, budget, seed) count, pooled, unless ``results/changes.json`` says
since when the code is another, or that older figures are wrong, and why.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from paper.results import Results, nominal, read_changes, read_lines

TEST_SEEDS = range(100)
"""Seeds whose figures stand in tables."""

TUNING_SEEDS = range(100, 200)
"""Seeds that settings are chosen on; their figures go to the suites below."""

CHOOSING = ("search", "tuning")
"""Suites that no table of results reads."""

RESULTS = Path(os.environ.get("ATTRPLAN_RESULTS", Path(__file__).parent / "results"))
collected: dict[str, str] | None = None
"""Collects lines, by file, that another process will write; None if this process writes."""

PACKAGES = (
    "torch",
    "stable-baselines3",
    "gymnasium",
    "numpy",
    "scipy",
    "mujoco",
    "minigrid",
    "pettingzoo",
    "crafter",
    "ogbench",
)


def _suite_of(suite: str, seed: int | None) -> str:
    if seed is None or (seed in TEST_SEEDS and suite not in CHOOSING):
        return suite
    if seed not in TUNING_SEEDS:
        raise ValueError(
            f"suite {suite!r} takes no figure of seed {seed}. Settings are chosen on seeds "
            f"{TUNING_SEEDS[0]} to {TUNING_SEEDS[-1]}, figures reported of {TEST_SEEDS[0]} to "
            f"{TEST_SEEDS[-1]}."
        )
    return suite if suite in CHOOSING else "tuning"


def append(
    suite: str,
    *,
    env: str,
    task: str,
    method: str,
    budget: int | None = None,
    seed: int | None = None,
    n: int | None = None,
    successes: int | None = None,
    value: float | None = None,
    unit: str | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Append one figure to ``results/<suite>.jsonl`` and return the line as written.

    ``n`` and ``successes`` hold a success rate, ``value`` and ``unit`` everything else. A figure
    of a tuning seed goes to suite ``tuning``.

    Raises:
        ValueError: If the seed is of neither kind, or settings were to be chosen on a test seed.
    """
    suite = _suite_of(suite, seed)
    line = {
        "suite": suite,
        "env": env,
        "task": task,
        "method": method,
        "budget": budget,
        "seed": seed,
        "n": n,
        "successes": successes,
        "value": value,
        "unit": unit,
        "extra": extra or {},
        "command": _command(),
        "commit": commit(),
        "versions": _versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    add_lines({f"{suite}.jsonl": f"{json.dumps(line)}\n"})
    return line


def add_lines(lines: dict[str, str]) -> None:
    """Append lines to the ledger's files, by file name, or collect them for another process."""
    if collected is not None:
        for name, text in lines.items():
            collected[name] = collected.get(name, "") + text
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, text in lines.items():
        # The incomplete line of a killed run gets a line of its own, which readers drop.
        start = "\n" if _is_cut(RESULTS / name) else ""
        with (RESULTS / name).open("a") as file:
            file.write(f"{start}{text}")


def _is_cut(path: Path) -> bool:
    """Whether the file's last line has no end."""
    if not path.exists() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def read(suite: str) -> list[dict[str, Any]]:
    """The lines that count: of each (env, task, method, budget, seed) all with the newest code."""
    path = RESULTS / f"{suite}.jsonl"
    if not path.exists():
        return []
    return list(Results(read_lines(path), read_changes(RESULTS)).lines)


def is_measured(suite: str, **key: Any) -> bool:
    """Whether there is a line with this key."""
    return measured_since(0.0, suite, **key)


def measured_since(moment: float, suite: str, **key: Any) -> bool:
    """Whether there is a line with this key that is newer than ``moment``, a file's time."""
    if "budget" in key:  # as the lines that count have it
        key |= {"budget": nominal(key["budget"])}
    return any(
        datetime.datetime.fromisoformat(line["date"]).timestamp() >= int(moment)
        for line in read(suite)
        if all(line[name] == value for name, value in key.items())
    )


def _command() -> str:
    script, root = Path(sys.argv[0]).resolve(), Path(__file__).parent.parent.resolve()
    name = script.relative_to(root) if script.is_relative_to(root) else Path(script.name)
    # Paths are machine-specific, so only the file name is recorded.
    arguments = [Path(one).name if one.startswith("/") else one for one in sys.argv[1:]]
    return shlex.join(["python", str(name), *arguments])


def _versions() -> dict[str, str]:
    """Versions of the installed packages."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def commit() -> str:
    """The commit the figures were measured at, marked when the code had changes on top of it.

    A copy of the tree on another machine, whose history may be old, is told by GIT_COMMIT.
    """
    if told := os.environ.get("GIT_COMMIT"):
        return told
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        # Benchmarks append to the results; that is no change of the code.
        changed = _git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}-dirty" if changed else name


def _git(*arguments: str) -> str:
    root = Path(__file__).parent.parent
    answer = subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()
