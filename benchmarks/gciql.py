"""GCIQL of OGBench on the puzzles' logs, the rival of ``offline.py --methods gciql``.

``python benchmarks/gciql.py --impls ogbench/impls --data FOLDER --puzzle 4x4 --out FOLDER`` trains
agents of all seeds side by side and writes the weights of their actors. The agent, its networks,
losses and settings are those of OGBench's repository (folder ``impls``; tested at 1d41409), with
the ``alpha`` that it lists for puzzles. It needs jax, flax, optax, ml_collections and distrax; of
the last only ``MultivariateNormalDiag`` is called.

As for our agent and for cloning, goals are lights: a goal is reached where the lights are the same.
Batches are drawn on the GPU as OGBench's ``GCDataset`` draws them.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from offline import lights, read_data

ALPHA = 1.0
"""OGBench's weight of cloning, for puzzles."""

BATCH_SIZE = 1_024
N_SCANNED = 1_000
"""Number of updates in a compiled call."""

Arrays = dict[str, jax.Array]


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


def draw_goals(key: Any, rows: Any, data: Arrays, config: dict[str, Any], who: str) -> Any:
    """Places of goals for the ``value`` or the ``actor``: here, later, or anywhere."""
    here, later = config[f"{who}_p_curgoal"], config[f"{who}_p_trajgoal"]
    keys, last = jax.random.split(key, 4), data["last"][rows]
    if config[f"{who}_geom_sample"]:
        steps = jax.random.geometric(keys[0], 1.0 - config["discount"], rows.shape, jnp.int32)
        ahead = jnp.minimum(rows + steps, last)
    else:
        first = jnp.minimum(rows + 1, last)
        back = jax.random.uniform(keys[0], rows.shape) * (last - first)
        ahead = last - jnp.round(back).astype(jnp.int32)
    anywhere = jax.random.randint(keys[1], rows.shape, 0, len(data["last"]))
    is_ahead = jax.random.uniform(keys[2], rows.shape) < later / (1.0 - here)
    is_here = jax.random.uniform(keys[3], rows.shape) < here
    return jnp.where(is_here, rows, jnp.where(is_ahead, ahead, anywhere))


def make_batch(key: Any, data: Arrays, config: dict[str, Any]) -> Arrays:
    """A batch as OGBench's agents read it."""
    keys = jax.random.split(key, 3)
    rows = jax.random.randint(keys[0], (BATCH_SIZE,), 0, len(data["last"]))
    wanted = data["goals"][draw_goals(keys[1], rows, data, config, "value")]
    reached = (data["goals"][rows] == wanted).all(axis=-1).astype(jnp.float32)
    return {
        **{name: data[name][rows] for name in ("observations", "next_observations", "actions")},
        "value_goals": wanted,
        "actor_goals": data["goals"][draw_goals(keys[2], rows, data, config, "actor")],
        "masks": 1.0 - reached,
        "rewards": reached - 1.0,
    }


def create(gciql: Any, seed: Any, data: Arrays, config: dict[str, Any]) -> Any:
    """OGBench's agent, whose own ``create`` takes goals for observations."""
    init, goals = gciql.ModuleDict.init, data["goals"][:1]

    def with_goals(self: Any, rng: Any, **examples: Any) -> Any:
        given = {name: (one[0], goals, *one[2:]) for name, one in examples.items()}
        return init(self, rng, **given)

    gciql.ModuleDict.init = with_goals
    try:
        example = data["observations"][:1], data["actions"][:1]
        agent = gciql.GCIQLAgent.create(seed, *example, config)
    finally:
        gciql.ModuleDict.init = init
    return jax.tree_util.tree_map(lambda x: jnp.asarray(x, jnp.result_type(x)), agent)


def save(path: Path, agents: Any, seeds: list[int], updates: int, seconds: float) -> None:
    """Write the weights of the actors, all seeds in one array each."""
    leaves = jax.tree_util.tree_leaves_with_path(agents.network.params["modules_actor"])
    weights = {"/".join(key.key for key in keys): np.asarray(leaf) for keys, leaf in leaves}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, seeds=seeds, updates=updates, seconds=seconds, **weights)


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
    sys.path.insert(0, str(args.impls))
    from agents import gciql

    config = {**gciql.get_config().to_dict(), "alpha": ALPHA, "batch_size": BATCH_SIZE}
    name, began = f"puzzle-{args.puzzle}", time.perf_counter()
    logs = [transitions(args.data, name, seed, args.n_steps) for seed in args.seeds]
    data = {key: jnp.asarray(np.stack([one[key] for one in logs])) for key in logs[0]}
    seeds = jnp.asarray(args.seeds)
    agents = jax.vmap(lambda seed, one: create(gciql, seed, one, config))(seeds, data)

    def learn(agent: Any, one: Arrays, key: Any) -> Any:
        def step(agent: Any, key: Any) -> Any:
            agent, info = agent.update(make_batch(key, one, config))
            return agent, info["actor/actor_loss"]

        return jax.lax.scan(step, agent, jax.random.split(key, N_SCANNED))

    run, key = jax.jit(jax.vmap(learn)), jax.random.PRNGKey(args.seeds[0])
    updates, path = 0, args.out / f"gciql-{args.puzzle}.npz"
    while updates < args.updates and time.perf_counter() - began < args.seconds:
        key, once = jax.random.split(key)
        agents, losses = run(agents, data, jax.random.split(once, len(args.seeds)))
        updates += N_SCANNED
        loss, seconds = np.asarray(losses).mean(axis=1).round(3), time.perf_counter() - began
        print(f"{updates:,} updates, {seconds:.0f} s, losses {loss.tolist()}", flush=True)
        save(path, agents, args.seeds, updates, seconds)


if __name__ == "__main__":
    main()
