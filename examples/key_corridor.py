"""MiniGrid's KeyCorridor: find the key, open the locked door, put the key down, take the ball.

``python examples/key_corridor.py`` trains for a million steps from MiniGrid's own 7×7 view, without
an option but the seed, and gives the agent tasks: to carry the ball, and others that it never
trained for. ``python benchmarks/defaults.py --envs MiniGrid-KeyCorridorS3R3-v0`` measures the same.
"""

from __future__ import annotations

import minigrid  # noqa: F401  registers its environments

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks

ENV_ID = "MiniGrid-KeyCorridorS3R3-v0"
GOALS = ["carrying=ball", "carrying=key", "not locked_doors, carrying=nothing"]


def main(
    total_timesteps: int = 1_000_000, n_envs: int | None = None, n_tasks: int = 100
) -> dict[str, TaskResult]:
    """Train, show a plan, and count the tasks solved for each goal."""
    agent = AttributePlannerAgent("MultiInputPolicy", ENV_ID, n_envs=n_envs, seed=0)
    agent.learn(total_timesteps, progress_bar=True)

    tests = as_vec_env(ENV_ID, n_envs=min(20, n_tasks))
    observation = {key: part[0] for key, part in tests.reset().items()}
    plan = agent.plan(observation, GOALS[0])
    print(plan.describe() if plan else "no way to the ball is known yet")

    results = {}
    for goal in GOALS:
        results[goal] = evaluate_tasks(agent, tests, n_tasks=n_tasks, goals=[goal], seed=1)
        print(f"{goal}: {results[goal]}")
    return results


if __name__ == "__main__":
    main()
