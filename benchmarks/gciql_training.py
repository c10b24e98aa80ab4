"""The training of ``gciql.py``, in JAX; batches are drawn as OGBench draws them, on the GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ALPHA = 1.0
"""OGBench's weight of cloning, for puzzles."""

BATCH_SIZE = 1_024
N_SCANNED = 1_000
"""Number of updates in a compiled call."""

Arrays = dict[str, jax.Array]


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


def create(gciql: Any, config: dict[str, Any], seed: Any, data: Arrays) -> Any:
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


def train(impls: Path, logs: list[dict[str, Any]], seeds: list[int]) -> Iterator[Any]:
    """Train an agent for each log; after every compiled call, yield the losses and the agents.

    Args:
        impls: Folder of OGBench's repository.
        logs: The transitions of each.
        seeds: The agents' seeds.
    """
    sys.path.insert(0, str(impls))
    from agents import gciql

    config = {**gciql.get_config().to_dict(), "alpha": ALPHA, "batch_size": BATCH_SIZE}
    data = {key: jnp.asarray(np.stack([one[key] for one in logs])) for key in logs[0]}
    start = partial(create, gciql, config)
    agents = jax.vmap(start)(jnp.asarray(seeds), data)

    def learn(agent: Any, one: Arrays, key: Any) -> Any:
        def step(agent: Any, key: Any) -> Any:
            agent, info = agent.update(make_batch(key, one, config))
            return agent, info["actor/actor_loss"]

        return jax.lax.scan(step, agent, jax.random.split(key, N_SCANNED))

    run, key = jax.jit(jax.vmap(learn)), jax.random.PRNGKey(seeds[0])
    while True:
        key, once = jax.random.split(key)
        agents, losses = run(agents, data, jax.random.split(once, len(seeds)))
        yield np.asarray(losses).mean(axis=1), agents


def actor_weights(agents: Any) -> dict[str, Any]:
    """The weights of the actors by name, all seeds in one array each."""
    leaves = jax.tree_util.tree_leaves_with_path(agents.network.params["modules_actor"])
    return {"/".join(key.key for key in keys): np.asarray(leaf) for keys, leaf in leaves}
