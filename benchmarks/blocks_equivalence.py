"""Whether the batched block world agrees with MuJoCo's on random drops.

``python benchmarks/blocks_equivalence.py`` drops one block in each of 50,000 random states, with
jitter. It compares the attributes after the simulation with those of the rules, which the batched
version uses. Half of the states are drawn uniformly from all states, half from initial states. The
number of disagreements goes to the ledger.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterator

import numpy as np
from ledger import append
from rich.progress import track

from gym_attrplan.envs.blocks import BlocksEnv, BlocksRules

CHUNK = 250
Disagreement = tuple[int, int, int, int]  # state, action, state by the rules, state by physics


def compare(n_blocks: int, jitter: float, seed: int) -> list[Disagreement]:
    """The states and actions of a chunk whose outcome differs from the rules."""
    rules, rng = BlocksRules(n_blocks), np.random.default_rng([n_blocks, seed])
    states = rng.integers(rules.n_states, size=CHUNK)
    states[::2] = rules.random_starts(CHUNK // 2, rng)
    actions = rng.integers(rules.n_actions, size=CHUNK)
    after = rules.move(states, actions)
    expected, found = rules.evaluate(after), []
    env = BlocksEnv(rules, obs_type="state", jitter=jitter)
    env.reset(seed=seed)
    for i in range(CHUNK):
        env.reset(options={"state": states[i]})
        env.step(actions[i])
        if (env.attributes != expected[i]).any():
            found.append((int(states[i]), int(actions[i]), int(after[i]), env.state))
    return found


def compare_chunk(job: tuple[int, float, int]) -> list[Disagreement]:
    return compare(*job)


def run(options: argparse.Namespace) -> Iterator[list[Disagreement]]:
    n_chunks = options.pairs // CHUNK
    jobs = [(options.blocks, options.jitter, options.seed + i) for i in range(n_chunks)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        yield from track(pool.imap(compare_chunk, jobs), "Dropping blocks", total=n_chunks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--jitter", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chunks = list(run(options))
    n, found = CHUNK * len(chunks), [one for chunk in chunks for one in chunk]
    print(f"{n:,} drops of {options.blocks} blocks, jitter {options.jitter}: {len(found)} disagree")
    for state, action, expected, physics in found[:20]:
        print(f"  state {state}, action {action}: rules {expected}, physics {physics}")
    append(
        "blocks_equivalence",
        env="AttrBlocks-v0",
        task="one_step",
        method="batched",
        budget=n,
        seed=options.seed,
        n=n,
        successes=n - len(found),
        value=len(found),
        unit="disagreements",
        extra={
            "n_blocks": options.blocks,
            "jitter": options.jitter,
            "disagreements": found[:100],
        },
    )


if __name__ == "__main__":
    main()
