"""Tried actions cost more: a policy that errs searches instead of running in a circle."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper
from gym_attrplan.agent.journey import Journey
from gym_attrplan.agent.retries import (
    PUSH_STEPS,
    knows_action_probs,
    least_tried_actions,
    searching_actions,
)
from gym_attrplan.graph import EpisodeMemory


@pytest.fixture(scope="module")
def stubborn():
    """A policy that gives action 0 a probability of 0.9 whatever it sees."""
    env = AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)
    model = A2C("MultiInputPolicy", env)
    with torch.no_grad():
        model.policy.action_net.weight.zero_()
        model.policy.action_net.bias.copy_(torch.tensor([0.9, 0.1]).log())
    return model


def see(*counts):
    rows = np.array(counts)
    bits = np.stack([rows >> 2 & 1, rows >> 1 & 1, rows & 1], axis=1).astype(np.int8)
    goal = np.zeros((len(rows), 3), np.int8)
    return {"observation": rows, "achieved_goal": bits, "desired_goal": goal}


def test_the_likeliest_action_comes_first_and_the_other_when_it_did_not_help(stubborn):
    memory = EpisodeMemory(1, fail_cost=4.0)
    taken = [int(least_tried_actions(stubborn, see(3), memory)[0]) for _ in range(4)]
    assert taken == [0, 1, 0, 1]  # log(0.9 / 0.1) = 2.2 is less than what one try costs


def test_a_small_cost_gives_the_likelier_action_more_tries(stubborn):
    memory = EpisodeMemory(1, fail_cost=1.0)
    taken = [int(least_tried_actions(stubborn, see(3), memory)[0]) for _ in range(4)]
    assert taken == [0, 0, 0, 1]


def test_another_situation_another_row_and_another_episode_start_afresh(stubborn):
    memory = EpisodeMemory(2, fail_cost=4.0)
    assert least_tried_actions(stubborn, see(3, 4), memory).tolist() == [0, 0]
    assert least_tried_actions(stubborn, see(5, 4), memory).tolist() == [0, 1]
    memory.reset([1])
    assert least_tried_actions(stubborn, see(3, 4), memory).tolist() == [1, 0]


def test_a_goal_is_part_of_the_situation(stubborn):
    memory = EpisodeMemory(1, fail_cost=4.0)
    least_tried_actions(stubborn, see(3), memory)
    other = {**see(3), "desired_goal": np.ones((1, 3), np.int8)}
    assert least_tried_actions(stubborn, other, memory).tolist() == [0]


def test_only_policies_with_action_probabilities_can_be_asked():
    env = AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)
    assert knows_action_probs(PPO("MultiInputPolicy", env))
    assert not knows_action_probs(DQN("MultiInputPolicy", env))


@pytest.fixture(
    scope="module",
    params=[(PPO, {}), (PPO, {"use_sde": True}), (SAC, {}), (SAC, {"use_sde": True})],
    ids=lambda param: f"{param[0].__name__}{'-sde' if param[1] else ''}",
)
def pusher(request):
    """A policy of a world where actions are a continuum."""
    algorithm, options = request.param
    env = AttributeWrapper(
        gym.make("Pendulum-v1"), ["left"], lambda env, observation: [observation[1] > 0]
    )
    return algorithm("MultiInputPolicy", env, seed=0, **options)


def swing(n):
    rows = np.random.default_rng(0).uniform(-1, 1, (n, 3)).astype(np.float32)
    goals = np.zeros((n, 1), np.int8)
    return {"observation": rows, "achieved_goal": goals, "desired_goal": 1 - goals}


def test_a_hop_that_failed_is_tried_with_pushes_that_last(pusher):
    seen, envs = swing(3), np.array([2, 0, 1])
    likeliest = pusher.predict(seen, deterministic=True)[0]
    journey = Journey.begin(seen["achieved_goal"], seen["desired_goal"], 4.0)
    assert (searching_actions(pusher, seen, journey, envs) == likeliest).all()
    journey.edges[:] = [(4, 5), (4, 5), (4, 6)]
    journey.memory.fail([0, 2], [4, 4], [5, 5])  # environment 2 heads elsewhere now
    state = torch.get_rng_state()
    taken = [searching_actions(pusher, seen, journey, envs) for _ in range(PUSH_STEPS + 1)]
    assert torch.equal(torch.get_rng_state(), state)
    for actions in taken:
        assert (actions[[0, 2]] == likeliest[[0, 2]]).all()
    pushed = [actions[1].item() for actions in taken]
    assert pushed[0] != likeliest[1].item()
    assert pushed[:PUSH_STEPS] == [pushed[0]] * PUSH_STEPS
    assert pushed[PUSH_STEPS] != pushed[0]


def test_a_change_that_is_asked_for_the_first_time_is_not_pushed(pusher):
    seen, envs = swing(2), np.arange(2)
    most_probable = pusher.predict(seen, deterministic=True)[0]
    journey = Journey.begin(seen["achieved_goal"], seen["desired_goal"], 4.0)
    journey.edges[:] = [(4, 5), (4, 5)]
    journey.memory.fail([0, 1], [4, 4], [5, 5])  # a navigator of changes notes what it asks for
    assert (searching_actions(pusher, seen, journey, envs, draw=True) == most_probable).all()
    journey.memory.fail([1], [4], [5])  # its time was up
    actions = searching_actions(pusher, seen, journey, envs, draw=True)
    assert (actions[0] == most_probable[0]).all()
    assert (actions[1] != most_probable[1]).all()


def test_what_failed_is_remembered_until_the_goals_get_on():
    """A sequence of goals may go in circles: each is met on the way, but not the last."""
    journey = None
    for reached, goal, new_episode, n_earlier in [
        (7, 0, True, 0),
        (0, 1, False, 0),  # the first goal holds, and the second is new
        (7, 0, False, 1),  # the second was given up
        (0, 1, False, 2),  # it comes back
        (1, 2, False, 0),  # it holds at last
        (7, 3, False, 1),
        (7, 3, True, 0),
        (3, 2, False, 0),  # given up in the last episode
    ]:
        now, wanted = np.array([[reached]], np.int8), np.array([[goal]], np.int8)
        journey, _ = Journey.resume(journey, now, wanted, np.array([new_episode]), 1.0)
        journey.goals[:] = wanted
        assert journey.tries.failures([0], [5], [0]).tolist() == [n_earlier]
        journey.tries.fail([0], [5], [0])
