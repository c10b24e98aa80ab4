"""Hashes that identify equal observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes.space import IntArray

Observations = dict[str, npt.NDArray[Any]]


def fingerprints(observations: Observations) -> npt.NDArray[np.int64]:
    """Return a number for each row: equal for equal rows, and almost surely different otherwise."""
    total = np.zeros(len(next(iter(observations.values()))), np.uint64)
    for i, (_, rows) in enumerate(sorted(observations.items())):
        raw = np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.uint8)
        words = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
        words[:, : raw.shape[1]] = raw
        factors = np.random.default_rng(i).integers(2**63, size=words.shape[1] // 8) * 2 + 1
        total += (words.view(np.uint64) * factors.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    return (total >> np.uint64(1)).astype(np.int64)


def stand_for(description: IntArray) -> int:
    """Return a number for a description that is not a node of the graph."""
    return int(fingerprints({"": description[None]})[0])
