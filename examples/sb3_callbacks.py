"""SB3's callbacks on the agent: checkpoints, evaluation, and a stop when it is good enough.

``python examples/sb3_callbacks.py`` trains on ``AttrCrafting-v0``; callbacks see the agent as their
``model`` and its clock. The log goes to ``runs/`` (``tensorboard --logdir runs``), checkpoints to
``checkpoints/``, the best agent to ``best/``.
"""

from __future__ import annotations

from stable_baselines3.common.callbacks import (
    CheckpointCallback,
    EvalCallback,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.evaluation import evaluate_policy

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.environments import as_vec_env

ENV_ID = "AttrCrafting-v0"


def main(total_timesteps: int = 1_000_000, n_envs: int = 64) -> int:
    """Train until 97 of 100 tasks are solved, or the steps are spent; returns the steps taken."""
    agent = AttributePlannerAgent(
        "MultiInputPolicy", ENV_ID, n_envs=n_envs, tensorboard_log="runs", seed=0
    )
    tests = as_vec_env(ENV_ID, n_envs=100)
    every = (
        max(1_000, total_timesteps // 10) // n_envs
    )  # a callback's step is one of all environments
    callbacks = [
        CheckpointCallback(save_freq=every, save_path="checkpoints"),
        EvalCallback(
            tests,
            callback_on_new_best=StopTrainingOnRewardThreshold(0.97, verbose=1),
            n_eval_episodes=100,
            eval_freq=every,
            best_model_save_path="best",
            verbose=1,
        ),
    ]
    agent.learn(total_timesteps, callback=callbacks, progress_bar=True)

    best = AttributePlannerAgent.load("best/best_model.zip")
    reward, _ = evaluate_policy(best, tests, n_eval_episodes=100)
    print(f"the best agent earns {reward:.2f} a task, after {agent.num_timesteps:,} steps at most")
    return agent.num_timesteps


if __name__ == "__main__":
    main()
