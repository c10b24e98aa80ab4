"""Other people's environments: ours beside SB3's learners, on the same observation and steps.

``python benchmarks/others.py --env Taxi-v4 --method ap ppo dqn_her`` trains each learner on the
budget of the environment and gives it 500 tasks. MiniGrid is seen as words by all, DoorKey through
its partial 7×7 view, KeyCorridor whole (``GridWords(whole=True)``); all have the same attributes,
goals, network and number of worlds. SB3's learners are trained with our settings and, as ``…_sb3``,
with SB3's own. Ours is also given goals that nobody trained (task ``goal: …``). SAC gets the
wall-clock time of our agent with the same seed instead of its steps, so run ``ap`` first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import gymnasium_robotics  # noqa: F401  registers its environments
import minigrid  # noqa: F401  registers its environments
import torch
from cells import add_arguments, run_cells
from fair import better, both_ways
from gymnasium import spaces
from gymnasium.wrappers import FilterObservation
from ledger import append, read
from paper.results import Measured
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import RandomModel, evaluate_tasks
from gym_attrplan.agent.low_level import defaults, hop_defaults, policy_defaults
from gym_attrplan.attributes.library.grid_words import GridWords
from gym_attrplan.attributes.library.minigrid import MiniGridAttributes

SUITE = "others"


def one_of(*goals: str) -> Callable[..., Any]:
    """Goals: any of these, for each row; what holds already is left out by the evaluation."""
    return lambda achieved, rng: [goals[i] for i in rng.integers(len(goals), size=len(achieved))]


def open_cells(env: gym.Env[Any, Any]) -> list[str]:
    """A maze's cells that are not walls, as goals."""
    rows = env.unwrapped.maze.maze_map
    cells = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell != 1]
    return [f"row={i}, column={j}" for i, j in cells]


@dataclass(frozen=True)
class World:
    """An environment, what is asked of it, and how our agent is trained on it.

    Attributes:
        budget: Steps of training.
        goals: What is asked, any of them.
        other_goals: What our agent is asked besides.
        n_envs: Worlds to train in.
        see: What makes an observation of the environment's own.
        parts: Which of MiniGrid's ready attributes; by default what they choose themselves.
        agent: Options of our agent.
    """

    budget: int
    goals: Callable[[gym.Env[Any, Any]], list[str]]
    other_goals: list[str]
    n_envs: int = 32
    see: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]] = lambda env: env
    parts: list[str] | None = None
    agent: dict[str, Any] = field(default_factory=dict)


_FAR = {"gamma": 0.99}
"""For hops of many steps."""

_SHORT = {"n_steps": 128, "batch_size": 512, "learning_rate": 1e-3}
"""Rollouts a quarter as long: more updates in as many steps."""


