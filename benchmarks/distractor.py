"""The cost of an attribute that does not matter: ``python benchmarks/distractor.py``.

The same environments, steps and seeds with the attributes that tasks ask for, and with one more: a
flag that changes by itself every 25 steps, or the agent's room. No option but the seed. Suite
``distractor``.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from defaults import N_COPIES, SUITE
from ledger import append
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import evaluate_tasks

FLIPS_AFTER = 25
GOAL_KEYS = ("achieved_goal", "desired_goal")

CASES = {
    "MiniGrid-DoorKey-8x8-v0": (("carrying", "door", "at_goal"), ("flag", "room")),
    "AttrSwitches-v0": (tuple(f"switch {i}" for i in range(1, 5)), ("flag",)),
    "Corridor": (("left", "middle", "right"), ("flag",)),
}
"""Attributes that tasks ask for, and what is added to them, one at a time."""


class Described(gym.Wrapper[Any, Any, Any, Any]):
    """An attribute environment without goals, with its attributes and number of steps.

    Attributes:
        names: Of its attributes.
        values: What they are now.
        n_steps: Since the episode began.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.names = env.get_wrapper_attr("attribute_space").names
        assert isinstance(env.observation_space, gym.spaces.Dict)
        kept = {key: one for key, one in env.observation_space.items() if key not in GOAL_KEYS}
        self.observation_space = gym.spaces.Dict(kept)

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**kwargs)
        self.n_steps = 0
        return self._without_goals(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.n_steps += 1
        return self._without_goals(observation), float(reward), terminated, truncated, info

    def _without_goals(self, observation: dict[str, Any]) -> dict[str, Any]:
        self.values = dict(zip(self.names, observation["achieved_goal"].tolist(), strict=True))
        return {key: part for key, part in observation.items() if key not in GOAL_KEYS}


def make(env_id: str, names: tuple[str, ...]) -> gym.Env[Any, Any]:
    """An environment with some of its attributes, and with the flag if it is named."""
    case = SUITE[env_id]
    if env_id.startswith("MiniGrid"):
        import minigrid

        gym.register_envs(minigrid)
    inner = gym.make(env_id) if case.make is None else case.make()
    if not isinstance(inner.observation_space, gym.spaces.Dict) or (
        "achieved_goal" not in inner.observation_space.spaces
    ):
        inner = AttributeWrapper(inner)
    inner.get_wrapper_attr("set_wrapper_attr")("terminate_on_success", False)
    table = inner.get_wrapper_attr("attribute_space").table

    def describe(env: Any, seen: Any) -> dict[str, int]:
        described = env.get_wrapper_attr("values")
        flag = env.get_wrapper_attr("n_steps") // FLIPS_AFTER % 2
        return {name: flag if name == "flag" else described[name] for name in names}

    sizes = {name: 2 if name == "flag" else table[name] for name in names}
    return AttributeWrapper(Described(inner), sizes, describe)


def tasks(env_id: str, rng: np.random.Generator, n: int = 200) -> list[Any]:
    """The goals of the test: the suite's, or any values of the attributes that matter."""
    if env_id.startswith("MiniGrid"):
        return ["at_goal"]
    space = make(env_id, CASES[env_id][0]).get_wrapper_attr("attribute_space")
    rows = rng.integers(space.sizes, size=(n, len(space)))
    return [dict(zip(space.names, row, strict=True)) for row in rows.tolist()]


def run(env_id: str, extra: str | None, seed: int, n_tasks: int, budget: int | None) -> None:
    """Train, evaluate, and append the figure."""
    torch.set_num_threads(1)
    names, _ = CASES[env_id]
    one = partial(make, env_id, names if extra is None else (*names, extra))
    budget = budget or SUITE[env_id].budget
    venv, tests = (as_vec_env(make_vec_env(one, n)) for n in (N_COPIES, 20))
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=seed, device="cpu")
    agent.learn(budget)
    goals = tasks(env_id, np.random.default_rng(seed))
    result = evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=goals, seed=10_000 + seed)
    print(f"{env_id} with {extra or 'nothing more'}, seed {seed}: {result}", flush=True)
    append(
        "distractor",
        env=env_id,
        task=extra or "none",
        method="ap",
        budget=budget,
        seed=seed,
        n=result.n,
        successes=result.successes,
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--extra", nargs="+", default=["none", "flag", "room"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--n-tasks", type=int, default=200)
    parser.add_argument("--total-timesteps", type=int, help="instead of the suite's")
    options = parser.parse_args()
    for env_id in options.envs:
        for extra in [one for one in options.extra if one in ("none", *CASES[env_id][1])]:
            for seed in options.seeds:
                given = None if extra == "none" else extra
                run(env_id, given, seed, options.n_tasks, options.total_timesteps)


if __name__ == "__main__":
    main()
