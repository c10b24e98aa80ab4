"""predict(deterministic=True) answers the same question in the same way, lost or not."""

import numpy as np
import pytest
from test_going_on import make_agent

UNKNOWN = 5  # a place that the agents below have never been to


def lost_observations(n=50):
    """Goals out of reach: nothing was explored, so no plan leads anywhere."""
    rng = np.random.default_rng(0)
    return {
        "observation": rng.normal(size=(n, 2)).astype(np.float32),
        "achieved_goal": rng.integers(0, 5, (n, 1)).astype(np.int8),
        "desired_goal": np.full((n, 1), UNKNOWN, np.int8),
    }


@pytest.mark.parametrize(
    "case",
    ["ppo", "sac", "dqn", "ppo, neighbours", "ppo, random", "sac, neighbours", "dqn, neighbours"],
)
def test_lost_environments_get_the_same_actions_again(case):
    agent = make_agent(case)
    observations = lost_observations()
    first, state = agent.predict(observations, deterministic=True)
    if agent.options.hops == "neighbours":
        assert state.lost.all()
    else:
        assert (state.targets == -1).all()  # nothing is asked for: it explores
    again, _ = agent.predict(observations, deterministic=True)
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first, axis=0)) > 1 or case != "ppo, random"


@pytest.mark.parametrize("case", ["ppo", "ppo, neighbours", "inverse", "inverse, boxes"])
def test_the_same_state_given_twice_has_the_same_answer(case):
    agent = make_agent(case).learn(600)
    env = agent.get_env()
    env.seed(0)
    observations = env.reset()
    actions, state = agent.predict(observations, deterministic=True)
    observations = env.step(actions)[0]
    one, after_one = agent.predict(observations, state, deterministic=True)
    other, after_other = agent.predict(observations, state, deterministic=True)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(after_one.n_steps, after_other.n_steps)


@pytest.mark.parametrize("case", ["ppo", "sac", "dqn", "ppo, neighbours", "ppo, random", "inverse"])
def test_a_lost_environment_does_not_do_the_same_for_ever(case):
    agent = make_agent(case)
    observations = lost_observations(1)
    state, taken = None, set()
    for _ in range(20):
        actions, state = agent.predict(observations, state, deterministic=True)
        taken.add(actions[0].item())
    assert len(taken) > 1