def _ppo(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings for what hops and for what explores."""
    return {"low_level_kwargs": settings, "exploration_kwargs": settings}


WORLDS = {
    "MiniGrid-DoorKey-8x8-v0": World(
        budget=1_000_000,
        goals=lambda env: ["at_goal"],
        other_goals=[
            "carrying=key, room=goal",
            "carrying=nothing, room=goal",
            "door=closed, room=goal",
            "carrying=nothing, door=open, room=1 away",
            "carrying=nothing, door=closed, room=1 away",
            "at_goal, door=closed",
        ],
        see=GridWords,
        agent={"practice": "need"},
    ),
    "MiniGrid-KeyCorridorS3R3-v0": World(
        budget=3_000_000,
        goals=lambda env: ["carrying=ball"],
        other_goals=[
            "carrying=key",
            "carrying=key, locked_doors",
            "not locked_doors",
            "not locked_doors, carrying=key",
            "not locked_doors, carrying=nothing",
        ],
        see=partial(GridWords, whole=True),
        # Not the room: where the key lies is another matter in each world. Hops are long, and with
        # a step penalty π would end them at once by dropping the key.
        parts=["carrying", "door"],
        agent={
            "practice": "need",
            "max_hop_steps": 200,
            "step_penalty": 0.0,
            **_ppo(_FAR | _SHORT),
        },
    ),
    "Taxi-v4": World(
        budget=500_000,
        goals=lambda env: [
            f"passenger={place}" for place in ("red", "green", "yellow", "blue", "in taxi")
        ],
        other_goals=[
            # Not a passenger at a stand and the taxi elsewhere: a drop at the destination ends it.
            "taxi=green",
            "taxi=red, passenger=in taxi",
            "taxi=green, passenger=in taxi",
            "taxi=blue, passenger=in taxi",
            "taxi=between, passenger=in taxi",
        ],
        agent={"practice": "need", "low_level": "dqn"},
    ),
    "PointMaze_Medium-v3": World(
        budget=1_000_000,
        goals=open_cells,
        other_goals=["row=1", "row=6", "column=1", "column=6", "row=3"],
        see=lambda env: FilterObservation(env, ["observation"]),
        agent={"practice": "need", "step_penalty": 0.0, **_ppo(_FAR)},
    ),
}


RIVALS: dict[str, tuple[type[BaseAlgorithm], dict[str, Any]]] = {
    "ppo": (PPO, {"ent_coef": 0.01}),
    "ppo_short": (PPO, _SHORT),
    "ppo_sb3": (PPO, {"n_steps": 64}),
    "dqn_her": (DQN, {}),
    "dqn_her_sb3": (DQN, {"train_freq": 1, "gradient_steps": 8}),
    "sac_her": (SAC, {}),
    "sac_her_sb3": (SAC, {"gradient_steps": -1}),
}
"""SB3's learners and what is set besides our settings; ``…_sb3`` learns as often as SB3 does in one
world, ``ppo_short`` as our agent does in KeyCorridor."""


def make_worlds(env_id: str, n_envs: int, *goals: str) -> VecEnv:
    """Worlds that ask for the given goals, or for the environment's own tasks."""
    world = WORLDS[env_id]

    def make() -> gym.Env[Any, Any]:
        env = gym.make(env_id)
        wanted = one_of(*(goals or world.goals(env)))
        ready = world.parts and MiniGridAttributes(env, parts=world.parts)
        return AttributeWrapper(world.see(env), function=ready, goal_sampler=wanted)

    return make_vec_env(make, n_envs)


class Deadline(BaseCallback):
    """Stops training after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.perf_counter() + seconds

    def _on_step(self) -> bool:
        return time.perf_counter() < self._end


def train(env_id: str, method: str, budget: int, seed: int, device: str) -> Any:
    """A trained model of the method."""
    world = WORLDS[env_id]
    venv = make_worlds(env_id, world.n_envs)
    common = {"seed": seed, "device": device}
    if method == "random":
        return RandomModel(venv, seed=seed)
    if method == "ap":
        # as in the paper, and with settings for each world; defaults.py has neither
        options = {"hops": "neighbours", **world.agent}
        agent = AttributePlannerAgent("MultiInputPolicy", venv, **common, **options)
        return agent.learn(budget)
    model = build_rival(method, venv, **common)
    if isinstance(model, SAC):
        return model.learn(10**9, Deadline(our_seconds(env_id, budget, seed)))
    return model.learn(budget)


def build_rival(method: str, venv: VecEnv, **common: Any) -> BaseAlgorithm:
    """One of SB3's learners on the tasks, with our network and hindsight."""
    algorithm, settings = RIVALS[method]
    ours = defaults(algorithm, venv) | hop_defaults(algorithm, venv.action_space)
    if method.endswith("_sb3"):
        kept = {"replay_buffer_class"}
    else:  # what is for hops alone: the discount, and hindsight from their ends only
        kept = ours.keys() - {"gamma", "replay_buffer_kwargs"}
    options = {name: ours[name] for name in kept & ours.keys()} | {"gamma": 0.99} | settings
    if "replay_buffer_class" in options:  # hindsight needs an episode's end, 640 steps at most
        options["learning_starts"] = 650 * venv.num_envs
    network = policy_defaults(venv.observation_space)
    return algorithm("MultiInputPolicy", venv, policy_kwargs=network, **options, **common)


def our_seconds(env_id: str, budget: int, seed: int) -> float:
    """How long our agent trained."""
    for line in reversed(read(SUITE)):  # the newest: it is this machine's
        if (line["env"], line["method"], line["budget"], line["seed"]) == (
            env_id,
            "ap",
            budget,
            seed,
        ):
            return float(line["extra"]["train_seconds"])
    raise SystemExit(f"sac_her trains as long as ap did: run --method ap --seeds {seed} first.")


def run(env_id: str, method: str, budget: int, seed: int, n_tasks: int, device: str) -> None:
    """Train and evaluate; each figure is a line of the ledger."""
    torch.set_num_threads(1)
    begun = time.perf_counter()
    model = train(env_id, method, budget, seed, device)
    seconds = round(time.perf_counter() - begun, 1)
    asked = {"task": ()}
    if method in ("ap", "random"):
        asked |= {f"goal: {goal}": (goal,) for goal in WORLDS[env_id].other_goals}
    for task, goals in asked.items():
        venv = make_worlds(env_id, 50, *goals)
        options = {"n_tasks": n_tasks, "seed": 10_000 + seed}
        if method in ("ap", "random"):
            best = evaluate_tasks(model, venv, **options)
        else:
            best = better(both_ways(model, venv, **options))
        append(
            SUITE,
            env=env_id,
            task=task,
            method=method,
            budget=budget,
            seed=seed,
            n=best.n,
            successes=best.successes,
            extra={
                "mean_steps": round(float(best.n_steps.mean()), 1),
                "train_seconds": seconds,
                "train_steps": int(getattr(model, "num_timesteps", 0)),
            },
        )
        print(f"{env_id} {method} seed {seed} {task}: {best}, {seconds:.0f} s", flush=True)


def print_table() -> None:
    """All seeds together."""
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in read(SUITE):
        rows.setdefault(tuple(line[k] for k in ("env", "task", "budget", "method")), []).append(
            line
        )
    for (env_id, task, budget, method), lines in sorted(rows.items()):
        found = Measured(tuple(lines))
        low, high = found.interval
        print(
            f"{env_id:28} {task:44} {method:8} {budget:>9,}  {found.percent:5.1f}% "
            f"({low:.1f} to {high:.1f}), {found.runs}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", nargs="+", choices=WORLDS, default=list(WORLDS))
    methods = ["ap", *RIVALS, "random"]
    parser.add_argument("--method", nargs="+", choices=methods, default=methods)
    parser.add_argument("--budget", type=int, help="steps, instead of the environment's own")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=500)
    parser.add_argument("--device", default="cpu", help="torch's, such as cuda")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    cells = []
    for env_id in options.env:
        discrete = isinstance(make_worlds(env_id, 1).action_space, spaces.Discrete)
        cannot = SAC if discrete else DQN
        budget = options.budget or WORLDS[env_id].budget
        for method in options.method:
            if method in RIVALS and RIVALS[method][0] is cannot:
                continue
            how = options.n_tasks, options.device
            cells += [(env_id, method, budget, seed, *how) for seed in options.seeds]
    run_cells(run, cells, options)
    print_table()


if __name__ == "__main__":
    main()
