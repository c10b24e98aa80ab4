"""GCIQL of OGBench on the puzzles' logs, the rival of ``offline.py --methods gciql``.

``python benchmarks/gciql.py --impls ogbench/impls --data FOLDER --puzzle 4x4 --out FOLDER`` trains
agents of all seeds side by side and writes the weights of their actors. The agent, its networks,
losses and settings are those of OGBench's repository (folder ``impls``; tested at 1d41409), with
the ``alpha`` that it lists for puzzles. It needs jax, flax, optax, ml_collections and distrax; of
the last only ``MultivariateNormalDiag`` is called. As for our agent and for cloning, goals are
lights: a goal is reached where the lights are the same.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from offline import lights, read_data


def transitions(folder: Path, name: str, seed: int, n_steps: int) -> dict[str, Any]:
    """The transitions of a log, and for each the place of its episode's last one."""
    data = read_data(folder, name, seed, n_steps)
    keep = np.asarray(data["terminals"]) == 0
    after = np.concatenate([[False], keep[:-1]])
    ends = np.flatnonzero(~np.concatenate([keep[1:], [False]])[keep])
    seen = np.asarray(data["observations"], np.float32)
    return {
        "observations": seen[keep],
        "next_observations": seen[after],
        "actions": np.asarray(data["actions"], np.float32)[keep],
        "goals": lights(seen[keep]).astype(np.float32),
        "last": ends[np.searchsorted(ends, np.arange(keep.sum()))].astype(np.int32),
    }


def main() -> None:
    """Train for so many updates, or for so many seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impls", type=Path, required=True, help="folder of OGBench's repository")
    parser.add_argument("--data", type=Path, required=True, help="folder of ENV-SEED.npz")
    parser.add_argument("--puzzle", default="4x4")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-steps", type=int, default=100_000, help="of the log to learn from")
    parser.add_argument("--updates", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    import gciql_training as training

    began = time.perf_counter()
    names = [(f"puzzle-{args.puzzle}", seed) for seed in args.seeds]
    logs = [transitions(args.data, *name, args.n_steps) for name in names]
    args.out.mkdir(parents=True, exist_ok=True)
    path, updates = args.out / f"gciql-{args.puzzle}.npz", 0
    for losses, agents in training.train(args.impls, logs, args.seeds):
        updates, seconds = updates + training.N_SCANNED, time.perf_counter() - began
        print(f"{updates:,} updates, {seconds:.0f} s, losses {losses.round(3)}", flush=True)
        weights = training.actor_weights(agents)
        np.savez(path, seeds=args.seeds, updates=updates, seconds=seconds, **weights)
        if updates >= args.updates or seconds >= args.seconds:
            break


if __name__ == "__main__":
    main()
