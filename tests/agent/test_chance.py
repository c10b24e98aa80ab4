"""Chance: environments in which an action has different effects are recognised and treated so."""

from itertools import count

import numpy as np
import pytest
import torch

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.agent import chance as module
from gym_attrplan.agent.chance import Chance
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.remote.practice import practise, take_in
from gym_attrplan.error import InvalidArchive

CERTAIN, RANDOM = np.array([1_000, 1_000]), np.array([1_000, 300])
NUMBERS = count()
GOING_ON, OVER = np.array([False]), np.array([True])


def at(*places):
    """Observations whose goals, which never repeat, do not count."""
    return {"observation": np.array(places), "desired_goal": np.array([next(NUMBERS)])}


def walk(chance, places, actions=0, over=GOING_ON):
    for place in places:
        chance.watch(np.full(1, actions), at(place), over)
    return chance.counts.tolist()


def new(n_envs=1):
    chance = Chance(n_envs)
    chance.begin(at(*range(n_envs)))
    return chance


def test_an_effect_is_compared_with_the_last_one_of_the_same_action_in_the_same_place():
    assert walk(new(), [1, 0, 1, 0, 1]) == [3, 3]
    assert walk(new(), [1, 0, 2, 0, 2]) == [2, 1]  # 0 → 1, then 0 → 2, then 0 → 2
    chance = new()
    walk(chance, [1, 0])
    assert walk(chance, [2, 0], actions=1) == [0, 0]


def test_another_episode_or_environment_repeats_nothing():
    chance = new()
    walk(chance, [1, 0], over=OVER)
    assert walk(chance, [1]) == [0, 0]
    chance.begin(at(0))
    assert walk(chance, [2]) == [0, 0]
    both = new(2)
    both.begin(at(0, 0))
    both.watch(np.zeros(2), at(1, 2), np.zeros(2, bool))
    assert both.counts.tolist() == [0, 0]


@pytest.mark.parametrize("most", ["MAX_REPEATS", "MAX_STEPS"])
def test_what_is_judged_is_not_watched_any_more(most, monkeypatch):
    monkeypatch.setattr(module, most, 4)
    chance = new()
    for n in range(10):
        assert chance.is_judged == (n > (4 if most == "MAX_REPEATS" else 3))
        walk(chance, [0])
    assert chance.counts.tolist() == ([4, 4] if most == "MAX_REPEATS" else [3, 3])


def test_few_repeats_are_no_evidence_of_chance():
    chance = new()
    chance.restore(np.array([module.MIN_REPEATS - 1, 0]))
    assert not chance.is_random
    chance.restore(np.array([module.MIN_REPEATS, 0]))
    assert chance.is_random
    for wrong in ([1, 2], [-1, -1], [3], [1.0, 1.0]):
        with pytest.raises(InvalidArchive, match="two counts"):
            chance.restore(np.array(wrong))


@pytest.mark.parametrize("is_slippery", [True, False])
def test_slippery_ice_is_recognised_in_practice_also_by_a_worker(is_slippery, tmp_path):
    kwargs = {"is_slippery": is_slippery}
    venv = as_vec_env("FrozenLake-v1", n_envs=8, env_kwargs=kwargs)
    agent = AttributePlannerAgent(
        "MultiInputPolicy", venv, seed=0, low_level_kwargs={"n_steps": 64}
    )
    agent.learn(2_048)
    assert agent.hops.chance.is_random == is_slippery
    agent.save(tmp_path / "agent.zip")
    again = AttributePlannerAgent.load(tmp_path / "agent.zip", env=venv)
    assert again.hops.chance.counts.tolist() == agent.hops.chance.counts.tolist()
    other = AttributePlannerAgent("MultiInputPolicy", venv, seed=0)
    take_in(other, practise(again, seed=1, n_steps=256))  # only what this batch repeats
    n_repeats, n_same = other.hops.chance.counts
    assert n_repeats > 100
    assert (n_same < 0.6 * n_repeats) == is_slippery


@pytest.mark.parametrize("counts", [CERTAIN, RANDOM])
def test_with_chance_a_return_is_no_reason_to_doubt_the_policy(counts):
    venv = as_vec_env("FrozenLake-v1", n_envs=4)
    agent = AttributePlannerAgent("MultiInputPolicy", venv, seed=0)
    agent.hops.chance.restore(counts)
    with torch.no_grad():  # a policy that is sure of its action
        agent.low_level.policy.action_net.weight.zero_()
        agent.low_level.policy.action_net.bias.copy_(torch.tensor([0.0, 20.0, 0.0, 0.0]))
    change = np.full((1, 3), -1)
    change[0, 0] = 1
    agent.outcomes.record([[0, 0, 0]], change, [[1, 0, 0]], made=True, n_steps=1)
    observation, state, chosen = venv.reset(), None, set()
    observation["desired_goal"][:] = (1, 0, 0)
    for _ in range(100):
        actions, state = agent.predict(observation, state, deterministic=True)
        chosen |= set(actions.tolist())
    assert (chosen == {1}) == (counts is RANDOM)
