"""Lookahead: ways through states that nobody has seen."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan import AttributePlannerAgent, AttributeWrapper, PlannerOptions
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.agent.lookahead import Lookahead
from gym_attrplan.models import Examples, ForwardModel
from gym_attrplan.models.next_state import NextStateModel

N_DIALS, N_PLACES = 6, 4
SPACES = (
    spaces.Box(0, N_PLACES, (N_DIALS,)),
    spaces.Discrete(2 * N_DIALS),
    {f"dial {i}": N_PLACES for i in range(N_DIALS)},
)


def turn(dials, actions):
    """An action turns one dial up or down by one, as far as it goes."""
    moves = np.eye(N_DIALS, dtype=int)[actions // 2] * (1 - 2 * (actions % 2))[:, None]
    return np.clip(dials + moves, 0, N_PLACES - 1)


def some_turns(n, seed):
    rng = np.random.default_rng(seed)
    before, actions = rng.integers(N_PLACES, size=(n, N_DIALS)), rng.integers(2 * N_DIALS, size=n)
    after = turn(before, actions)
    return Examples(
        before.astype(np.float32),
        actions,
        before.astype(np.int8),
        after.astype(np.int8),
        after.astype(np.float32),
    )


@pytest.fixture(scope="module")
def lookahead():
    """Learned from 3,000 turns, which is less than a tenth of all there are."""
    examples = some_turns(3_000, 0)
    models = [kind(*SPACES, device="cpu") for kind in (ForwardModel, NextStateModel)]
    for model in models:
        model.fit(examples, max_epochs=15)
    return Lookahead(Foresight(models[0]), models[1])


def state(*dials):
    row = np.array([dials])
    return {"observation": row.astype(np.float32), "achieved_goal": row.astype(np.int8)}


def test_a_way_is_as_short_as_it_can_be(lookahead):
    goal = np.array([2, 1, 0, 0, 0, 3], np.int8)
    course = lookahead.find(state(0, 0, 0, 0, 0, 1), goal)
    assert course.reached
    assert len(course.vectors) == len(course.probs) == 5
    assert (course.vectors[-1] == goal).all()
    steps = np.diff(np.concatenate([[[0, 0, 0, 0, 0, 1]], course.vectors]), axis=0)
    assert (np.abs(steps).sum(axis=1) == 1).all()
    assert (course.probs > 0.5).all()


def test_what_is_free_stays(lookahead):
    goal = np.array([-1, 2, -1, -1, -1, -1], np.int8)
    course = lookahead.find(state(3, 0, 1, 2, 3, 0), goal)
    assert course.reached
    assert course.vectors.tolist() == [[3, 1, 1, 2, 3, 0], [3, 2, 1, 2, 3, 0]]


def test_who_is_there_has_no_way_to_go(lookahead):
    course = lookahead.find(state(1, 1, 1, 1, 1, 1), np.ones(6, np.int8))
    assert course.reached
    assert course.vectors.shape == (0, 6)


def test_an_action_can_be_kept_from_being_the_first(lookahead):
    goal = np.array([1, 1, -1, -1, -1, -1], np.int8)
    for first in (0, 1):
        banned = np.arange(12) == 2 * first  # up with the one dial or the other
        course = lookahead.find(state(0, 0, 0, 0, 0, 0), goal, banned=banned)
        assert course.vectors[0, first] == 0
        assert course.reached


def test_without_a_first_action_there_is_no_way(lookahead):
    goal = np.array([1, 1, -1, -1, -1, -1], np.int8)
    course = lookahead.find(state(0, 0, 0, 0, 0, 0), goal, banned=np.ones(12, bool))
    assert not course.reached
    assert course.vectors.shape == (0, 6)


def test_a_way_must_cost_less_than_the_one_that_is_known(lookahead):
    goal = np.array([2, 1, 0, 0, 0, 0], np.int8)
    start, step_cost = state(0, 0, 0, 0, 0, 0), 1.0
    course = lookahead.find(start, goal)
    cost = course.cost(step_cost)
    assert cost > 3.0  # three actions, none of them certain
    more = lookahead.find(start, goal, step_cost=step_cost, max_cost=cost + 0.1)
    assert more.reached
    assert more.cost(step_cost) <= cost + 0.1
    less = lookahead.find(start, goal, step_cost=step_cost, max_cost=3.0)
    assert not less.reached


def test_out_of_time_it_answers_with_what_it_has(lookahead):
    hasty = Lookahead(lookahead.foresight, lookahead.model, max_seconds=1e-9)
    course = hasty.find(state(0, 0, 0, 0, 0, 0), np.full(6, 3, np.int8))
    assert not course.reached
    assert not len(course.vectors)


class Dials(gym.Env):
    """Six dials."""

    def __init__(self):
        self.observation_space, self.action_space, _ = SPACES

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.dials = self.np_random.integers(N_PLACES, size=(1, N_DIALS))
        return self.dials[0].astype(np.float32), {}

    def step(self, action):
        self.dials = turn(self.dials, np.array([action]))
        return self.dials[0].astype(np.float32), 0.0, False, False, {}


def make_env():
    env = gym.wrappers.TimeLimit(Dials(), 40)
    read = lambda env, seen: np.asarray(seen).astype(np.int8)  # noqa: E731
    return AttributeWrapper(env, SPACES[2], read)


@pytest.mark.learning
def test_an_agent_reaches_what_its_graph_does_not_know(seed, tmp_path):
    envs = make_vec_env(make_env, 8)
    agent = AttributePlannerAgent(
        "MultiInputPolicy", envs, low_level="inverse", seed=seed, device="cpu",
        low_level_kwargs={"max_epochs": 15},
    )  # fmt: skip
    agent.add_examples(some_turns(3_000, seed))
    agent.learn(800, reset_num_timesteps=False)
    agent.save(tmp_path / "agent.zip")
    agent = AttributePlannerAgent.load(tmp_path / "agent.zip", env=envs)
    agent.set_planner(PlannerOptions(edges="table"))
    goal = {f"dial {i}": 3 for i in range(N_DIALS)}
    start = {**state(0, 0, 0, 0, 0, 0), "desired_goal": np.full((1, N_DIALS), 3, np.int8)}
    plan = agent.plan(start, goal)
    assert plan is not None
    assert (plan.vectors[-1] == 3).all()
    _, journey = agent.predict(start, deterministic=True)
    assert (journey.targets[0] == plan.vectors[1]).all()
    assert evaluate_tasks(agent, envs, n_tasks=20, seed=seed).successes >= 18
