"""Which description came before: said where a view is seen, in practice as when acting."""

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent.advice import AdviceWarning
from gym_attrplan.agent.environments import as_vec_env, attribute_space
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.trail import CAME_FROM, TrailVecEnv, with_trail
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers import AttributeWrapper

SPACE = AttributeSpace(["four", "two", "one"])


def counters(ends_at=None):
    """A counter that is seen as three bits."""
    return DummyVecEnv(
        [lambda: AttributeWrapper(GenericTestEnv(ends_at=ends_at), SPACE, three_bits)]
    )


def test_an_observation_says_what_came_before_and_each_episode_begins_without():
    env = TrailVecEnv(counters(ends_at=3))
    assert env.reset()[CAME_FROM].tolist() == [[0, 0, 0]]  # none
    seen, infos = [], []
    for action in (1, 0, 1, 1):  # 001, 001, 010, 011 and over
        observations, _, _, infos = env.step(np.array([action]))
        assert env.observation_space.contains({key: x[0] for key, x in observations.items()})
        seen.append(observations[CAME_FROM][0].tolist())
    assert seen == [[1, 1, 1], [1, 1, 1], [1, 1, 2], [0, 0, 0]]
    assert infos[0]["terminal_observation"][CAME_FROM].tolist() == [1, 2, 1]


def test_it_is_said_beside_a_view_and_not_beside_numbers():
    numbers = counters()
    assert with_trail(numbers) is numbers
    views = as_vec_env("MiniGrid-Empty-5x5-v0", n_envs=1)
    practice = PracticeVecEnv(
        views,
        TransitionCounts(space := attribute_space(views)),
        HopOutcomes(space),
        rng=np.random.default_rng(0),
    )
    assert CAME_FROM in practice.observation_space.spaces


@pytest.mark.filterwarnings(f"ignore::{AdviceWarning.__module__}.AdviceWarning")
def test_acting_shows_the_policy_the_same_as_practice(monkeypatch):
    env = as_vec_env("MiniGrid-DoorKey-5x5-v0", n_envs=1)
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=0, device="cpu").learn(64)
    shown, act = [], agent.low_level.predict

    def watch(observations, **options):
        shown.append(observations[CAME_FROM].copy())
        return act(observations, **options)

    monkeypatch.setattr(agent.low_level, "predict", watch)
    env.seed(3)
    trail = TrailVecEnv(agent.env)
    observations, state, rng = trail.reset(), None, np.random.default_rng(0)
    over, n_pasts = np.ones(1, np.bool_), set()
    for _ in range(600):
        past = observations.pop(CAME_FROM)
        _, state = agent.predict(observations, state, over, deterministic=False)
        assert shown.pop().tolist() == past.tolist()
        n_pasts.add(past[0].tobytes())
        observations, _, over, _ = trail.step(rng.integers(7, size=1))
    assert len(n_pasts) > 1
