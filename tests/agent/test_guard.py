"""Observations that no network can learn from."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from odd_envs import make_agent, make_walk, nan_at, weights_are_finite
from stable_baselines3.common.vec_env import DummyVecEnv

from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.error import InvalidData, InvalidEnvironment
from gym_attrplan.models import Examples

STICK = spaces.Box(-1, 1, (1,), np.float32)


def second_is_odd(observe, action_space=None, **arguments):
    """Two environments, of which the second misbehaves."""
    return DummyVecEnv(
        [
            lambda: make_walk(action_space=action_space),
            lambda: make_walk(action_space=action_space, observe=observe, **arguments),
        ]
    )


@pytest.mark.parametrize("step", [20, 150])
@pytest.mark.parametrize("low_level", ["ppo", "a2c", "dqn", "sac", "reinforce"])
def test_nan_is_refused_at_once_with_the_environment_and_the_key(low_level, step):
    venv = second_is_odd(nan_at(step), STICK if low_level == "sac" else None)
    agent = make_agent(venv, low_level)
    with pytest.raises(InvalidEnvironment, match=r"environment 1, in .*has 'observation': nan"):
        agent.learn(400)
    assert agent.steps_done == {"explore": 0, "hop": 2 * (step - 1)}
    assert agent.num_timesteps == 2 * (step - 1)
    assert weights_are_finite(agent)


@pytest.mark.parametrize("step", [20, 150], ids=["exploring", "hopping"])
@pytest.mark.parametrize("low_level", ["ppo", "inverse"])
def test_nan_is_refused_in_both_phases(low_level, step):
    venv = second_is_odd(nan_at(step))
    agent = make_agent(venv, low_level, hops="neighbours", exploration_fraction=0.5)
    with pytest.raises(InvalidEnvironment, match=r"environment 1, in .*has 'observation': nan"):
        agent.learn(400)
    assert agent.steps_done["hop"] > 0 if step == 150 else agent.steps_done["hop"] == 0
    assert agent.num_timesteps == 2 * (step - 1)
    assert weights_are_finite(agent)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e30])
def test_infinity_and_what_leads_to_it_is_refused_as_nan_is(value):
    with pytest.raises(InvalidEnvironment, match=r"environment 1.*finite and below 1e\+10 in size"):
        make_agent(second_is_odd(nan_at(3, value))).learn(100)


def test_nan_at_reset_and_in_the_last_observation_of_an_episode_is_found():
    with pytest.raises(InvalidEnvironment, match="environment 1 was reset and has 'observation'"):
        as_vec_env(second_is_odd(nan_at(0))).reset()
    only_last = lambda place, n: np.array([np.nan if n == 10 else place], np.float32)  # noqa: E731
    venv = as_vec_env(second_is_odd(lambda place, n: only_last(place, n)))
    venv.reset()
    for _ in range(9):
        venv.step(np.array([0, 0]))
    with pytest.raises(InvalidEnvironment, match="environment 1"):
        venv.step(np.array([0, 0]))


def test_a_number_outside_its_discrete_space_is_refused():
    place = spaces.Discrete(5)
    arguments = {"observation_space": place, "observe": lambda place, n: 5 if n > 3 else place}
    with pytest.raises(InvalidEnvironment, match=r"environment 0, in step 4, has 'observation': 5"):
        make_agent(make_walk(**arguments)).learn(100)


def test_predict_refuses_what_training_refuses():
    env = make_walk()
    agent = make_agent(env)
    observation, _ = env.reset(seed=0)
    observation["observation"] = np.array([np.nan], np.float32)
    with pytest.raises(InvalidEnvironment, match="row 0 of the observation has 'observation': nan"):
        agent.predict(observation)


def test_agents_share_one_guard_and_show_what_they_were_given():
    venv = as_vec_env(make_walk())
    assert as_vec_env(venv) is venv
    given = DummyVecEnv([make_walk])
    assert make_agent(given).get_env() is given


@pytest.mark.parametrize(
    ("seen", "action", "message"),
    [
        ([np.nan], 0, r"row 5 of observations\['observation'\] is not finite"),
        ([0.0], 2, "row 5 of actions holds 2; it must be from 0 to 1"),
        ([0.0, 0.0], 0, r"'observation' with shape \(1,\).*received shape \(2,\)"),
    ],
)
def test_examples_that_no_model_can_learn_from_are_refused_by_their_row(seen, action, message):
    agent = make_agent(make_walk(), "inverse")
    states, actions = np.zeros((30, len(seen)), np.float32), np.zeros(30, np.int64)
    states[5], actions[5] = seen, action
    before, after = np.zeros((30, 2), np.int8), np.ones((30, 2), np.int8)
    with pytest.raises(InvalidData, match=message):
        agent.add_examples(Examples(states, actions, before, after))
    assert len(agent.examples) == agent.counts.n_edges == agent.num_timesteps == 0
