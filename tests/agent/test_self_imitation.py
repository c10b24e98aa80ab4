"""SelfImitation: changes that came about by chance teach the policy to make them."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from test_practice import practice

from gym_attrplan.agent.environments import attribute_space
from gym_attrplan.agent.learners import ALGORITHMS
from gym_attrplan.agent.low_level import build
from gym_attrplan.agent.self_imitation import HORIZON, MAX_BYTES, Past, SelfImitation

FOUR, TWO, ONE = range(3)


def past_of(counts, over=(), ended=(), n_envs=1):
    """Environments that count alike, seen as bits; episodes are over after some of the steps."""
    bits = [[(count >> 2) & 1, (count >> 1) & 1, count & 1] for count in counts]
    rows = np.repeat(np.array(bits, np.int8)[:, None], n_envs, axis=1)
    seen = {"observation": np.zeros((n_envs, 1)), "achieved_goal": rows[0]}
    past = Past({**seen, "desired_goal": rows[0]}, np.zeros(n_envs, np.int64))
    for k, (before, after) in enumerate(pairwise(rows)):
        seen = {"observation": np.full((n_envs, 1), k), "achieved_goal": before}
        flags = [np.full(n_envs, k in steps) for steps in (over, ended)]
        past.add(seen, np.full(n_envs, k), after, over=flags[0], ended=flags[1])
    return past


def as_rows(examples):
    return sorted(zip(*(part.tolist() for part in examples), strict=True))


def test_the_steps_before_a_change_are_examples_of_it():
    """0, 0, 1, 2: bit one is set in the second step and unset in the third, with bit two."""
    assert as_rows(past_of([0, 0, 1, 2]).examples()) == [
        (0, 0, TWO, 1, 3, False),
        (0, 0, ONE, 1, 2, False),
        (1, 0, TWO, 1, 2, False),
        (1, 0, ONE, 1, 1, False),
        (2, 0, TWO, 1, 1, False),
        (2, 0, ONE, 0, 1, False),
    ]


def test_what_follows_in_the_next_episode_is_no_example():
    examples = past_of([0, 1, 0, 2], over=[0], ended=[0]).examples()
    assert (0, 0, ONE, 1, 1, True) in as_rows(examples)  # made with the last step
    assert not (examples.column[examples.step == 0] == TWO).any()


def test_only_so_many_steps_before_a_change_are_an_example():
    examples = past_of([0] * 40 + [1]).examples()
    assert examples.step.tolist() == list(range(40 - HORIZON, 40))
    assert examples.distance.tolist() == list(range(HORIZON, 0, -1))


def test_the_oldest_steps_are_forgotten_and_large_observations_soonest(monkeypatch):
    monkeypatch.setattr("gym_attrplan.agent.self_imitation.N_STEPS", 40)
    past = past_of([0, 1] * 50, n_envs=2)  # of each environment the newest 20 of 99 steps
    examples = past.examples()
    seen, actions = past.at(examples.step, examples.env)
    assert set(actions.tolist()) == set(range(79, 99))
    assert (seen["observation"][:, 0] == actions).all()
    assert (seen["achieved_goal"][:, ONE] == actions % 2).all()
    large = {key: np.zeros((1, MAX_BYTES // 20), np.int8) for key in ("seen", "achieved_goal")}
    assert Past(large, np.zeros(1))._size == HORIZON


def model_for(env, name="ppo", seed=0):
    kwargs = {"n_steps": 64, "batch_size": 512} if name == "ppo" else {}
    names = attribute_space(env).value_names()
    return build(
        ALGORITHMS[name], "MultiInputPolicy", env, kwargs, anneal=False, names=names, seed=seed
    )


def count_up_prob(model, env, change):
    """How likely the policy counts up from 0 when asked for a change."""
    seen = {key: torch.as_tensor(part[:1]) for key, part in env.reset().items()}
    seen["desired_goal"] = torch.as_tensor([change], dtype=torch.int8)
    with torch.no_grad():
        return float(model.policy.get_distribution(seen).distribution.probs[0, 1])


@pytest.mark.learning
@pytest.mark.parametrize("name", ["ppo", "a2c", "reinforce"])
def test_a_change_that_is_never_asked_for_is_learned(name, seed):
    """All segments explore, and the algorithm itself learns nothing."""
    env = practice(n=8, explore_share=1.0, seed=seed)
    model = model_for(env, name, seed=seed)
    model.train = lambda: None
    before = count_up_prob(model, env, [-1, -1, 1])
    model.learn(10_000, SelfImitation(env, rng=np.random.default_rng(seed)))
    assert abs(before - 0.5) < 0.05
    # Of what chance did before the bit was set, so much counted up, if near steps weigh more.
    assert count_up_prob(model, env, [-1, -1, 1]) > 0.56


def test_what_works_is_left_to_the_algorithm():
    env = practice(n=8, explore_share=1.0)
    model = model_for(env)
    imitation = SelfImitation(env, rng=np.random.default_rng(0))
    model.learn(512, imitation)
    weights, _, need = imitation._weigh(imitation._past.examples())
    assert need > 0.0
    assert (weights > 0).all()
    for column in range(3):  # every bit is now set and unset whenever that is asked for
        for value in (0, 1):
            change = np.full((100, 3), -1)
            change[:, column] = value
            zeros = np.zeros((100, 3), int)
            env.outcomes.record(zeros, change, zeros, made=True, n_steps=1)
    assert imitation._weigh(imitation._past.examples())[2] == 0.0
    before = {key: value.clone() for key, value in model.policy.state_dict().items()}
    imitation._on_rollout_start()
    after = model.policy.state_dict()
    assert all((before[key] == after[key]).all() for key in before)


def test_ending_an_episode_needlessly_is_a_bad_example():
    env = practice(n=8, explore_share=1.0, ends_at=1)
    model = model_for(env)
    imitation = SelfImitation(env, rng=np.random.default_rng(0))
    model.learn(512, imitation)
    examples = imitation._past.examples()
    assert examples.ended.all()
    assert imitation._weigh(examples)[1].max() == 1.0
    one, zeros = np.tile([-1, -1, 1], (98, 1)), np.zeros((98, 3), int)
    env.outcomes.record(zeros, one, zeros, made=True, n_steps=1)  # it can be had without that
    assert imitation._weigh(examples)[1].max() == pytest.approx(0.51)
