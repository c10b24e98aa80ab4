"""MiniGrid's DoorKey from its partial 7×7 view: ready attributes, one agent, many goals.

``python examples/doorkey.py`` trains for 1M steps and gives the agent tasks: to reach the goal
square, and others that it never trained for. The same training by ``python benchmarks/others.py
--env MiniGrid-DoorKey-8x8-v0 --method ap`` solved all of 500 tasks for each of seven goals with
each of three seeds. ``attrplan attributes MiniGrid-DoorKey-8x8-v0 --gym-packages minigrid`` lists
the attributes, which MiniGrid's grids give by themselves.
"""

from __future__ import annotations

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.attributes.library.grid_words import GridWords

ENV_ID = "MiniGrid-DoorKey-8x8-v0"
GOALS = [
    "at_goal",
    "carrying=nothing, room=goal",  # leave the key behind
    "carrying=nothing, door=open, room=1 away",
    "at_goal, door=closed",  # close the door behind you
]


def make_env(goal: str = "at_goal") -> gym.Env:
    """The world, what is seen of it as words, its ready attributes, and what to ask for."""
    env = GridWords(gym.make(ENV_ID))
    return AttributeWrapper(env, goal_sampler=lambda achieved, rng: [goal] * len(achieved))


def main(
    total_timesteps: int = 1_000_000, n_envs: int = 32, n_tasks: int = 100
) -> dict[str, TaskResult]:
    """Train, show a plan, and count the tasks solved for each goal."""
    worlds = make_vec_env(make_env, n_envs)
    agent = AttributePlannerAgent("MultiInputPolicy", worlds, practice="need", seed=0)
    agent.learn(total_timesteps, progress_bar=True)

    observation, _ = make_env().reset(seed=0)
    plan = agent.plan(observation)
    print(plan.describe() if plan else "the goal is not in the explored graph yet")

    results = {}
    for goal in GOALS:
        tests = make_vec_env(make_env, min(20, n_tasks), env_kwargs={"goal": goal})
        results[goal] = evaluate_tasks(agent, tests, n_tasks=n_tasks, seed=1)
        print(f"{goal}: {results[goal]}")
    return results


if __name__ == "__main__":
    main()
