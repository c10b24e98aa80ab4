"""AttributeWrapper without our planner: SB3's DQN with hindsight learns goals over attributes.

``python examples/her_goal_env.py`` trains DQN on a frozen lake, where any cell that is no hole may
be the goal, and prints the share of 100 goals that it reaches: all of them. Everything but the
wrapper and the replay buffer, which relabels the ends of episodes too, is plain Stable-Baselines3.
"""

from __future__ import annotations

import gymnasium as gym
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

from gym_attrplan import AttributeWrapper, GoalFusionExtractor, TerminalHerReplayBuffer


def make_env() -> gym.Env:
    """The lake; rows, columns and the goal square are its ready attributes."""
    env = gym.make("FrozenLake-v1", is_slippery=False)
    lake = env.unwrapped.desc
    cells = [(i, j) for i, row in enumerate(lake) for j, cell in enumerate(row) if cell != b"H"]

    def sample(achieved, rng):
        chosen = [cells[k] for k in rng.integers(len(cells), size=len(achieved))]
        return [{"row": row, "column": column} for row, column in chosen]

    return AttributeWrapper(env, goal_sampler=sample)


def main(total_timesteps: int = 30_000, n_tasks: int = 100) -> tuple[float, float]:
    """Train and evaluate as with any SB3 algorithm; the mean reward is the share of goals met."""
    model = DQN(
        "MultiInputPolicy",
        make_env(),
        replay_buffer_class=TerminalHerReplayBuffer,
        learning_starts=500,
        learning_rate=1e-3,
        gamma=0.95,
        target_update_interval=250,
        exploration_fraction=0.5,
        policy_kwargs={"features_extractor_class": GoalFusionExtractor},
        seed=0,
    )
    model.learn(total_timesteps, progress_bar=True)
    tests = make_vec_env(make_env, 1, seed=1)
    mean, deviation = evaluate_policy(model, tests, n_eval_episodes=n_tasks)
    print(f"{mean:.0%} of {n_tasks} goals met")
    return mean, deviation


if __name__ == "__main__":
    main()
