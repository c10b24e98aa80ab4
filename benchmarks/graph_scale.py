"""The transition graph at 135K to 10M edges, beside scipy, igraph, rustworkx and networkx.

    python benchmarks/graph_scale.py                  # all sizes, some 15 minutes, 8 GB
    python benchmarks/graph_scale.py --edges 135K 420K
    python benchmarks/graph_scale.py --quick          # 135K, few repeats, nothing written

Random directed graphs over nodes of 36 binary attributes; 135K has the block world's 3,720 nodes,
the others ten edges a node. All is measured in one process on the same graph, the peers on the same
(start, goal) pairs, and their paths must cost what ours cost. Figures are medians of processor
time, which other work on the machine disturbs least; every contender runs on one core.

- record: the last fifth of the edges comes in batches of 1,024 of which a tenth is new, as when the
  block world's examples grow from 100K to 1M. Merges are included, making up the batches is not.
- record_known: batches of known edges only.
- bytes_per_edge: all that a `TransitionCounts` holds after `compact()`, the node index included.
- prepare: once after each change of the counts: estimate the probabilities, transpose.
- first_plan: `Planner.plan` to a new goal; scipy_dijkstra: the bare search in the same matrix.
- next_hop: `Planner.next_hop` to a known goal; next_hops_256: 256 environments, 256 known goals.
- peers: one path by Dijkstra, which ends at the goal; a first plan finds the way from every node,
  as does igraph_tree (distances alone). networkx_bidirectional searches from both ends, which suits
  a single path without steps to follow.
- record_and_sample_16, at 4M edges alone: 16 environments record a transition each, half of them
  new, and draw a neighbour each, as practice does at every hop. The figure is the
  mean over enough calls for one merge of the new edges; `extra` has the median and the longest
  call, which is that merge.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import igraph
import ledger
import networkx
import numpy as np
import rustworkx
from scipy.sparse import csgraph

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import Planner, TransitionCounts

SIZES = {
    "135K": (3_720, 134_976),
    "420K": (42_000, 420_000),
    "2M": (200_000, 2_000_000),
    "4M": (400_000, 4_000_000),
    "10M": (1_000_000, 10_000_000),
}
REPEATS = {"135K": 51, "420K": 51, "2M": 15, "10M": 7}  # (start, goal) pairs
SPACE = AttributeSpace([f"a{i}" for i in range(36)])
BATCH = 1024
NEW_SHARE = 0.1
SAMPLED = "4M"  # the size at which recording and sampling take turns, and nothing else is measured
N_SAMPLED = 16
N_ENVS = 256
MEGA = 1e6
NETWORKX_LIMIT = 3_000_000  # edges; beyond, its dicts take over 8 GB and minutes to build

PEERS = {name: version(name) for name in ("igraph", "rustworkx", "networkx")}

Pairs = list[tuple[int, int]]
Figures = dict[str, tuple[float, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--quick", action="store_true", help="135K, few repeats, nothing written")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sizes = ["135K"] if args.quick else args.edges
    columns: dict[str, Figures] = {}
    for size in sizes:
        rng, extra = np.random.default_rng(args.seed), {"peers": PEERS}
        if size == SAMPLED:
            columns[size], extra = measure_sampling(rng)
        else:
            columns[size] = measure(size, 3 if args.quick else REPEATS[size], rng)
        if not args.quick:
            for method, (value, unit) in columns[size].items():
                ledger.append(
                    "graph",
                    env="synthetic",
                    task=size,
                    method=method,
                    seed=args.seed,
                    value=value,
                    unit=unit,
                    extra=extra,
                )
        gc.collect()
    print_table(columns)


def measure(size: str, repeats: int, rng: np.random.Generator) -> Figures:
    """Every figure for one size."""
    n_nodes, n_edges = SIZES[size]
    vectors = random_vectors(n_nodes, rng)
    source, target = random_edges(n_nodes, n_edges, rng)
    counts, figures = build(vectors, source, target, rng)
    planner = Planner(counts, max_trees=N_ENVS)
    figures["prepare"] = (seconds(planner.edge_probs) * 1e3, "ms")
    pairs = distinct_pairs(counts.n_nodes, repeats, rng)
    figures |= measure_plans(planner, pairs)
    figures |= measure_hops(planner, rng)
    figures |= measure_peers(planner, pairs)
    first, step = figures["first_plan"][0], figures["next_hop"][0]
    for peer in ("igraph", "rustworkx", "networkx"):
        if peer in figures:
            figures[f"{peer}_to_first_plan"] = (figures[peer][0] / first, "ratio")
            figures[f"{peer}_to_next_hop"] = (figures[peer][0] * 1e3 / step, "ratio")
    return figures


# --- the graph ------------------------------------------------------------------------------


def random_vectors(n: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct attribute vectors ``(n, 36)``."""
    numbers = np.unique(rng.integers(0, 1 << 36, int(1.01 * n) + 10))
    numbers = rng.permutation(numbers)[:n]
    return ((numbers[:, None] >> np.arange(36)) & 1).astype(np.int8)


