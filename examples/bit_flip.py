"""Hindsight on a bit-flip puzzle: DQN with our terminal-relabelling buffer, beside SB3's stock one.

Six lamps, each action flips one, the goal is any of the 64 patterns, reward 1 on reaching it. A
full run (``python examples/bit_flip.py``, a minute) prints the share of 200 goals solved by each.
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from stable_baselines3 import DQN, HerReplayBuffer

from gym_attrplan import AttributeWrapper, TerminalHerReplayBuffer

N_LAMPS = 6
NAMES = [f"lamp_{i}" for i in range(N_LAMPS)]


class Lamps(gym.Env):
    """A row of lamps that starts at random; action i flips lamp i."""

    observation_space = spaces.MultiBinary(N_LAMPS)
    action_space = spaces.Discrete(N_LAMPS)

    def reset(self, *, seed=None, options=None):
        """Light each lamp or not."""
        super().reset(seed=seed)
        self.lamps = self.np_random.integers(2, size=N_LAMPS, dtype=np.int8)
        return self.lamps.copy(), {}

    def step(self, action):
        """Flip one lamp."""
        self.lamps[action] ^= 1
        return self.lamps.copy(), 0.0, False, False, {}


def random_pattern(achieved, rng):
    """Goals: any pattern for each row."""
    return rng.integers(2, size=achieved.shape, dtype=np.int8)


def make_env() -> gym.Env:
    """The puzzle with named lamps as attributes, with just enough tries."""
    env = gym.wrappers.TimeLimit(Lamps(), N_LAMPS)
    return AttributeWrapper(env, NAMES, lambda env, lamps: lamps, goal_sampler=random_pattern)


def train(buffer_class: type[HerReplayBuffer], total_timesteps: int, seed: int = 0) -> DQN:
    """DQN on the puzzle with the given replay buffer."""
    model = DQN(
        "MultiInputPolicy",
        make_env(),
        replay_buffer_class=buffer_class,
        learning_starts=500,
        learning_rate=1e-3,
        gamma=0.95,
        target_update_interval=200,
        exploration_fraction=0.3,
        exploration_final_eps=0.1,
        train_freq=4,
        gradient_steps=4,
        batch_size=128,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
    )
    return model.learn(total_timesteps)


def success_rate(model: DQN, n_episodes: int = 200, seed: int = 1_000) -> float:
    """Share of episodes that end with the goal met."""
    env, n_solved = make_env(), 0
    for episode in range(n_episodes):
        observation, info = env.reset(seed=seed + episode)
        done = bool(info["is_success"])
        while not done:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action))
            done = terminated or truncated
        n_solved += info["is_success"]
    return n_solved / n_episodes


def main(total_timesteps: int = 6_000) -> dict[str, float]:
    """Train with both buffers and print what each solves."""
    buffers = {"ours": TerminalHerReplayBuffer, "SB3's": HerReplayBuffer}
    rates = {name: success_rate(train(kind, total_timesteps)) for name, kind in buffers.items()}
    for name, rate in rates.items():
        print(f"hindsight with {name} buffer: {rate:.1%} of 200 goals solved")
    return rates


if __name__ == "__main__":
    main()
