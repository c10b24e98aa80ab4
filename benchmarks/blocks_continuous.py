"""The continuous block world, learned from drops, beside its ceiling and the paper's figures.

``python benchmarks/blocks_continuous.py`` trains an agent on ``obs_type="state"``, which explores
by surprise, and gives it 1,000 tasks of each kind, of at most 40 drops each. A saved agent is not
trained again, and its results are not measured again without ``--again``. ``--ceiling`` measures
what planning could reach: the graph is the same, but physics itself is the forward model. Each of
its predictions is a simulation, so use fewer tasks.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from blocks_table import print_table
from cells import add_arguments, run_cells
from fair import better, both_ways
from ledger import append, measured_since
from scipy.spatial.transform import Rotation
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent import PLANNERS
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.navigator import Navigator
from gym_attrplan.envs.blocks import BlocksRules, DropTable
from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.forward import Outcomes

SUITE = "blocks_continuous"
ENV_ID = "AttrBlocksContinuous-v0"
TASKS = ("one_step", "multi_step", "four_stack", "one_step_70", "multi_step_70")
_PAPER, _ROBUST = PLANNERS["paper"], PLANNERS["robust"]
METHODS = {
    "inverse": None,
    "ap_no_cpi": replace(_PAPER, estimator="exploration_share"),
    "ap_paper": _PAPER,
    "ap_beta_memory_q": replace(_ROBUST, forward=False, edges="table"),
    "ap_forward": replace(_ROBUST, edges="table"),
    "ap": _ROBUST,
}
RULES = BlocksRules()
N_ENVS = 50


def make_envs(task: str, n_envs: int = N_ENVS) -> DummyVecEnv:
    """``n_envs`` environments in one process; the models get them as a batch."""
    return DummyVecEnv([partial(gym.make, ENV_ID, obs_type="state", task=task)] * n_envs)


class Physics:
    """A forward model that simulates drops on its own table."""

    def __init__(self, venv: DummyVecEnv) -> None:
        self.layout = ActionLayout.of(venv.action_space, n_choices=RULES.n_blocks)
        self._table = DropTable(RULES)
        self._answers = AttributeLogits(np.full(len(RULES.attributes), 2))
        self._rng = np.random.default_rng(0)

    def foresee(self, observations: dict[str, np.ndarray], actions: np.ndarray) -> Outcomes:
        """The outcome of each drop, from one trial."""
        vectors = np.zeros((*actions.shape[:2], len(RULES.attributes)), np.int64)
        for i, poses in enumerate(self._poses(observations["observation"])):
            for j, (block, x, y) in enumerate(actions[i]):
                self._table.place(poses)
                self._table.drop(int(block), (x, y), self._rng)
                vectors[i, j] = self._table.attributes
        sure = torch.nn.functional.one_hot(torch.from_numpy(vectors), 2).float()
        return Outcomes((0.998 * sure + 0.001).log(), self._answers, np.int8)

    def _poses(self, states: np.ndarray) -> np.ndarray:
        """``(n, n_blocks, 7)`` poses of the blocks in the observations."""
        rows = states.reshape(len(states), RULES.n_blocks, 9).astype(np.float64)
        places = (rows[..., :3] - (0.5, 0.5, 0.0)) * self._table.side
        columns = rows[..., 3:].reshape(*rows.shape[:2], 3, 2)
        third = np.cross(columns[..., 0], columns[..., 1])[..., None]
        turns = np.concatenate([columns, third], axis=-1).reshape(-1, 3, 3)
        quaternions = Rotation.from_matrix(turns).as_quat(scalar_first=True)
        return np.concatenate([places, quaternions.reshape(*rows.shape[:2], 4)], axis=-1)


class Ceiling:
    """The planner with physics as its forward model."""

    def __init__(self, agent: AttributePlannerAgent, venv: DummyVecEnv) -> None:
        foresight = Foresight(Physics(venv), n_candidates=64, rng=np.random.default_rng(0))
        options = replace(_ROBUST, first_edge=False)
        self._navigator = Navigator(
            agent.counts, options, max_hop_steps=1, continuum=True, foresight=foresight
        )
        self._space = venv.action_space

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, *unused: Any
    ) -> tuple[np.ndarray, Any]:
        """The best drop found; a random one if none leads to the goal."""
        n = len(observation["achieved_goal"])
        journey = self._navigator.advance(state, observation, np.asarray(episode_start))
        actions = np.stack([self._space.sample() for _ in range(n)])
        if journey.actions is not None:
            actions[journey.foreseen] = journey.actions[journey.foreseen]
        return actions, journey


def train(
    budget: int, seed: int, exploration: str, n_envs: int, passes: int, device: str
) -> AttributePlannerAgent:
    """Nine tenths of the drops explore; the rest are π's attempts."""
    make = partial(gym.make, ENV_ID, obs_type="state")
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        SubprocVecEnv([make] * n_envs, start_method="spawn"),
        low_level="inverse",
        exploration=exploration,
        exploration_fraction=0.9,
        seed=seed,
        device=device,
        low_level_kwargs={
            "holdout": 0.02,
            "max_epochs": min(100, max(4, passes // budget)),
            "batch_size": 1_024,
            "learning_rate": 2e-3,
            "patience": 1_000,
            "forward_arch": [512, 512, 256],
        },
    )
    agent.learn(budget, progress_bar=True)
    agent.get_env().close()
    return agent


def measure(
    agent: AttributePlannerAgent,
    method: str,
    task: str,
    n_tasks: int,
    seed: int,
    *,
    env: str = ENV_ID,
    make: Callable[[str, int], DummyVecEnv] = make_envs,
    truth: str | None = None,
    obs_type: str = "state",
) -> None:
    """Evaluate the agent in new environments and append the result."""
    start, venv = time.perf_counter(), make(task, min(N_ENVS, n_tasks))
    model: Any = agent.low_level
    if method == "ceiling":
        model = Ceiling(agent, venv)
    elif METHODS[method] is not None:
        agent.set_planner(METHODS[method])
        model = agent
    options = {"n_tasks": n_tasks, "seed": 20_000 + 1_000 * seed, "truth": truth}
    if method == "inverse":
        result = better(both_ways(model, venv, **options))
    else:
        result = evaluate_tasks(model, venv, **options)
    venv.close()
    append(
        SUITE,
        env=env,
        task=task,
        method=method,
        budget=agent.num_timesteps,
        seed=seed,
        n=result.n,
        successes=result.successes,
        extra={
            "obs_type": obs_type,
            "exploration": agent.options.exploration,
            "edges": agent.counts.n_edges,
            "nodes": agent.counts.n_nodes,
            "mean_steps": round(float(result.n_steps.mean()), 2),
        },
    )
    took = time.perf_counter() - start
    print(f"seed {seed} {method} {task}: {result}, {took:.0f} s", flush=True)


def run(file: str, device: str, method: str, task: str, n_tasks: int, seed: int) -> None:
    torch.set_num_threads(1)
    agent = AttributePlannerAgent.load(file, device=device)
    measure(agent, method, task, n_tasks, seed)


def is_done(file: str | Path, method: str, task: str, n_tasks: int, seed: int, **more: Any) -> bool:
    """Whether the ledger has this figure, measured after the agent's file was written."""
    key = {"env": ENV_ID, "task": task, "method": method, "n": n_tasks, "seed": seed, **more}
    return measured_since(Path(file).stat().st_mtime, SUITE, **key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=300_000, help="drops, attempts included")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--n-tasks", type=int, default=1_000)
    parser.add_argument("--exploration", choices=["surprise", "random"], default="surprise")
    parser.add_argument(
        "--passes", type=int, default=5_000_000, help="training examples in all epochs together"
    )
    parser.add_argument("--ceiling", action="store_true", help="physics as the forward model")
    parser.add_argument("--agents", default="runs/continuous-{seed}.zip", help="their files")
    parser.add_argument("--again", action="store_true", help="also measure what is in the ledger")
    parser.add_argument("--device", default="auto")
    add_arguments(parser, jobs=2)
    parser.add_argument("--n-envs", type=int, default=8, help="environment processes in training")
    options = parser.parse_args()
    methods = ["ceiling"] if options.ceiling else options.methods
    for seed in options.seeds:
        file = options.agents.format(seed=seed)
        start = time.perf_counter()
        if not Path(file).exists():
            how = options.exploration, options.n_envs, options.passes, options.device
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            train(options.budget, seed, *how).save(file)
            print(f"seed {seed}: trained in {time.perf_counter() - start:.0f} s", flush=True)
        jobs = [
            (file, options.device, method, task, options.n_tasks, seed)
            for method in methods
            for task in options.tasks
            if options.again or not is_done(file, method, task, options.n_tasks, seed)
        ]
        run_cells(run, jobs, options)
    print_table(ENV_ID, [options.budget], suite=SUITE)


if __name__ == "__main__":
    main()
