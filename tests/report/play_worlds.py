"""What the tests of the page play: a counter whose agent is made by hand, so nothing is luck."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from testing_env import GenericTestEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.report.play.setup import Setup

NAMES = ["four", "two", "one", "never"]
N_STEPS = 40
"""How long episodes are."""


class DrawnCounter(GenericTestEnv):
    """A counter modulo 8 that draws itself as a bar, or writes itself down."""

    metadata = {"render_modes": ["rgb_array", "ansi"]}  # noqa: RUF012  Gymnasium's own form

    def __init__(self, render_mode=None, fails_at=None):
        super().__init__()
        self.render_mode, self.fails_at = render_mode, fails_at

    def step(self, action):
        answer = super().step(action)
        if self.count == self.fails_at:
            raise RuntimeError("the counter is stuck")
        return answer

    def render(self):
        if self.render_mode == "ansi":
            return f"count {self.count}"
        drawn = np.full((40, 80, 3), 235, np.uint8)
        drawn[10:30, 5 : 5 + 9 * self.count] = (11, 100, 119)
        return drawn


class TextCounter(DrawnCounter):
    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012


def bits(env, observation):
    """The counter's bits, and one that nothing ever sets."""
    count = env.unwrapped.count
    return [count >> 2 & 1, count >> 1 & 1, count & 1, 0]


def three(achieved, rng):
    """The task of the environment: to count to three."""
    return np.array([[0, 1, 1, -1]] * len(achieved), np.int8)


def wrapped(env):
    return AttributeWrapper(gym.wrappers.TimeLimit(env, N_STEPS), NAMES, bits, goal_sampler=three)


gym.register("PlayCounter-v0", lambda **kwargs: wrapped(DrawnCounter(**kwargs)))
gym.register("PlayText-v0", lambda **kwargs: wrapped(TextCounter(**kwargs)))
gym.register("PlayBlind-v0", lambda: wrapped(GenericTestEnv()))


class Counting:
    """A hop policy that counts on, whatever it is asked for, after some idle steps."""

    policy = None

    def __init__(self, agent, n_idle):
        self.action_space, self.observation_space = agent.action_space, agent.observation_space
        self.n_idle = n_idle

    def predict(self, observation, deterministic=False):
        self.n_idle -= 1
        n = len(observation["achieved_goal"])
        return np.full(n, int(self.n_idle < 0), np.int64), None


def counting_agent(env_id="PlayCounter-v0", *, hops="changes", n_idle=0):
    """An agent that knows every step of the counter, and has a policy that takes them."""
    env = gym.make(env_id)
    assert isinstance(env.action_space, spaces.Discrete)
    agent = AttributePlannerAgent("MultiInputPolicy", env, hops=hops, max_hop_steps=6, seed=0)
    counts = [[n >> 2 & 1, n >> 1 & 1, n & 1, 0] for n in [*range(8), 0]]
    before, after = np.array(counts[:-1], np.int8), np.array(counts[1:], np.int8)
    for _ in range(30):
        agent.counts.record(before, after)
        agent.counts.attempt(before, after, np.ones(8, np.bool_))
        changes = np.where(before == after, -1, after).astype(np.int8)
        agent.outcomes.record(before, changes, after, made=True, n_steps=1)
    agent.low_level = agent.explorer = Counting(agent, n_idle)
    return agent


def counting_setup(env_id="PlayCounter-v0", *, kwargs=None, others=None, **options):
    return Setup.of(counting_agent(env_id, **options), env_id, kwargs, others=others)
