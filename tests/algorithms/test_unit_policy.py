"""UnitPolicy: masks hold, weights are shared, and SB3's algorithms train, save and load it."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import A2C, PPO
from torch.distributions import Categorical

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import AttributePlannerAgent, VectorEnvAdapter
from gym_attrplan.algorithms import Reinforce, UnitPolicy
from gym_attrplan.algorithms.unit_policy import UnitDistribution
from gym_attrplan.error import InvalidEnvironment

SMALL = {"n_steps": 16, "device": "cpu", "seed": 0}


def make_envs(n=8, **options):
    return gym.make_vec("AttrBuildOrder-v0", n, vectorization_mode="vector_entry_point", **options)


def make_policy(seed=0):
    envs = make_envs(1)
    torch.manual_seed(seed)
    return UnitPolicy(envs.single_observation_space, envs.single_action_space, lambda _: 1e-3)


def some_observations(n=6, n_steps=60):
    envs, rng = make_envs(n), np.random.default_rng(0)
    observations, _ = envs.reset(seed=0)
    for _ in range(n_steps):
        observations, *_ = envs.step(rng.integers(10, size=(n, 14)))
    return {key: torch.as_tensor(part) for key, part in observations.items()}


def test_what_is_masked_is_never_drawn_and_units_without_a_choice_wait():
    policy, observations = make_policy(), some_observations()
    mask = observations["action_mask"].bool()
    for _ in range(50):
        actions, _, _ = policy(observations)
        assert actions.shape == (6, 14)
        assert mask.gather(2, actions.unsqueeze(2)).all()
    assert (actions[mask.sum(2) == 1] == 0).all()
    assert mask.gather(2, policy(observations, deterministic=True)[0].unsqueeze(2)).all()


def test_log_probabilities_and_entropies_add_up_over_the_units_that_have_a_choice():
    torch.manual_seed(0)
    logits = torch.randn(3, 4)
    logits[0, 2] = -torch.inf
    choosers = torch.tensor([0, 3, 4])  # slots 0 of economy 0, 1 and 2 of economy 1
    units = UnitDistribution(2).proba_distribution(logits, choosers, n_envs=3)
    actions = torch.tensor([[3, 0], [0, 1], [2, 0]])
    alone = Categorical(logits=logits)
    expected = alone.log_prob(torch.tensor([3, 1, 2]))
    assert torch.allclose(units.log_prob(actions), torch.stack([*expected]))
    assert torch.allclose(units.entropy(), torch.stack([*alone.entropy()]))
    two = UnitDistribution(4).proba_distribution(logits, torch.tensor([0, 3, 4]), n_envs=2)
    actions = torch.tensor([[3, 0, 0, 1], [2, 0, 0, 0]])
    assert torch.allclose(two.log_prob(actions), torch.stack([expected[:2].sum(), expected[2]]))


def test_when_no_unit_has_a_choice_all_wait():
    policy, observations = make_policy(), some_observations(n=1)
    observations["action_mask"][:, :, 1:] = 0
    for deterministic in (False, True):
        actions, _, log_probs = policy(observations, deterministic)
        assert actions.tolist() == [[0] * 14]
        assert log_probs.tolist() == [0.0]


def test_actions_are_drawn_as_often_as_they_are_likely():
    torch.manual_seed(0)
    shares = torch.tensor([0.2, 0.5, 0.0, 0.3])
    units = UnitDistribution(1).proba_distribution(
        shares.log().expand(20_000, 4), torch.arange(20_000), n_envs=20_000
    )
    drawn = torch.bincount(units.sample().flatten(), minlength=4) / 20_000
    assert torch.allclose(drawn, shares, atol=0.02)
    assert drawn[2] == 0


def test_actions_and_values_can_have_features_of_their_own():
    envs = make_envs(1)
    policy = UnitPolicy(
        envs.single_observation_space,
        envs.single_action_space,
        lambda _: 1e-3,
        share_features_extractor=False,
    )
    policy.predict_values(some_observations()).sum().backward()
    assert policy.pi_features_extractor.common.weight.grad is None
    assert policy.vf_features_extractor.common.weight.grad.abs().sum() > 0


def test_entropies_have_gradients_where_actions_are_masked():
    policy, observations = make_policy(), some_observations()
    actions, _, _ = policy(observations)
    values, log_probs, entropy = policy.evaluate_actions(observations, actions)
    (values.sum() + entropy.sum() + log_probs.sum()).backward()
    assert all(torch.isfinite(one.grad).all() for one in policy.parameters())
    assert policy.action_net.weight.grad.abs().sum() > 0


def test_units_that_change_places_change_actions_and_nothing_else():
    policy, observations = make_policy(), some_observations()
    order = torch.tensor([3, 1, 2, 0, *range(4, 14)])
    swapped = dict(observations)
    for key in ("units", "slot_mask", "action_mask"):
        swapped[key] = observations[key][:, order]
    actions, values, log_probs = policy(observations, deterministic=True)
    others, other_values, other_log_probs = policy(swapped, deterministic=True)
    assert torch.equal(actions[:, order], others)
    assert torch.allclose(values, other_values, atol=1e-6)
    assert torch.allclose(log_probs, other_log_probs, atol=1e-5)


def test_the_goal_reaches_actions_and_values():
    policy, observations = make_policy(), some_observations()
    other = {**observations, "desired_goal": observations["desired_goal"] * 0 + 1}
    actions, values, log_probs = policy(observations)
    _, other_log_probs, _ = policy.evaluate_actions(other, actions)
    assert not torch.allclose(log_probs, other_log_probs, atol=1e-6)
    assert not torch.allclose(values, policy.predict_values(other))


def test_units_start_out_by_mostly_carrying_on():
    observations = some_observations()
    choice = observations["action_mask"].sum(2) > 1

    def share_of_waiting(**options):
        envs = make_envs(1)
        spaces_ = envs.single_observation_space, envs.single_action_space
        policy = UnitPolicy(*spaces_, lambda _: 1e-3, **options)
        actions = torch.cat([policy(observations)[0][choice] for _ in range(50)])
        return (actions == 0).float().mean().item()

    assert share_of_waiting(wait_bias=0.0) < 0.4
    assert 0.7 < share_of_waiting() < 0.98


def test_untrained_units_see_enough_orders_through_to_be_rewarded_now_and_then():
    """Where no episode of a rollout is rewarded, what PPO follows is noise."""
    envs = make_envs(1_024, **SAVE_UP)
    torch.manual_seed(0)
    policy = UnitPolicy(envs.single_observation_space, envs.single_action_space, lambda _: 1e-3)
    assert success_rate(policy, envs) > 0.01


@pytest.mark.parametrize("algorithm", [PPO, A2C, Reinforce])
def test_sb3s_algorithms_train_save_and_load_it(algorithm, tmp_path):
    venv = VectorEnvAdapter(make_envs())
    model = algorithm(UnitPolicy, venv, **SMALL)
    before = [one.clone() for one in model.policy.parameters()]
    model.learn(256)
    assert any(
        not torch.equal(a, b) for a, b in zip(before, model.policy.parameters(), strict=True)
    )
    model.save(tmp_path / "model.zip")
    loaded = algorithm.load(tmp_path / "model.zip", env=venv, device="cpu")
    observation = {key: part.numpy() for key, part in some_observations().items()}
    expected, _ = model.predict(observation, deterministic=True)
    np.testing.assert_array_equal(loaded.predict(observation, deterministic=True)[0], expected)


def test_a_policy_is_saved_and_loaded_by_itself(tmp_path):
    policy, observations = make_policy(), some_observations()
    policy.save(tmp_path / "policy.pth")
    loaded = UnitPolicy.load(tmp_path / "policy.pth")
    assert torch.equal(loaded(observations, True)[0], policy(observations, True)[0])
    assert loaded.wait_bias == policy.wait_bias


def have_75_ore(achieved, rng):
    goals = np.full_like(achieved, -1)
    goals[:, 0] = 3
    return goals


SAVE_UP = {"max_episode_steps": 40, "goal_sampler": have_75_ore}
"""75 ore after 40 steps: four SCVs must mine, and the command centre must not train."""


@pytest.mark.slow
@pytest.mark.learning
def test_ppo_with_it_learns_to_mine_and_to_save_up(seed):
    model = PPO(
        UnitPolicy,
        VectorEnvAdapter(make_envs(64, **SAVE_UP)),
        n_steps=40,
        batch_size=640,
        n_epochs=4,
        learning_rate=3e-3,
        gamma=0.97,
        device="cpu",
        seed=seed,
    )
    before = success_rate(model, make_envs(64, **SAVE_UP))
    model.learn(64 * 40 * 12)
    assert before < 0.2
    assert success_rate(model, make_envs(64, **SAVE_UP)) > 0.8


def success_rate(model, envs):
    observations, _ = envs.reset(seed=1)
    n_ended = n_met = 0
    for _ in range(40):
        actions, _ = model.predict(observations)
        observations, _, terminated, truncated, _ = envs.step(actions)
        n_ended += (terminated | truncated).sum()
        n_met += terminated.sum()
    return n_met / n_ended


def test_the_planner_agent_explores_and_hops_with_it():
    agent = AttributePlannerAgent(
        UnitPolicy,
        "AttrBuildOrder-v0",
        n_envs=8,
        max_hop_steps=50,
        low_level_kwargs={"n_steps": 50, "batch_size": 400},
        seed=0,
        device="cpu",
    )
    agent.learn(1_600)
    assert agent.counts.n_edges > 0
    observation, _ = gym.make("AttrBuildOrder-v0").reset(seed=0)
    assert agent.predict(observation)[0].shape == (14,)


def test_an_observation_without_units_is_refused():
    env = gym.make("AttrBuildOrder-v0")
    parts = dict(env.observation_space.spaces)
    del parts["slot_mask"]
    with pytest.raises(InvalidEnvironment, match="UnitPolicy reads 'slot_mask'"):
        UnitPolicy(spaces.Dict(parts), env.action_space, lambda _: 1e-3)


@pytest.mark.parametrize("space", [spaces.Discrete(10), spaces.MultiDiscrete([10, 9])])
def test_another_action_space_is_refused(space):
    env = gym.make("AttrBuildOrder-v0")
    with pytest.raises(InvalidEnvironment, match="UnitPolicy needs a MultiDiscrete"):
        UnitPolicy(env.observation_space, space, lambda _: 1e-3)
