"""Learning from a log: an agent that never took a step plans through what nobody recorded.

``python examples/from_a_log.py`` records somebody who walks along twelve lamps and presses here and
there; each press also flips the lamps beside it. The agent learns from that log alone, and is asked
for patterns of lamps, of which there are 4,096; it made 50 of 50. Your own log may be an npz file,
a Minari dataset or an SB3 replay buffer (``docs/logs.rst``).
"""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import TimeLimit

from gym_attrplan import AttributePlannerAgent, AttributeWrapper

N_LAMPS = 12
LEFT, RIGHT, PRESS = range(3)


class LampRow(gym.Env):
    """Walk left or right along the lamps, or press: a lamp flips, and so do those beside it."""

    observation_space = gym.spaces.Box(0, N_LAMPS, (1 + N_LAMPS,), np.float32)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        """All lamps are out."""
        super().reset(seed=seed)
        self.place, self.lamps = int(self.np_random.integers(N_LAMPS)), np.zeros(N_LAMPS, np.int8)
        return self._seen(), {}

    def step(self, action):
        """Walk or press."""
        if action == PRESS:
            self.lamps[max(self.place - 1, 0) : self.place + 2] ^= 1
        else:
            self.place = int(np.clip(self.place + (-1, 1)[action], 0, N_LAMPS - 1))
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return np.array([self.place, *self.lamps], np.float32)


def lamps(env, observation):
    """The attributes, of one observation or of many."""
    return observation[..., 1:].astype(int)


def record(n_steps: int) -> list[dict]:
    """Somebody presses lamps as they come to mind, 100 steps an episode."""
    env, rng, episodes = LampRow(), np.random.default_rng(0), []
    for episode in range(max(n_steps // 100, 1)):
        seen, actions, target = [env.reset(seed=episode)[0]], [], rng.integers(N_LAMPS)
        for _ in range(100):
            action = PRESS if env.place == target else int(target > env.place)
            target = rng.integers(N_LAMPS) if action == PRESS else target
            actions.append(action)
            seen.append(env.step(action)[0])
        episodes.append({"observations": np.array(seen), "actions": np.array(actions)})
    return episodes


def main(total_timesteps: int = 20_000, n_tasks: int = 50) -> float:
    """Record, learn, and count the patterns made."""
    env = AttributeWrapper(TimeLimit(LampRow(), 200), [f"lamp {i}" for i in range(N_LAMPS)], lamps)
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=0)
    log = record(total_timesteps)
    agent.learn_from(log, describe=lambda seen: lamps(None, seen), progress_bar=True)
    print("\n".join(agent.explain_hop("lamp 0")))

    n_solved, rng = 0, np.random.default_rng(1)
    for task in range(n_tasks):
        observation, info = env.reset(seed=task, options={"goal": rng.integers(2, size=N_LAMPS)})
        state, over = None, info["is_success"]
        while not over:
            action, state = agent.predict(observation, state, deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        n_solved += info["is_success"]
    print(f"made {n_solved} of {n_tasks} patterns")
    return n_solved / n_tasks


if __name__ == "__main__":
    main()
