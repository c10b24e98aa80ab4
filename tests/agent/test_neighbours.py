"""The training environments, step by step, on a counter whose bits are the attributes."""

from __future__ import annotations

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeSpace, AttributeWrapper, TransitionCounts
from gym_attrplan.agent.buffers import AttemptBuffer
from gym_attrplan.agent.hop_judge import endless_goals
from gym_attrplan.agent.neighbours import ExploreVecEnv, HopVecEnv
from gym_attrplan.wrappers.bonus import count_bonus

BITS = ["four", "two", "one"]


def bits(count):
    return [count >> 2 & 1, count >> 1 & 1, count & 1]


def worlds(n=2, **options):
    def make():
        env = GenericTestEnv(**options)
        return AttributeWrapper(env, BITS, three_bits, goal_sampler=lambda a, rng: [[1, 1, 1]])

    return DummyVecEnv([make] * n)


def hop_env(*, edges, n=1, max_hop_steps=3, practice="visits", **options):
    counts = TransitionCounts(AttributeSpace(BITS))
    for source, target in edges:
        counts.record(bits(source), bits(target))
    venv = worlds(n, **options)
    attempts = AttemptBuffer(venv.observation_space, capacity=10)
    return HopVecEnv(
        venv,
        counts,
        attempts,
        max_hop_steps=max_hop_steps,
        step_penalty=0.1,
        rng=np.random.default_rng(0),
        practice=practice,
    )


def attempts_of(env, source, target):
    edges = env.counts.edges()
    sources, targets = env.counts.index.find([bits(source), bits(target)])
    row = (edges.source == sources) & (edges.target == targets)
    return edges.attempts[row].tolist(), edges.successes[row].tolist()


def test_exploring_counts_transitions_pays_for_them_and_shows_no_goal():
    counts = TransitionCounts(AttributeSpace(BITS))
    env = ExploreVecEnv(worlds(), counts, count_bonus, scale=2.0)
    observations = env.reset()
    assert (observations["desired_goal"] == -1).all()
    observations, rewards, _, _ = env.step(np.array([1, 0]))
    assert rewards.tolist() == [2.0, 0.0]
    assert counts.visits(bits(0), bits(1)).tolist() == [1.0]
    assert (observations["desired_goal"] == -1).all()


def test_exploring_counts_the_last_transition_of_an_episode_and_not_the_reset():
    counts = TransitionCounts(AttributeSpace(BITS))
    env = ExploreVecEnv(worlds(1, ends_at=2), counts, None)
    env.reset()
    for _ in range(4):
        _, rewards, dones, infos = env.step(np.array([1]))
    assert rewards.tolist() == [0.0]
    assert dones.tolist() == [True]
    assert infos[0]["terminal_observation"]["desired_goal"].tolist() == [-1, -1, -1]
    assert counts.n_edges == 2
    assert counts.visits([bits(0), bits(1)], [bits(1), bits(2)]).tolist() == [2.0, 2.0]


def test_a_hop_goes_to_a_neighbour_and_the_next_starts_where_it_ended():
    env = hop_env(edges=[(0, 1), (1, 2)])
    observations = env.reset()
    assert observations["desired_goal"].tolist() == [bits(1)]
    observations, rewards, dones, infos = env.step(np.array([1]))
    assert rewards.tolist() == [pytest.approx(0.9)]
    assert dones.tolist() == [True]
    assert infos[0]["is_success"]
    assert not infos[0]["TimeLimit.truncated"]
    assert infos[0]["terminal_observation"]["desired_goal"].tolist() == bits(1)
    assert infos[0]["terminal_observation"]["achieved_goal"].tolist() == bits(1)
    assert observations["achieved_goal"].tolist() == [bits(1)]  # the world went on
    assert observations["desired_goal"].tolist() == [bits(2)]
    assert attempts_of(env, 0, 1) == ([1.0], [1.0])


def test_practice_by_need_leaves_hops_that_work_for_those_that_may_not():
    shares = {}
    for practice in ("visits", "need"):
        env = hop_env(edges=[(0, 1), (0, 2)], n=1_000, practice=practice)
        env.counts.attempt([bits(0)] * 98, [bits(1)] * 98, True)
        goals = env.reset()["desired_goal"]
        shares[practice] = float((goals == bits(1)).all(axis=1).mean())
    assert shares["visits"] == pytest.approx(0.5, abs=0.05)
    works = np.sqrt(0.99 * 0.01) + 0.05  # beside 0.55 for the one never tried
    assert shares["need"] == pytest.approx(works / (works + 0.55), abs=0.04)


def test_a_hop_that_takes_too_long_is_a_failed_attempt_and_is_truncated():
    env = hop_env(edges=[(0, 1)])
    env.reset()
    for _ in range(3):
        _, rewards, dones, infos = env.step(np.array([0]))
    assert rewards.tolist() == [pytest.approx(-0.1)]
    assert dones.tolist() == [True]
    assert infos[0]["TimeLimit.truncated"]
    assert infos[0]["episode"]["l"] == 3
    assert infos[0]["episode"]["r"] == pytest.approx(-0.3)
    assert attempts_of(env, 0, 1) == ([1.0], [0.0])


