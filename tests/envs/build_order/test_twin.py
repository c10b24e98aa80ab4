"""The batched twin is the PettingZoo economy, unit by unit, over full episodes."""

from dataclasses import fields

import numpy as np
import pytest

from gym_attrplan.envs.build_order import (
    EconomyRules,
    EconomyVectorEnv,
    Job,
    State,
    parallel_env,
)
from gym_attrplan.envs.build_order.rules import FIRST_ORDER, MINE, WAIT

EAGERNESS = {"scv": 0.03, "depot": 0.03, "barracks": 3.0, "marine": 5.0}
NEVER = "scv=0"
"""SCVs begin with four and never become fewer, so this goal ends no episode."""


def eager(rules, mask, rng):
    """Legal actions, drawn so that much is mined and made: ``(n, n_slots)``."""
    weights = np.full(mask.shape[2], 0.02)
    weights[WAIT], weights[MINE] = 1.0, 3.0
    weights[FIRST_ORDER:] = [EAGERNESS.get(one.name, 0.05) for one in rules.products]
    shares = np.cumsum(mask * weights, axis=2)
    marks = rng.random(shares.shape[:2]) * shares[:, :, -1]
    return (marks[:, :, None] >= shares).sum(axis=2)


def careless(rules, mask, rng):
    """Any actions at all, for slots without a unit too."""
    return rng.integers(mask.shape[2], size=mask.shape[:2])


def mixed(rules, mask, rng):
    """Mostly eager; in between, what is not legal."""
    wild = rng.random(mask.shape[:2]) < 0.02
    return np.where(wild, careless(rules, mask, rng), eager(rules, mask, rng))


def assert_same_state(one, other):
    for name in (field.name for field in fields(State)):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_seen_alike(single, seen, observations, i):
    """What the agents of one economy see is what row i of the batch says about them."""
    for agent, parts in seen.items():
        slot = single.possible_agents.index(agent)
        assert observations["slot_mask"][i, slot]
        np.testing.assert_array_equal(parts["unit"], observations["units"][i, slot])
        np.testing.assert_array_equal(parts["action_mask"], observations["action_mask"][i, slot])
        np.testing.assert_array_equal(parts["economy"], observations["economy"][i])
    assert observations["slot_mask"][i].sum() == len(seen)


@pytest.mark.parametrize(
    ("version", "draw", "frames"),
    [
        ("small", careless, 12),
        ("large", mixed, 12),
        pytest.param("small", mixed, 12, marks=pytest.mark.slow),
        pytest.param("large", mixed, 30, marks=pytest.mark.slow),
    ],
)
def test_the_twin_is_the_pettingzoo_economy_over_full_episodes(version, draw, frames):
    n, rng, rules = 2, np.random.default_rng(0), EconomyRules(version, frames)
    twin = EconomyVectorEnv(rules, num_envs=n)
    observations, _ = twin.reset(seed=7)
    singles = [parallel_env(version, frames_per_step=frames) for _ in range(n)]
    for i, single in enumerate(singles):
        single.reset(options={"start": twin.starts[i], "goal": NEVER})
    jobs, n_refused = set(), 0
    for _ in range(500):
        actions, before = draw(rules, observations["action_mask"], rng), twin.attributes
        observations, *_ = twin.step(actions)
        for i, single in enumerate(singles):
            orders = dict(zip(single.possible_agents, actions[i].tolist(), strict=True))
            seen, *_ = single.step({agent: orders[agent] for agent in single.agents})
            assert_same_state(twin.state(i), single.economy.state())
            assert_seen_alike(single, seen, observations, i)
            np.testing.assert_array_equal(single.attributes, twin.attributes[i])
            jobs |= set(twin.state(i).jobs.ravel().tolist())
        n_made = (twin.attributes[:, 1:] - before[:, 1:]).sum()
        n_refused += (actions >= FIRST_ORDER).sum() - n_made
    assert not any(single.agents for single in singles)  # 500 steps are a full episode
    # A run in which little happens would prove little.
    assert n_refused
    if draw is mixed:
        assert jobs == set(Job)
        assert (twin.attributes[:, 2:] > 0).any(axis=0).sum() >= 3


def test_when_two_units_order_in_one_step_the_twin_serves_the_first_slot_too():
    twin = EconomyVectorEnv(EconomyRules(), num_envs=2)
    twin.reset(seed=0)
    twin._batch.state.ore[:] = 199, 200
    twin._seen = twin._batch.observe()
    actions = np.zeros((2, 14), np.int64)
    actions[:, [1, 2]] = twin.rules.actions.index("build depot")
    observations, *_ = twin.step(actions)
    assert twin.attributes[:, 2].tolist() == [1, 2]
    assert twin.state(0).jobs[0, [1, 2]].tolist() == [Job.TO_SITE, Job.IDLE]
    assert observations["action_mask"][1, [1, 2]].sum() == 2
