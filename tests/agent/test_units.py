"""The agent on environments of units: many actions at once, integer attributes, partial goals."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributePlannerAgent
from gym_attrplan.algorithms import UnitPolicy
from gym_attrplan.algorithms.unit_policy import UnitExtractor


@pytest.mark.parametrize("hops", ["changes", pytest.param("neighbours", marks=pytest.mark.slow)])
def test_the_agent_explores_hops_and_plans_with_units(hops, tmp_path):
    agent = AttributePlannerAgent(
        "UnitPolicy",
        "AttrBuildOrder-v0",
        n_envs=16,
        hops=hops,
        exploration="count_bonus",
        max_hop_steps=10,
        seed=0,
        device="cpu",
        low_level_kwargs={"n_steps": 16, "batch_size": 128},
    ).learn(4_000)
    assert isinstance(agent.low_level.policy, UnitPolicy)
    assert agent.low_level.ent_coef == pytest.approx(0.01 / 14)
    assert isinstance(agent.low_level.policy.features_extractor, UnitExtractor)
    if hops == "neighbours":  # enough attempts for a model
        assert isinstance(agent.success_model.extractor, UnitExtractor)
    agent.save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent", device="cpu")
    env = gym.make("AttrBuildOrder-v0")
    observation, _ = env.reset(seed=1)
    (start,) = agent.counts.index.find(observation["achieved_goal"])
    neighbour = agent.counts.index.vectors(agent.counts.neighbours(int(start))[:1])[0]
    observation, _ = env.reset(seed=1, options={"goal": neighbour})
    actions = [one.predict(observation, deterministic=True)[0] for one in (agent, again)]
    assert actions[0].shape == (14,)
    assert np.array_equal(*actions)
