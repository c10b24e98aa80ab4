"""The whole loop on a grid world: explore, learn to hop, plan to goals nobody trained.

``python examples/switches.py`` trains for 1.2M steps and prints a plan for a partly specified goal
and the share of 200 random full targets that the agent solves. The demo of the command line,
``attrplan demo``, does the same with images.
"""

from __future__ import annotations

import gymnasium as gym

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks

ENV_ID = "AttrSwitches-v0"


def main(total_timesteps: int = 1_200_000) -> TaskResult:
    """Train, show a plan, and count the tasks solved."""
    agent = AttributePlannerAgent("MultiInputPolicy", ENV_ID, seed=0)
    agent.learn(total_timesteps, progress_bar=True)

    env = gym.make(ENV_ID)
    goal = "switch 1=red, switch 2=green"  # the other two are free
    observation, _ = env.reset(seed=0, options={"goal": goal})
    plan = agent.plan(observation)
    print(plan.describe() if plan else f"{goal} is not in the explored graph yet")

    result = evaluate_tasks(agent, as_vec_env(ENV_ID, n_envs=200), n_tasks=200, seed=1)
    print(f"solved {result}")
    return result


if __name__ == "__main__":
    main()
