"""MaskablePPO in hops: an action that the environment forbids is never taken."""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit
from sb3_contrib import MaskablePPO
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.algorithms.mask_policy import MaskPolicy
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment, InvalidOption
from gym_attrplan.report.calibration import try_edges

SMALL = {"n_steps": 64, "batch_size": 64}


class Ring(gym.Env):
    """Six places in a ring; which two of four actions are allowed depends on the place.

    Actions 0 and 1 go forward and back from even places, 2 and 3 from odd ones.
    """

    observation_space = spaces.Discrete(6)
    action_space = spaces.Discrete(4)
    n_forbidden = 0  # of all environments

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(6))
        return self.place, {}

    def step(self, action):
        type(self).n_forbidden += not self.action_masks()[action]
        self.place = (self.place + (1 if action % 2 == 0 else -1)) % 6
        return self.place, 0.0, False, False, {}

    def action_masks(self):
        odd = self.place % 2 == 1
        return np.array([not odd, not odd, odd, odd])


def place_of(env, observation):
    return {"place": env.unwrapped.place}


def make_env(inner=Ring):
    return AttributeWrapper(TimeLimit(inner(), 12), {"place": 6}, place_of)


def make_envs(n=3, inner=Ring):
    return DummyVecEnv([lambda: make_env(inner)] * n)


def make_agent(env=None, **options):
    given = {"low_level": "maskable_ppo", "low_level_kwargs": SMALL, "seed": 0, "device": "cpu"}
    return AttributePlannerAgent("MultiInputPolicy", env or make_envs(), **given | options)


@pytest.fixture(scope="module")
def agent():
    return make_agent().learn(384)


@pytest.fixture(autouse=True)
def none_forbidden():
    Ring.n_forbidden = 0
    yield
    assert Ring.n_forbidden == 0


def test_practice_takes_only_allowed_actions():
    agent = make_agent().learn(576)
    agent.practise(90, batch_steps=90)
    assert agent.counts.n_nodes == 6


def test_without_the_mask_the_same_hops_take_forbidden_actions():
    make_agent(low_level="ppo").learn(192)
    assert Ring.n_forbidden > 50
    Ring.n_forbidden = 0


@pytest.mark.parametrize("deterministic", [True, False])
def test_following_a_plan_takes_only_allowed_actions(agent, deterministic):
    env = make_env()
    evaluate_policy(agent, env, n_eval_episodes=8, deterministic=deterministic, warn=False)


def test_a_search_for_other_actions_keeps_to_the_mask(agent):
    """Returns to a place make the agent try other actions, and a lost agent tries them all."""
    env, state = make_env(), None
    observation, _ = env.reset(seed=0, options={"goal": {"place": 3}})
    env.terminate_on_success = False
    for _ in range(60):
        action, state = agent.predict(observation, state, deterministic=True)
        observation = env.step(action)[0]
    untrained = make_agent()
    for deterministic in (True, False):
        untrained.predict(observation, deterministic=deterministic)
        evaluate_policy(untrained, env, n_eval_episodes=4, deterministic=deterministic, warn=False)


def test_evaluations_take_only_allowed_actions(agent):
    evaluate_tasks(agent, make_envs(), n_tasks=12)
    try_edges(agent, make_envs(), n_attempts=20)


def test_a_loaded_agent_acts_alike(agent, tmp_path):
    agent.save(tmp_path / "agent")
    loaded = AttributePlannerAgent.load(tmp_path / "agent")
    env = make_env()
    observation, _ = env.reset(seed=1)
    mine = theirs = None
    for _ in range(12):
        action, mine = agent.predict(observation, mine, deterministic=True)
        other, theirs = loaded.predict(observation, theirs, deterministic=True)
        assert action == other
        observation = env.step(action)[0]


def test_the_mask_may_be_a_part_of_the_observation():
    class Shown(Ring):
        """Shows its mask, as PettingZoo's environments do."""

        action_masks = None
        observation_space = spaces.Dict(
            {"place": spaces.Discrete(6), "action_mask": spaces.Box(0, 1, (4,), np.int8)}
        )

        def reset(self, *, seed=None, options=None):
            return self.see(super().reset(seed=seed)[0]), {}

        def step(self, action):
            type(self).n_forbidden += not self.see(self.place)["action_mask"][action]
            self.place = (self.place + (1 if action % 2 == 0 else -1)) % 6
            return self.see(self.place), 0.0, False, False, {}

        def see(self, place):
            odd = place % 2
            return {"place": place, "action_mask": np.array([1 - odd, 1 - odd, odd, odd], np.int8)}

    agent = make_agent(make_envs(inner=Shown)).learn(192)
    evaluate_tasks(agent, make_envs(inner=Shown), n_tasks=6)
    assert Shown.n_forbidden == 0


def test_a_masker_of_sb3_contrib_works_inside_the_wrapper():
    def make():
        env = ActionMasker(TimeLimit(Ring(), 12), lambda env: env.unwrapped.action_masks())
        return AttributeWrapper(env, {"place": 6}, place_of)

    make_agent(DummyVecEnv([make] * 2)).learn(128)


def test_several_choices_at_once_have_their_own_masks():
    class Pair(gym.Env):
        observation_space = spaces.Discrete(2)
        action_space = spaces.MultiDiscrete([2, 3])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.on = 0
            return 0, {}

        def step(self, action):
            assert action[0] == self.on
            assert action[1] != self.on
            self.on = 1 - self.on
            return self.on, 0.0, False, False, {}

        def action_masks(self):
            return [self.on == 0, self.on == 1, self.on == 1, self.on == 0, True]

    def make():
        return AttributeWrapper(TimeLimit(Pair(), 9), ["on"], lambda env, seen: [env.unwrapped.on])

    agent = make_agent(DummyVecEnv([make] * 2)).learn(128)
    evaluate_policy(agent, make(), n_eval_episodes=2, warn=False)


def test_the_class_is_as_good_as_the_name():
    agent = make_agent(low_level=MaskablePPO)
    assert agent.options.low_level == "maskable_ppo"
    assert isinstance(agent.low_level.policy, MaskPolicy)


# --- errors -------------------------------------------------------------------------------------


def test_environments_without_masks_are_refused():
    class Free(Ring):
        action_masks = None

    with pytest.raises(InvalidOption, match=r"MaskablePPO needs action masks.* with 4 numbers"):
        make_agent(make_envs(inner=Free))


def test_a_mask_of_another_size_is_refused():
    class Short(Ring):
        def action_masks(self):
            return np.ones(3)

    with pytest.raises(InvalidEnvironment, match=r"returns 4 truth values .* shape \(3,\)"):
        make_env(Short).reset(seed=0)


def test_a_mask_that_forbids_everything_is_refused():
    class Stuck(Ring):
        def action_masks(self):
            return np.zeros(4)

    with pytest.raises(InvalidEnvironment, match="forbids every action"):
        make_agent(make_envs(inner=Stuck)).learn(64)


def test_without_sb3_contrib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[contrib\]"'):
        make_agent()


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InvalidOption, match='MaskablePPO hops with hops="changes" alone'):
        make_agent(planner="paper")
    with pytest.raises(InvalidOption, match="MaskPolicy; received 'UnitPolicy'"):
        AttributePlannerAgent("UnitPolicy", make_envs(), low_level="maskable_ppo")
    log = {"observations": np.zeros((3, 1)), "actions": np.zeros(3), "terminals": np.zeros(3)}
    with pytest.raises(InvalidOption, match="without memory or masks"):
        make_agent().learn_from(log)
