"""MiniGrid's DoorKey from its partial 7×7 view: ready attributes, one agent, many goals.

``python examples/doorkey.py`` trains for 300,000 steps, without an option but the seed, and gives
the agent tasks: to reach the goal square, and others that it never trained for. ``attrplan
attributes MiniGrid-DoorKey-8x8-v0 --gym-packages minigrid`` lists the attributes, which MiniGrid's
grids give by themselves.
"""

from __future__ import annotations

import minigrid  # noqa: F401  registers its environments

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks

ENV_ID = "MiniGrid-DoorKey-8x8-v0"
GOALS = [
    "at_goal",
    "carrying=nothing, room=goal",  # leave the key behind
    "carrying=nothing, door=open, room=1 away",
    "at_goal, door=closed",  # close the door behind you
]


def main(
    total_timesteps: int = 300_000, n_envs: int | None = None, n_tasks: int = 100
) -> dict[str, TaskResult]:
    """Train, show a plan, and count the tasks solved for each goal."""
    agent = AttributePlannerAgent("MultiInputPolicy", ENV_ID, n_envs=n_envs, seed=0)
    agent.learn(total_timesteps, progress_bar=True)

    tests = as_vec_env(ENV_ID, n_envs=min(20, n_tasks))
    observation = {key: part[0] for key, part in tests.reset().items()}
    plan = agent.plan(observation, "at_goal")
    print(plan.describe() if plan else "no way to the goal is known yet")

    results = {}
    for goal in GOALS:
        results[goal] = evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=[goal], seed=1)
        print(f"{goal}: {results[goal]}")
    return results


if __name__ == "__main__":
    main()
