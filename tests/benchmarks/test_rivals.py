"""The comparison is fair: the one-step rivals have our agent's own network, steps and examples."""

from __future__ import annotations

import importlib

import pytest
import torch

pytestmark = pytest.mark.slow


@pytest.fixture
def rivals():
    return importlib.import_module("rivals")


@pytest.fixture
def few_passes(rivals, monkeypatch):
    monkeypatch.setitem(rivals.FIT, "updates", 4_096)
    return rivals.FIT["updates"]


def test_one_step_on_grids_is_our_own_policy_without_the_planner(rivals):
    names = ("ap", ""), ("ppo", "one_step")
    cells = [rivals.Cell("AttrSwitches-v0", algo, regime, 20_000, 3) for algo, regime in names]
    agent, rival = (rivals.train(cell) for cell in cells)
    ours, theirs = agent.low_level.policy.state_dict(), rival.policy.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert agent.low_level.num_timesteps == rival.num_timesteps > 0
    assert rivals.n_parameters(agent) == rivals.n_parameters(rival) > 0


def test_one_step_on_blocks_is_our_own_network_on_as_many_examples(rivals, few_passes):
    names = ("ap", ""), ("inverse", "one_step")
    cells = [rivals.Cell("AttrBlocks-v0", algo, regime, 2_048, 3) for algo, regime in names]
    agent, rival = (rivals.train(cell) for cell in cells)
    shapes = [
        {name: one.shape for name, one in network.state_dict().items()}
        for network in (agent.low_level.inverse, rival.inverse)
    ]
    assert shapes[0] == shapes[1]
    assert rivals.n_parameters(agent) == rivals.n_parameters(rival) > 0
    assert agent.num_timesteps == cells[1].budget


def test_what_is_fitted_at_the_end_is_not_tested_before(rivals, few_passes, tmp_path):
    cell = rivals.Cell("AttrBlocks-v0", "ap", "", 2_048, 3)
    file = str(tmp_path / "{method}.zip")
    run = importlib.import_module("baselines").run
    run(cell, [], n_tasks=10, n_points=2, device="cpu", template=file, passes=few_passes)
    assert (tmp_path / "ap.zip").exists()


def test_a_rivals_random_actions_end_with_its_steps():
    others = importlib.import_module("others")
    venv = others.CASES["FrozenLake8x8-v1"].make_envs("FrozenLake8x8-v1", n_envs=2)
    with others.asking_for(venv, others.goals_to_ask(None, venv, None, seed=0)):
        model = others.make_rival("dqn_her", venv, seed=0)
        model.learn(10**9, others.AtLeast(2_000, 0.0))
    assert model.num_timesteps == 2_000
    assert model.exploration_rate == model.exploration_final_eps
