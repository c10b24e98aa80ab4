"""SB3's learners on the suite of ``defaults.py``: same environments, attributes, goals and network.

``python benchmarks/others.py --envs Taxi-v4 --methods ppo_count dqn_her`` trains each learner on
the goals that are asked, for at least the steps and at least the wall-clock time of our agent,
which ``defaults.py`` must have measured with the same seed. It then gets the same 200 tasks, with
sampled and with deterministic actions; the better result counts. Lines of suite ``others``, task
``asked``. Our agent, in suite ``defaults``, was trained on no goal; neither was ``ap_paper``, our
version of the paper's agent, which has as many steps.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from bonuses import CountedTransitions, RandomNetworkDistillation
from cells import add_arguments, run_cells
from defaults import SUITE as CASES
from defaults import Case
from fair import better, both_ways
from gymnasium import spaces
from ledger import append, read
from paper.results import Measured
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import attribute_space
from gym_attrplan.agent.evaluation import asking_for, goals_to_ask
from gym_attrplan.agent.low_level import build, change_defaults, policy_defaults
from gym_attrplan.algorithms.her import TerminalHerReplayBuffer

SUITE = "others"
ENVS = {
    "MiniGrid-DoorKey-8x8-v0": "at the goal",
    "MiniGrid-KeyCorridorS3R3-v0": "carrying the ball",
    "MiniGrid-MultiRoom-N4-S5-v0": "at the goal",
    "MiniGrid-FourRooms-v0": "at the goal",
    "Taxi-v4": "the passenger anywhere",
    "FrozenLake8x8-v1": "any of three corners",
    "MountainCar-v0": "any of eight places",
    "PointMaze_Medium-v3": "any cell",
}
"""The environments, and what is asked for, in words."""

LONGEST_EPISODE = 650
"""Number of steps after which every environment has ended an episode: hindsight needs one."""


@dataclass(frozen=True)
class Rival:
    """A learner of SB3's.

    Attributes:
        algorithm: SB3's.
        ours: Whether it has the settings of our hop policy (for PPO), or of our library's
            hindsight (for the others), instead of SB3's own.
        bonus: The exploration bonus, if any.
        settings: Other settings.
    """

    algorithm: type[BaseAlgorithm]
    ours: bool = True
    bonus: type[VecEnvWrapper] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


_HINDSIGHT = {"replay_buffer_class": TerminalHerReplayBuffer, "gamma": 0.99}

RIVALS = {
    "ppo": Rival(PPO),
    "ppo_sb3": Rival(PPO, ours=False, settings={"n_steps": 64}),
    "ppo_count": Rival(PPO, bonus=CountedTransitions),
    "ppo_rnd": Rival(PPO, bonus=RandomNetworkDistillation),
    "dqn_her": Rival(DQN, settings=_HINDSIGHT),
    "dqn_her_sb3": Rival(
        DQN, ours=False, settings=_HINDSIGHT | {"train_freq": 1, "gradient_steps": 8}
    ),
    "sac_her": Rival(SAC, settings=_HINDSIGHT),
    "sac_her_sb3": Rival(SAC, ours=False, settings=_HINDSIGHT | {"gradient_steps": -1}),
}
"""``…_sb3`` has SB3's own settings, and learns about as often as SB3 does in one environment."""

PAPER = "ap_paper"


class AtLeast(BaseCallback):
    """Ends the training after a minimum of steps and of seconds; both must be reached.

    Schedules, such as that of DQN's random actions, take the minimum of steps for the whole
    training, however many ``learn`` is told.
    """

    def __init__(self, n_steps: int, seconds: float) -> None:
        super().__init__()
        self._n_steps, self._seconds = n_steps, seconds

    def _on_training_start(self) -> None:
        self._start = time.perf_counter()
        self.model._total_timesteps = self._n_steps

    def _on_step(self) -> bool:
        seconds = time.perf_counter() - self._start
        return self.num_timesteps < self._n_steps or seconds < self._seconds


def make_rival(method: str, venv: VecEnv, *, seed: int) -> BaseAlgorithm:
    """The learner on the environments, with our agent's network."""
    rival = RIVALS[method]
    settings = dict(rival.settings)
    if "replay_buffer_class" in settings:
        settings["learning_starts"] = LONGEST_EPISODE * venv.num_envs
    if rival.bonus is not None:
        venv = rival.bonus(venv)
    common = {"seed": seed, "device": "cpu"}
    names = attribute_space(venv).value_names()
    if not rival.ours:
        network = policy_defaults(venv.observation_space, names)
        return rival.algorithm(
            "MultiInputPolicy", venv, policy_kwargs=network, **settings, **common
        )
    settings = change_defaults(rival.algorithm, venv) | settings
    return build(
        rival.algorithm, "MultiInputPolicy", venv, settings, anneal=False, names=names, **common
    )