def test_the_attempt_counts_on_the_edge_aimed_at_and_the_visit_on_the_edge_taken():
    env = hop_env(edges=[(0, 4)])
    env.reset()
    _, _, dones, infos = env.step(np.array([1]))  # to 1 instead of 4
    assert dones.tolist() == [True]
    assert not infos[0]["is_success"]
    assert not infos[0]["TimeLimit.truncated"]
    assert attempts_of(env, 0, 4) == ([1.0], [0.0])
    assert env.counts.visits(bits(0), bits(1)).tolist() == [1.0]
    assert attempts_of(env, 0, 1) == ([0.0], [0.0])


def test_the_worlds_own_end_ends_a_hop_and_its_start_begins_the_next():
    env = hop_env(edges=[(0, 1), (1, 2)], ends_at=2)
    env.reset()
    env.step(np.array([1]))
    observations, _, dones, infos = env.step(np.array([1]))
    assert dones.tolist() == [True]
    assert infos[0]["terminal_observation"]["achieved_goal"].tolist() == bits(2)
    assert observations["achieved_goal"].tolist() == [bits(0)]
    assert observations["desired_goal"].tolist() == [bits(1)]
    assert attempts_of(env, 1, 2) == ([1.0], [1.0])


def test_a_hop_cut_short_by_the_worlds_time_limit_is_no_attempt():
    env = hop_env(edges=[(0, 1)])
    env.venv.envs[0] = cut = _CutAfterTwo(env.venv.envs[0])
    env.reset()
    env.step(np.array([0]))
    _, _, dones, infos = env.step(np.array([0]))
    assert cut.n_steps == 0  # it was reset
    assert dones.tolist() == [True]
    assert infos[0]["TimeLimit.truncated"]
    assert attempts_of(env, 0, 1) == ([0.0], [0.0])


class _CutAfterTwo(AttributeWrapper):
    def __init__(self, inner):
        self.__dict__.update(inner.__dict__)
        self.n_steps = 0

    def reset(self, **options):
        self.n_steps = 0
        return super().reset(**options)

    def step(self, action):
        self.n_steps += 1
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, self.n_steps == 2, info


def test_where_no_neighbour_is_known_nothing_is_attempted():
    env = hop_env(edges=[(4, 5)])
    assert env.reset()["desired_goal"].tolist() == [bits(0)]
    _, rewards, dones, _ = env.step(np.array([1]))
    assert rewards.tolist() == [pytest.approx(-0.1)]
    assert dones.tolist() == [True]
    assert env.take_tally() == (0, 0)


def test_attempts_keep_the_state_they_started_from():
    env = hop_env(edges=[(0, 1), (1, 2)], n=2)
    env.reset()
    env.step(np.array([1, 0]))
    env.step(np.array([1, 1]))
    kept = env.attempts.observations
    assert kept["observation"].tolist() == [0, 1, 0]
    assert kept["desired_goal"].tolist() == [bits(1), bits(2), bits(1)]
    assert env.attempts.reached.tolist() == [True, True, True]


def test_returned_arrays_are_not_touched_again():
    env = hop_env(edges=[(i, (i + 1) % 8) for i in range(8)], n=2)
    seen = [env.reset()]
    kept = [{key: rows.copy() for key, rows in seen[0].items()}]
    for _ in range(6):
        observations, *_ = env.step(np.array([1, 0]))
        seen.append(observations)
        kept.append({key: rows.copy() for key, rows in observations.items()})
    for one, copy in zip(seen, kept, strict=True):
        for key, rows in one.items():
            np.testing.assert_array_equal(rows, copy[key])


def test_hindsight_is_told_that_a_met_goal_ends_a_hop():
    env = hop_env(edges=[(0, 1)])
    achieved, desired = np.array([bits(1), bits(1)]), np.array([bits(1), bits(2)])
    (ends,) = env.env_method("compute_terminated", achieved, desired, [{}, {}], indices=[0])
    (pays,) = env.env_method("compute_reward", achieved, desired, [{}, {}], indices=[0])
    assert ends.tolist() == [True, False]
    assert pays.tolist() == [pytest.approx(0.9), pytest.approx(-0.1)]


def test_while_training_a_met_goal_does_not_end_the_world():
    venv = worlds(1)
    with endless_goals(venv):
        assert venv.envs[0].terminate_on_success is False
    assert venv.envs[0].terminate_on_success is True


def test_a_world_with_nowhere_to_go_begins_anew():
    env = hop_env(edges=[(0, 1)], max_hop_steps=50)
    env.reset()
    observations, *_ = env.step(np.array([1]))  # to 1, from where nothing is known
    assert observations["desired_goal"].tolist() == [bits(1)]
    observations, _, dones, _ = env.step(np.array([0]))
    assert dones.tolist() == [True]
    assert observations["achieved_goal"].tolist() == [bits(0)]
    assert observations["desired_goal"].tolist() == [bits(1)]
