"""Examples of random drops in the continuous block environment, for training models."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from rich.progress import track

from gym_attrplan.envs.blocks.drop_table import DropTable, FloatArray, observe_poses
from gym_attrplan.envs.blocks.rules import Attributes, BlocksRules
from gym_attrplan.envs.blocks.scene import Poses
from gym_attrplan.error import InvalidEnvironment

EPISODE = 20
"""Number of drops from one random start to the next."""

_CHUNK = 25 * EPISODE  # examples per generator, independent of the number of processes


@dataclass(frozen=True)
class Drops:
    """Examples of drops, one a row.

    Attributes:
        states: ``(n, 9 * n_blocks)`` float32, what ``obs_type="state"`` shows before the drop.
        poses: ``(n, n_blocks, 7)`` float64, the blocks before the drop; a scene renders them.
        actions: ``(n, n_blocks + 2)`` float32, as the environment takes them.
        attributes: ``(n, n_attributes)`` int8, before the drop.
        next_attributes: ``(n, n_attributes)`` int8, after it.
        next_states: ``(n, 9 * n_blocks)`` float32, after it.
    """

    states: FloatArray
    poses: Poses
    actions: FloatArray
    attributes: Attributes
    next_attributes: Attributes
    next_states: FloatArray

    def __len__(self) -> int:
        return len(self.actions)


def collect_drops(
    n: int,
    seed: int,
    *,
    n_blocks: int = 4,
    grid: int = 3,
    n_jobs: int = 1,
    progress_bar: bool = False,
) -> Drops:
    """Collect examples of random drops, 20 in a row from each random start.

    A seed gives the same examples with any number of processes.

    Args:
        n: Number of examples.
        seed: Seed of all random draws.
        n_blocks: Number of blocks.
        grid: Number of cells along a side of the table.
        n_jobs: Number of processes; with more than one, a script needs the usual
            ``if __name__ == "__main__":``.
        progress_bar: Whether to show a progress bar.

    Raises:
        InvalidEnvironment: On a number out of range.

    Example:
        >>> drops = collect_drops(30, seed=0)
        >>> drops.states.shape, drops.poses.shape, drops.actions.shape, drops.attributes.shape
        ((30, 36), (30, 4, 7), (30, 6), (30, 36))
    """
    for name, value in (("n", n), ("n_jobs", n_jobs)):
        if value < 1:
            raise InvalidEnvironment(f"{name} must be at least 1; received {value!r}.")
    sizes = [min(_CHUNK, n - first) for first in range(0, n, _CHUNK)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    rules = BlocksRules(n_blocks, grid)
    chunks = [(rules, size, one) for size, one in zip(sizes, seeds, strict=True)]
    with _mapped(chunks, min(n_jobs, len(chunks))) as parts:
        shown = track(parts, "drops", total=len(chunks), disable=not progress_bar)
        rows = [tuple(getattr(part, field.name) for field in fields(Drops)) for part in shown]
    return Drops(*map(np.concatenate, zip(*rows, strict=True)))


@contextmanager
def _mapped(chunks: list[Any], n_jobs: int) -> Iterator[Iterable[Drops]]:
    if n_jobs == 1:
        yield map(_collect, chunks)
        return
    with multiprocessing.get_context("spawn").Pool(n_jobs) as pool:
        yield pool.imap(_collect, chunks)


def _collect(chunk: tuple[BlocksRules, int, np.random.SeedSequence]) -> Drops:
    rules, n, seed = chunk
    table, rng = DropTable(rules), np.random.default_rng(seed)
    blocks = rng.integers(rules.n_blocks, size=n)
    places = rng.random((n, 2), dtype=np.float32)
    attributes = np.empty((2, n, len(rules.attributes)), np.int8)
    poses = np.empty((2, n, rules.n_blocks, 7))
    for i, (block, place) in enumerate(zip(blocks.tolist(), places, strict=True)):
        if i % EPISODE == 0:
            table.start(rng)
        attributes[0, i], poses[0, i] = table.attributes, table.scene.poses()
        table.drop(block, place, rng)
        attributes[1, i], poses[1, i] = table.attributes, table.scene.poses()
    states = observe_poses(poses, table.side)
    scores = np.eye(rules.n_blocks, dtype=np.float32)[blocks]
    actions = np.concatenate([scores, places], axis=1)
    return Drops(states[0], poses[0], actions, attributes[0], attributes[1], states[1])
