"""Gymnasium's Taxi, asked for more than its one task: the passenger anywhere, the taxi anywhere.

``python examples/taxi.py`` trains for 500,000 steps, without an option but the seed, and asks for
the passenger at any of the four stands or in the taxi, whatever the destination; and then for goals
about the taxi as well. ``python benchmarks/defaults.py --envs Taxi-v4`` measures the same.
"""

from __future__ import annotations

import gymnasium as gym
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks

PLACES = ["red", "green", "yellow", "blue", "in taxi"]
TASKS = [f"passenger={place}" for place in PLACES]
OTHERS = ["taxi=green", "taxi=blue, passenger=in taxi", "taxi=between, passenger=in taxi"]


def make_env(goals: list[str] = TASKS) -> gym.Env:
    """The taxi with its ready attributes; each episode asks for one of the goals."""

    def sample(achieved, rng):
        return [goals[i] for i in rng.integers(len(goals), size=len(achieved))]

    return AttributeWrapper(gym.make("Taxi-v4"), goal_sampler=sample)


def main(
    total_timesteps: int = 500_000, n_envs: int = 32, n_tasks: int = 200
) -> dict[str, TaskResult]:
    """Train, show a plan, and count the tasks solved."""
    venv = make_vec_env(make_env, n_envs)
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=0)
    agent.learn(total_timesteps, progress_bar=True)

    observation, _ = make_env().reset(seed=0, options={"goal": "passenger=green, taxi=red"})
    plan = agent.plan(observation)
    print(plan.describe() if plan else "the goal is not in the explored graph yet")

    results = {}
    for name, goals in {"passenger anywhere": TASKS, **{one: [one] for one in OTHERS}}.items():
        tests = make_vec_env(make_env, min(50, n_tasks), env_kwargs={"goals": goals})
        results[name] = evaluate_tasks(agent, tests, n_tasks=n_tasks, seed=1)
        print(f"{name}: {results[name]}")
    return results


if __name__ == "__main__":
    main()