def our_seconds(env_id: str, budget: int, seed: int) -> float:
    """How long our agent with the same seed was trained."""
    for line in reversed(read("defaults")):
        if (line["env"], line["budget"], line["seed"]) == (env_id, budget, seed):
            return float(line["extra"]["train_seconds"])
    raise SystemExit(
        f"rivals are trained as long as ours: run defaults.py --envs {env_id} --seeds {seed} first."
    )


def run(env_id: str, method: str, seed: int, n_tasks: int, budget: int, seconds: float) -> None:
    """Measure a learner on an environment of the suite."""
    measure(SUITE, env_id, CASES[env_id], method, seed, n_tasks, budget, seconds)


def measure(
    suite: str,
    env_id: str,
    case: Case,
    method: str,
    seed: int,
    n_tasks: int,
    budget: int,
    seconds: float,
) -> None:
    """Train and evaluate one learner, and append the figure."""
    torch.set_num_threads(1)
    venv, tests = case.make_envs(env_id), case.make_envs(env_id, n_envs=20)
    goals = None if case.goals is None else case.goals(tests)
    start = time.perf_counter()
    model: Any
    if method == PAPER:
        model = AttributePlannerAgent(case.policy, venv, planner="paper", seed=seed, device="cpu")
        model.learn(budget)
    else:
        with asking_for(venv, goals_to_ask(None, venv, goals, seed=seed)):
            model = make_rival(method, venv, seed=seed)
            model.learn(10**9, AtLeast(budget, seconds))
    took = round(time.perf_counter() - start, 1)
    found = both_ways(model, tests, n_tasks=n_tasks, goals=goals, seed=10_000 + seed)
    best = better(found)
    append(
        suite,
        env=env_id,
        task="asked",
        method=method,
        budget=budget,
        seed=seed,
        n=best.n,
        successes=best.successes,
        extra={
            "mean_steps": round(float(best.n_steps.mean()), 1),
            "train_seconds": took,
            "our_seconds": seconds,
            "train_steps": model.num_timesteps,
            "both_ways": {name: one.successes for name, one in found.items()},
        },
    )
    print(f"{env_id} {method} seed {seed}: {best}, {model.num_timesteps:,} steps, {took:.0f} s")


def takes(method: str, env_id: str) -> bool:
    """Whether the learner supports the environment's action space."""
    if method == PAPER:
        return True
    discrete = isinstance(CASES[env_id].make_envs(env_id, n_envs=1).action_space, spaces.Discrete)
    return RIVALS[method].algorithm is not (SAC if discrete else DQN)


def print_table() -> None:
    """All seeds together, beside ours."""
    for env_id in ENVS:
        rows = {"ours": ("defaults", "ap")} | {name: (SUITE, name) for name in (PAPER, *RIVALS)}
        for name, (suite, method) in rows.items():
            lines = tuple(
                line
                for line in read(suite)
                if (line["env"], line["task"], line["method"]) == (env_id, "asked", method)
                and line["budget"] == CASES[env_id].budget
            )
            if lines:
                found = Measured(lines)
                low, high = found.interval
                print(f"{env_id:28} {name:12} {found.percent:5.1f}% ({low:.1f} to {high:.1f})")


def main() -> None:
    """Run the cells asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", choices=ENVS, default=list(ENVS))
    parser.add_argument("--methods", nargs="+", choices=[PAPER, *RIVALS], default=[PAPER, *RIVALS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=200)
    parser.add_argument("--total-timesteps", type=int, help="instead of ours; no minimum time")
    add_arguments(parser, jobs=1)
    options = parser.parse_args()
    cells = []
    for env_id in options.envs:
        for method in (one for one in options.methods if takes(one, env_id)):
            for seed in options.seeds:
                budget = options.total_timesteps or CASES[env_id].budget
                ours = 0.0 if options.total_timesteps else our_seconds(env_id, budget, seed)
                cells.append((env_id, method, seed, options.n_tasks, budget, ours))
    run_cells(run, cells, options)
    print_table()


if __name__ == "__main__":
    main()
