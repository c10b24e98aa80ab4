"""An environment of your own: three lamps along a corridor, lit by whoever walks there.

``python examples/own_env_in_40_lines.py`` solves all of its 200 tasks.
"""

import gymnasium as gym
import numpy as np
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import evaluate_tasks


class Corridor(gym.Env):
    """Nine places, lamps at 1, 4 and 7; the actions are left, right and switch."""

    observation_space = gym.spaces.MultiDiscrete([9, 2, 2, 2])
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        """Stand somewhere, in the dark."""
        super().reset(seed=seed)
        self.state = np.array([self.np_random.integers(9), 0, 0, 0])
        return self.state.copy(), {}

    def step(self, action):
        """Walk, or switch the lamp that is here."""
        if action < 2:
            self.state[0] = np.clip(self.state[0] + 2 * action - 1, 0, 8)
        elif self.state[0] in (1, 4, 7):
            self.state[1 + self.state[0] // 3] ^= 1
        return self.state.copy(), 0.0, False, False, {}


def make_env():
    """The corridor with its lamps as attributes; any pattern of them may be the goal."""
    return AttributeWrapper(
        gym.wrappers.TimeLimit(Corridor(), 100),
        ["left", "middle", "right"],
        lambda env, seen: seen[1:],
        goal_sampler=lambda here, rng: rng.integers(2, size=here.shape),
    )


def main(total_timesteps=60_000, n_envs=16, n_tasks=200, seed=0):
    """Train, then ask for any pattern of lamps."""
    agent = AttributePlannerAgent("MultiInputPolicy", make_vec_env(make_env, n_envs), seed=seed)
    agent.learn(total_timesteps)
    observation, _ = make_env().reset(seed=0, options={"goal": "left, not middle, right"})
    print(agent.plan(observation).describe())
    result = evaluate_tasks(agent, make_vec_env(make_env, 20), n_tasks=n_tasks, seed=1)
    print(f"solved {result}")
    return result


if __name__ == "__main__":
    main()
