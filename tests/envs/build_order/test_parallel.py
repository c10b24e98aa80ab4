"""The PettingZoo environment keeps PettingZoo's promises, and its own."""

import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence as same
from pettingzoo.test import parallel_api_test

from gym_attrplan.envs.build_order import parallel_env
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment, InvalidGoal

VERSIONS = ["small", "large"]


def play(env, rng, n_steps):
    """Random legal actions; yields everything that a step returns."""
    seen = env.reset(seed=11)
    yield seen
    for _ in range(n_steps):
        if not env.agents:
            return
        masks = {agent: seen[0][agent]["action_mask"] for agent in env.agents}
        actions = {agent: int(rng.choice(np.flatnonzero(mask))) for agent, mask in masks.items()}
        seen = env.step(actions)
        yield seen


@pytest.mark.parametrize("version", VERSIONS)
def test_pettingzoos_checker_passes(version):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Not all units are ever built, and PettingZoo warns of agents that never lived.
        warnings.filterwarnings("ignore", message="No agents present but not all possible_agents")
        parallel_api_test(parallel_env(version, max_steps=200), num_cycles=210)


def test_a_unit_that_is_built_in_the_last_step_is_none_of_its_agents():
    living = [list(seen) for seen, *_ in play(parallel_env("small"), np.random.default_rng(0), 300)]
    built = next(k for k in range(1, len(living)) if len(living[k]) > len(living[k - 1]))
    env = parallel_env("small", max_steps=built)
    *_, before, last = play(env, np.random.default_rng(0), 300)
    assert all(last[3].values())  # truncated as it is built
    assert [list(part) for part in last] == [list(before[0])] * 5


def test_a_seed_repeats_full_episodes():
    runs = [play(parallel_env("small"), np.random.default_rng(3), 500) for _ in range(2)]
    n_steps = 0
    for one, other in zip(*runs, strict=True):
        n_steps += 1
        assert same(one, other)
    assert n_steps == 501


def test_another_seed_begins_otherwise():
    env = parallel_env()
    first = [env.reset(seed=seed)[0]["scv_0"] for seed in range(4)]
    assert any(not np.array_equal(first[0]["unit"], other["unit"]) for other in first[1:])


def test_observations_lie_in_their_spaces():
    env = parallel_env("large")
    for observations, *_ in play(env, np.random.default_rng(0), 300):
        for agent, observation in observations.items():
            assert observation in env.observation_space(agent)


def test_agents_appear_as_units_are_built():
    env = parallel_env()
    env.reset(seed=0, options={"goal": "marine=4"})
    assert env.agents == ["scv_0", "scv_1", "scv_2", "scv_3", "command_centre_0"]
    train = env.rules.actions.index("train scv")
    for _ in range(25):
        assert "scv_4" not in env.agents
        observations, *_ = env.step({"command_centre_0": train})
    assert "scv_4" in env.agents
    assert observations["scv_4"]["action_mask"].sum() == 6  # wait, four moves, mine


def test_a_unit_sees_the_16_by_16_cells_around_it():
    env = parallel_env()
    observations, _ = env.reset(seed=0)
    planes = observations["command_centre_0"]["observation"]
    assert planes.shape == (6, 16, 16)
    outside, ore, scvs, centre = planes[:4]
    assert not outside.any()
    assert scvs.sum() == 4
    # Columns 14 to 17 and rows 15 to 17, from a corner at (8, 8).
    assert np.argwhere(centre).min(axis=0).tolist() == [7, 6]
    assert (centre == 2).sum() == 12
    side = env.economy.side
    assert ore.sum() == (8 if side >= 2 else 0)  # east and south are one cell out of sight


def test_outside_the_map_is_marked_and_construction_is_told_from_a_building():
    env = parallel_env()
    env.reset(seed=0, options={"goal": "marine=4"})
    env.economy.ore = 100
    env.economy.units[0].cell = (0, 16)
    env.economy.units[1].cell = (16, 16)
    depot = env.rules.actions.index("build depot")
    observations, *_ = env.step({"scv_1": depot})
    assert observations["scv_0"]["observation"][0, :, :8].all()
    assert not observations["scv_0"]["observation"][0, :, 8:].any()
    assert observations["command_centre_0"]["observation"][4].max() == 1
    for _ in range(53):
        observations, *_ = env.step({})
    plane = observations["command_centre_0"]["observation"][4]
    assert (plane == 2).sum() == 6
    assert plane.max() == 2


def test_every_agent_is_paid_when_the_goal_is_met_and_the_episode_ends():
    env = parallel_env()
    env.reset(seed=0, options={"goal": "scv=5"})
    train = env.rules.actions.index("train scv")
    _, rewards, terminated, truncated, infos = env.step({"command_centre_0": train})
    assert set(rewards.values()) == {1.0}
    assert all(terminated.values())
    assert not any(truncated.values())
    assert infos["scv_0"]["is_success"]
    assert env.agents == []


def test_the_time_limit_truncates():
    env = parallel_env(max_steps=3)
    env.reset(seed=0, options={"goal": "marine=4"})
    ends = [env.step({})[3]["scv_0"] for _ in range(3)]
    assert ends == [False, False, True]
    assert env.agents == []
    with pytest.raises(gym.error.ResetNeeded, match="call reset"):
        env.step({})


def test_masked_actions_and_actions_of_units_to_come_do_nothing():
    env = parallel_env()
    env.reset(seed=0, options={"goal": "marine=4"})
    names = env.rules.actions
    before = env.economy.state()
    env.step({"scv_0": names.index("build barracks"), "scv_9": names.index("mine")})
    after = env.economy.state()
    np.testing.assert_array_equal(before.cells, after.cells)
    np.testing.assert_array_equal(before.counts, after.counts)
    assert after.ore[0] == 50


@pytest.mark.parametrize("actions", [{"scv_0": 10}, {"scv_0": -1}, {"zergling_0": 0}])
def test_what_is_no_action_is_refused(actions):
    env = parallel_env()
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match="actions are 0 to 9"):
        env.step(actions)


def test_wrong_options_are_refused():
    with pytest.raises(InvalidEnvironment, match="version is one of"):
        parallel_env("tiny")
    with pytest.raises(InvalidEnvironment, match="max_steps must be at least 1"):
        parallel_env(max_steps=0)
    with pytest.raises(InvalidEnvironment, match="render_mode is None or one of"):
        parallel_env(render_mode="ansi")
    with pytest.raises(InvalidGoal):
        parallel_env().reset(options={"goal": "zergling=1"})


def test_without_pettingzoo_the_error_names_the_remedy(monkeypatch):
    monkeypatch.delitem(sys.modules, "gym_attrplan.envs.build_order.parallel", raising=False)
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[pettingzoo\]"'):
        parallel_env()