def random_edges(n_nodes: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Distinct edges in random order, no loops."""
    drawn = rng.integers(0, n_nodes, (2, int(1.1 * n)))
    keys = np.unique(drawn[0] * n_nodes + drawn[1])
    keys = rng.permutation(keys[keys // n_nodes != keys % n_nodes])[:n]
    return keys // n_nodes, keys % n_nodes


def build(
    vectors: np.ndarray, source: np.ndarray, target: np.ndarray, rng: np.random.Generator
) -> tuple[TransitionCounts, Figures]:
    """Record all edges, the last fifth under the clock, then attempt each once or so."""
    counts = TransitionCounts(SPACE)
    bulk = int(0.8 * len(source))
    for part in np.array_split(np.arange(bulk), 1 + bulk // 100_000):
        counts.record(vectors[source[part]], vectors[target[part]])
    n_new = int(NEW_SHARE * BATCH)
    elapsed = n_recorded = 0
    for first in range(bulk, len(source), n_new):
        new = np.arange(first, min(first + n_new, len(source)))
        batch = rng.permutation(np.concatenate([new, rng.integers(0, first, BATCH - len(new))]))
        ends = vectors[source[batch]], vectors[target[batch]]
        elapsed += seconds(partial(counts.record, *ends))
        n_recorded += BATCH
    known = [rng.integers(0, len(source), BATCH) for _ in range(100)]
    again = [(vectors[source[batch]], vectors[target[batch]]) for batch in known]
    known_time = np.median([seconds(partial(counts.record, *ends)) for ends in again])
    counts.compact()
    figures: Figures = {
        "nodes": (counts.n_nodes, "nodes"),
        "edges": (counts.n_edges, "edges"),
        "record": (n_recorded / elapsed / MEGA, "M transitions/s"),
        "record_known": (BATCH / float(known_time) / MEGA, "M transitions/s"),
        "bytes_per_edge": (counts.nbytes / counts.n_edges, "bytes"),
    }
    for part in np.array_split(rng.integers(0, len(source), len(source)), 1 + bulk // 100_000):
        worked = rng.random(len(part)) < (source[part] % 100) / 100
        counts.attempt(vectors[source[part]], vectors[target[part]], worked)
    return counts, figures


# --- our figures ----------------------------------------------------------------------------


def measure_plans(planner: Planner, pairs: Pairs) -> Figures:
    """First plans beside raw scipy, in turn: what disturbs one, or warms its caches, does both."""
    index, costs = planner.counts.index, planner._reversed
    ours: list[float] = []
    raw: list[float] = []
    for number, (start, end) in enumerate(pairs):
        goal = index.vectors([end])[0]
        calls = [
            (ours, partial(planner.plan, start, goal)),
            (raw, partial(csgraph.dijkstra, costs, indices=end, return_predecessors=True)),
        ]
        for times, call in calls if number % 2 else reversed(calls):
            times.append(seconds(call))
    first, scipy = float(np.median(ours)), float(np.median(raw))
    return {
        "first_plan": (first * 1e3, "ms"),
        "scipy_dijkstra": (scipy * 1e3, "ms"),
        "first_plan_to_scipy": (first / scipy, "ratio"),
    }


def measure_hops(planner: Planner, rng: np.random.Generator) -> Figures:
    """Next hops to goals that were asked for before."""
    counts = planner.counts
    goals = counts.index.vectors(rng.choice(counts.n_nodes, N_ENVS, replace=False))
    nodes = rng.integers(0, counts.n_nodes, (200, N_ENVS))
    planner.next_hops(nodes[0], goals)  # grows the trees
    single = [seconds(partial(hop_by_hop, planner, row.tolist(), goals[0])) for row in nodes]
    batched = [seconds(partial(planner.next_hops, row, goals)) for row in nodes]
    return {
        "next_hop": (float(np.median(single)) * MEGA / N_ENVS, "µs"),
        "next_hops_256": (float(np.median(batched)) * MEGA / N_ENVS, "µs per environment"),
    }


def hop_by_hop(planner: Planner, nodes: list[int], goal: np.ndarray) -> None:
    for node in nodes:
        planner.next_hop(node, goal)


def measure_sampling(rng: np.random.Generator) -> tuple[Figures, dict[str, Any]]:
    """Recording and sampling in turn, until the new edges have been merged once."""
    n_nodes, n_edges = SIZES[SAMPLED]
    vectors = random_vectors(n_nodes, rng)
    source, target = random_edges(n_nodes, n_edges, rng)
    counts = TransitionCounts(SPACE)
    for part in np.array_split(np.arange(n_edges), 40):
        counts.record(vectors[source[part]], vectors[target[part]])
    counts.compact()

    def turn(before: np.ndarray, after: np.ndarray, nodes: np.ndarray) -> None:
        counts.record(before, after)
        counts.sample_neighbours(nodes, rng, by_need=True)

    n_new = N_SAMPLED // 2
    times = []
    for _ in range(n_edges // 32 // n_new + 100):
        known = rng.integers(0, n_edges, N_SAMPLED - n_new)
        new = rng.integers(0, n_nodes, (2, n_new))  # hardly ever known: 1 in 40,000 is
        ends = vectors[np.concatenate([[source[known], target[known]], new], axis=1)]
        nodes = counts.index.find(ends[1])
        times.append(seconds(partial(turn, *ends, nodes)) * 1e3)
    figures: Figures = {"record_and_sample_16": (float(np.mean(times)), "ms")}
    extra = {"n": len(times), "median_ms": float(np.median(times)), "longest_ms": max(times)}
    return figures, extra


# --- peers ----------------------------------------------------------------------------------


def measure_peers(planner: Planner, pairs: Pairs) -> Figures:
    """One path by each peer, and the check that it costs what ours costs."""
    wanted = [
        planner.distances(planner.counts.index.vectors([end])[0])[start] for start, end in pairs
    ]
    figures: Figures = {}
    for name, search in peers(planner):
        times = []
        for (start, end), cost in zip(pairs, wanted, strict=True):
            begin = time.process_time()
            found = search(start, end)
            times.append(time.process_time() - begin)
            if not np.isclose(found, cost):
                raise RuntimeError(f"{name} finds {found} from {start} to {end}, we {cost}")
        figures[name] = (float(np.median(times)) * 1e3, "ms")
        del search
        gc.collect()
    return figures


def peers(planner: Planner) -> Iterator[tuple[str, Callable[[int, int], float]]]:
    """Name and search of each peer; a search gives the cost of its path."""
    graph = planner._reversed.T.tocoo()
    source, target, costs = graph.row.tolist(), graph.col.tolist(), graph.data
    n_nodes = graph.shape[0]
    other = igraph.Graph(n_nodes, np.stack([graph.row, graph.col], axis=1), directed=True)
    other.es["cost"] = costs.tolist()
    yield "igraph", partial(igraph_search, other, costs)
    yield "igraph_tree", partial(igraph_tree, other)
    del other
    yield "rustworkx", rustworkx_search(n_nodes, source, target, costs.tolist())
    if len(costs) <= NETWORKX_LIMIT:
        other = networkx.DiGraph()
        other.add_nodes_from(range(n_nodes))
        other.add_weighted_edges_from(zip(source, target, costs.tolist(), strict=True))
        yield (
            "networkx",
            lambda start, end: networkx.single_source_dijkstra(other, start, end)[0],
        )
        yield (
            "networkx_bidirectional",
            lambda start, end: networkx.bidirectional_dijkstra(other, start, end)[0],
        )


def igraph_search(graph: igraph.Graph, costs: np.ndarray, start: int, end: int) -> float:
    path = graph.get_shortest_path(start, end, weights="cost", output="epath")
    return float(costs[path].sum()) if path else np.inf


def igraph_tree(graph: igraph.Graph, start: int, end: int) -> float:
    return float(graph.distances(end, mode="in", weights="cost")[0][start])


def rustworkx_search(
    n_nodes: int, source: list[int], target: list[int], costs: list[float]
) -> Callable[[int, int], float]:
    graph: Any = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from(list(zip(source, target, costs, strict=True)))

    def search(start: int, end: int) -> float:
        found = rustworkx.dijkstra_shortest_paths(graph, start, end, weight_fn=float)
        if end not in found:
            return np.inf
        path = list(found[end])
        return sum(graph.get_edge_data(*hop) for hop in pairwise(path))

    return search


# --- helpers --------------------------------------------------------------------------------


def distinct_pairs(n_nodes: int, n: int, rng: np.random.Generator) -> Pairs:
    """(start, goal) pairs, every goal another."""
    ends = rng.choice(n_nodes, 2 * n, replace=False).tolist()
    return list(zip(ends[:n], ends[n:], strict=True))


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def print_table(columns: dict[str, Figures]) -> None:
    rows = list(dict.fromkeys(row for figures in columns.values() for row in figures))
    print(f"{'':24}{'unit':22}" + "".join(f"{size:>12}" for size in columns))
    for row in rows:
        unit = next(figures[row][1] for figures in columns.values() if row in figures)
        cells = (f"{figures[row][0]:12,.4g}" if row in figures else f"{'left out':>12}"
                 for figures in columns.values())  # fmt: skip
        print(f"{row:24}{unit:22}" + "".join(cells))
    if "10M" in columns:
        print("networkx is left out at 10M edges: its dicts would take over 8 GB.")


if __name__ == "__main__":
    main()
