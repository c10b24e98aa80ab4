"""A stage of ``reproduce.py``: a script to run, and what it leaves behind.

A stage that has left behind all that it promises, lines of results or files, is known to be done.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from paper.results import Line

SLACK = 1.05
"""The factor by which a budget may be exceeded, since rollouts are never cut."""


@dataclass(frozen=True)
class Promise:
    """Lines that a stage leaves behind, one for each environment, task, method and seed.

    Args:
        suite: Where they stand.
        budget: Steps or examples.
        envs: Environments.
        tasks: Tasks.
        methods: Methods.

    Example:
        >>> promise = Promise("grids", 10, ["AttrSwitches-v0"], ["targets"], ["ap", "random"])
        >>> promise.count(seeds=[0, 1, 2]), promise.missing([], seeds=[0])
        (6, 2)
    """

    suite: str
    budget: int
    envs: Sequence[str]
    tasks: Sequence[str]
    methods: Sequence[str]

    def missing(self, lines: Sequence[Line], seeds: Sequence[int]) -> int:
        """How many are not among the lines."""
        found = {
            (line["env"], line["task"], line["method"], line["seed"])
            for line in lines
            if line["suite"] == self.suite
            and self.budget <= (line["budget"] or 0) <= SLACK * self.budget
        }
        return len(self._keys(seeds) - found)

    def count(self, seeds: Sequence[int]) -> int:
        """How many there are in all."""
        return len(self._keys(seeds))

    def _keys(self, seeds: Sequence[int]) -> set[tuple[str, str, str, int]]:
        return set(product(self.envs, self.tasks, self.methods, seeds))


@dataclass(frozen=True)
class Stage:
    """A script to run.

    Args:
        name: Of the stage and its log.
        script: A file of ``benchmarks/``.
        arguments: As typed; ``<seeds>``, ``<n_seeds>``, ``<jobs>`` (processes at a time),
            ``<out>`` (the folder of results) and ``<ray>`` (how to reach Ray's workers, if they
            are to be used) are filled in.
        seconds: Seconds of one seed on two cores.
        promises: The lines it leaves behind.
        files: The files it leaves behind in the folder of results.
        gpu_seconds: Seconds of one seed with a GPU, if that is faster.
        per_seed: Whether every seed costs as much again.

    Example:
        >>> stage = Stage("grids", "grids.py", "--seeds <seeds> --jobs <jobs>", seconds=60)
        >>> stage.command(Path("out"), seeds=[0, 1], jobs=2)
        ['grids.py', '--seeds', '0', '1', '--jobs', '2']
    """

    name: str
    script: str
    arguments: str
    seconds: float
    promises: tuple[Promise, ...] = ()
    files: tuple[str, ...] = ()
    gpu_seconds: float | None = None
    per_seed: bool = True

    def command(
        self, out: Path, *, seeds: Sequence[int], jobs: int, ray: str | None = None
    ) -> list[str]:
        """The script and its arguments."""
        whole = {
            "<seeds>": [str(seed) for seed in seeds],
            "<ray>": [] if ray is None else ["--ray", ray],
        }
        known = {"<n_seeds>": str(len(seeds)), "<jobs>": str(jobs), "<out>": str(out)}
        words = [self.script]
        for word in shlex.split(self.arguments):
            for name, value in known.items():
                word = word.replace(name, value)
            words += whole.get(word, [word])
        return words

    def count(self, seeds: Sequence[int]) -> int:
        """Lines and files promised."""
        return sum(one.count(seeds) for one in self.promises) + len(self.files)

    def missing(self, lines: Sequence[Line], out: Path, seeds: Sequence[int]) -> int:
        """Lines and files promised that are not there."""
        absent = sum(not (out / file).exists() for file in self.files)
        return sum(one.missing(lines, seeds) for one in self.promises) + absent
