"""Holds the batched MiniGrid equal to MiniGrid's own environments, action by action."""

from __future__ import annotations

import copy
from types import MethodType

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import numpy as np
from minigrid.minigrid_env import MiniGridEnv

from gym_attrplan.attributes.library import babyai, family_of
from gym_attrplan.attributes.library import minigrid as grids
from gym_attrplan.attributes.library.minigrid_batch import MiniGridBatchAttributes
from gym_attrplan.envs.minigrid import MiniGridVectorEnv
from gym_attrplan.envs.minigrid.support import bound_placing
from gym_attrplan.error import InvalidAttributes

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE = range(6)
N_ACTIONS = 7


def curious(env, rng):
    """An action that often does something with what lies ahead, so that episodes get somewhere."""
    if rng.random() < 0.2:
        return int(rng.integers(N_ACTIONS))
    front = env.unwrapped.grid.get(*env.unwrapped.front_pos)
    if front is not None and front.type == "door" and not front.is_open:
        return TOGGLE
    if front is not None and front.can_pickup():
        return int(rng.choice([PICK_UP, TOGGLE]))
    if env.unwrapped.carrying and rng.random() < 0.05:
        return DROP
    return int(rng.choice([LEFT, RIGHT, FORWARD], p=[0.2, 0.2, 0.6]))


def ready_or_none(make, env):
    """The attributes with all parts, so that each is compared; None where there are none at all."""
    is_level = hasattr(getattr(env.unwrapped, "template", env.unwrapped), "gen_mission")
    try:
        return make(env, babyai.PARTS if is_level else grids.PARTS)
    except InvalidAttributes:
        return None


class Singles:
    """MiniGrid's own environments, which begin the next episode in the step that ends one."""

    def __init__(self, env_id, n_envs, seed, *, without_missions=False, **kwargs):
        self.envs = [gym.make(env_id, disable_env_checker=True, **kwargs) for _ in range(n_envs)]
        if without_missions:
            for env in self.envs:
                env.unwrapped.step = MethodType(MiniGridEnv.step, env.unwrapped)
                bound_placing(env.unwrapped)
        self.now = [env.reset(seed=seed + i)[0] for i, env in enumerate(self.envs)]
        ready = ready_or_none(family_of(self.envs[0]), self.envs[0])
        self.readers = [copy.copy(ready) for _ in self.envs]  # each keeps its episode's rooms

    def step(self, actions):
        """Rewards, ends, truncations, and each finished episode's last observation."""
        results = []
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            self.now[i], reward, terminated, truncated, info = env.step(action)
            last = self.now[i] if terminated or truncated else None
            if last is not None:
                self.now[i] = env.reset()[0]
            assert info == {}
            results.append((reward, terminated, truncated, last))
        return list(zip(*results, strict=True))

    @property
    def attributes(self):
        return [read(env) for read, env in zip(self.readers, self.envs, strict=True)]

    @property
    def carried(self):
        held = [env.unwrapped.carrying for env in self.envs]
        return [(1, 0, 0) if thing is None else thing.encode() for thing in held]


def assert_alike(observation, other):
    np.testing.assert_array_equal(observation["image"], other["image"])
    assert observation["direction"] == other["direction"]
    assert observation["mission"] == other["mission"]


def assert_equal_to_minigrid(env_id, *, n_envs=8, n_steps=50, seed=0, **kwargs):
    """Play the same random actions in both, compare all that they give, count what was won."""
    envs = MiniGridVectorEnv(env_id, n_envs, **kwargs)
    observations, _ = envs.reset(seed=seed)
    singles = Singles(env_id, n_envs, seed, **kwargs)
    ready = ready_or_none(MiniGridBatchAttributes, envs)
    rng, n_won = np.random.default_rng(seed), 0
    for _ in range(n_steps):
        for i, observation in enumerate(singles.now):
            assert_alike(observation, {key: part[i] for key, part in observations.items()})
        looks = envs.things.tables.looks[envs.carried]
        np.testing.assert_array_equal(looks, singles.carried)
        if ready is not None:
            np.testing.assert_array_equal(ready(envs), singles.attributes)
        actions = np.array([curious(env, rng) for env in singles.envs])
        observations, *judged, info = envs.step(actions)
        *expected, lasts = singles.step(actions)
        np.testing.assert_array_equal(judged, expected)
        n_won += int((judged[0] > 0).sum())
        for i, last in enumerate(lasts):
            if last is not None:
                assert_alike(info["final_obs"][i], last)
                assert info["_final_obs"][i]
    return n_won
