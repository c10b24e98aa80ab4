"""OptionCritic: its returns and terminations by hand, that it learns, and that it is SB3's kin."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from four_rooms import FourRooms
from gymnasium import spaces
from stable_baselines3.common.callbacks import CheckpointCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import IdentityEnvBox, IdentityEnvMultiBinary
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper
from gym_attrplan.algorithms import OptionCritic, UnitPolicy
from gym_attrplan.algorithms.option_policy import View
from gym_attrplan.error import InvalidOption


class Road(gym.Env):
    """Every step pays 1; after ``length`` steps the road ends, or time cuts it off."""

    observation_space = spaces.Box(0, 1, (1,))
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 100, truncates: bool = False) -> None:
        self._length = length
        self._truncates = truncates

    def reset(self, *, seed=None, options=None):
        self._n = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self._n += 1
        done = self._n == self._length
        ended, cut = done and not self._truncates, done and self._truncates
        return np.full(1, self._n / self._length, np.float32), 1.0, ended, cut, {}


def make(env, **kwargs) -> OptionCritic:
    return OptionCritic("MlpPolicy", env, **{"seed": 0, "device": "cpu", **kwargs})


def set_terminations(model: OptionCritic, logit: float) -> None:
    """Have every option end always (a high logit) or never (a low one)."""
    with torch.no_grad():
        model.policy.termination_net.weight.zero_()
        model.policy.termination_net.bias.fill_(logit)


def returns_of(model: OptionCritic) -> list[float]:
    return model.rollout_buffer.returns.flatten().tolist()


def view_of(model: OptionCritic, observation: float) -> View:
    with torch.no_grad():
        return model.policy.look(torch.tensor([[observation]]))


# --- returns --------------------------------------------------------------------------------


def test_a_return_ends_with_the_episode():
    model = make(Road(length=2), n_steps=4, gamma=0.5, learning_rate=0.0)
    set_terminations(model, -50.0)
    model.learn(4)
    assert returns_of(model) == [1.5, 1.0, 1.5, 1.0]


def test_at_the_rollouts_end_a_return_goes_on_with_the_options_value():
    model = make(Road(), n_steps=1, gamma=0.5, learning_rate=0.0)
    set_terminations(model, -50.0)
    model.learn(1)
    value = view_of(model, 0.01).q[0, model._chosen[0, 0]].item()
    assert returns_of(model)[0] == pytest.approx(1.0 + 0.5 * value, abs=1e-5)


def test_an_option_sure_to_end_is_worth_choosing_anew_less_the_cost():
    model = make(Road(), n_steps=1, gamma=0.5, learning_rate=0.0, deliberation_cost=0.25)
    set_terminations(model, 50.0)
    model.learn(1)
    anew = model.policy.state_values(view_of(model, 0.01).q).item()
    assert returns_of(model)[0] == pytest.approx(1.0 + 0.5 * (anew - 0.25), abs=1e-5)


def test_an_episode_cut_by_time_goes_on_with_its_value():
    model = make(Road(length=1, truncates=True), n_steps=1, gamma=0.5, learning_rate=0.0)
    set_terminations(model, -50.0)
    model.learn(1)
    value = view_of(model, 1.0).q[0, model._chosen[0, 0]].item()
    assert returns_of(model)[0] == pytest.approx(1.0 + 0.5 * value, abs=1e-5)


def test_each_termination_costs_and_an_episodes_first_choice_does_not():
    model = make(Road(length=3), n_steps=6, gamma=1.0, learning_rate=0.0, deliberation_cost=0.25)
    set_terminations(model, 50.0)
    model.learn(6)
    assert model.rollout_buffer.rewards.flatten().tolist() == [1.0, 0.75, 0.75, 1.0, 0.75, 0.75]


def test_a_return_is_cut_at_a_termination_only_when_it_is_long_enough():
    model = make(Road(), n_steps=7, n_options=2, learning_rate=0.0, min_steps=3)
    model._ended = np.array([[0, 1, 0, 1, 1, 0, 1]], np.bool_).T
    cuts = model._cuts(np.zeros((7, 1), np.bool_))
    assert cuts.ravel().tolist() == [False, False, False, True, False, False, True]


def test_a_cut_return_goes_on_with_choosing_anew():
    model = make(Road(), n_steps=2, gamma=0.5, learning_rate=0.0, min_steps=1)
    set_terminations(model, 50.0)
    model.learn(2)
    anew = model.policy.state_values(view_of(model, 0.01).q).item() - 0.02
    assert returns_of(model)[0] == pytest.approx(1.0 + 0.5 * anew, abs=1e-5)


# --- options --------------------------------------------------------------------------------


def test_choosing_anew_is_worth_mostly_the_best_option():
    model = make(Road(), n_options=2, epsilon=0.2)
    q = torch.tensor([[1.0, 3.0]])
    assert model.policy.state_values(q).item() == pytest.approx(0.8 * 3.0 + 0.2 * 2.0)


def test_ended_options_make_room_for_the_best_and_others_go_on():
    model = make(Road(), n_options=3)
    q = torch.tensor([[0.0, 1.0, 0.0]] * 3)
    termination = torch.tensor([[0.9, 0.1, 0.1], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]])
    view = View(torch.zeros(3, 64), q, termination)
    starts = torch.tensor([False, False, True])
    options, ended = model.policy.choose(view, torch.tensor([0, 0, 2]), starts, deterministic=True)
    assert options.tolist() == [1, 0, 1]
    assert ended.tolist() == [True, False, False]


def test_an_option_worse_than_choosing_anew_learns_to_end_unless_that_costs_more():
    def logit_after(cost: float) -> float:
        model = make(Road(), n_options=2, n_steps=8, epsilon=0.0, deliberation_cost=cost)
        set_terminations(model, -1.0)
        model.learn(8)
        with torch.no_grad():
            model.policy.value_net.weight.zero_()
            model.policy.value_net.bias.copy_(torch.tensor([0.0, 1.0]))
        model._incoming[:] = 0  # an option behind by 1
        loss = model._termination_loss(model.policy.look(model._observations()))
        model.policy.zero_grad()
        loss.backward()
        return model.policy.termination_net.bias.grad[0].item()

    assert logit_after(cost=0.5) < 0  # descending raises the logit
    assert logit_after(cost=2.0) > 0


def test_predict_keeps_the_options_in_its_state():
    model = make(Road(), n_options=4)
    set_terminations(model, -50.0)
    observations = np.zeros((3, 1), np.float32)
    _, state = model.predict(observations, (np.array([2, 3, 1]),), np.array([False, False, False]))
    assert state[0].tolist() == [2, 3, 1]
    best = view_of(model, 0.0).q.argmax().item()
    starts = np.array([True, False, True])
    _, state = model.predict(observations, (np.array([2, 3, 1]),), starts, deterministic=True)
    assert state[0].tolist() == [best, 3, best]


# --- SB3's kin ------------------------------------------------------------------------------


@pytest.mark.parametrize("env", [IdentityEnvBox(), IdentityEnvMultiBinary(2)])
def test_it_takes_other_action_spaces(env):
    model = make(env, n_steps=8).learn(16)
    assert env.action_space.contains(model.predict(env.reset()[0])[0])


def test_it_reads_dict_observations_of_several_environments():
    def attribute_env():
        return AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)

    env = DummyVecEnv([attribute_env] * 2)
    model = OptionCritic("MultiInputPolicy", env, n_steps=8, device="cpu").learn(32)
    assert model.predict(env.reset())[0].shape == (2,)


def test_it_comes_back_from_a_file_and_trains_on(tmp_path):
    model = make("CartPole-v1", n_steps=16, n_options=3, deliberation_cost=0.07).learn(64)
    model.save(tmp_path / "model.zip")
    loaded = OptionCritic.load(tmp_path / "model.zip", env=model.get_env(), device="cpu")
    states = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    actions, found = (one.predict(states, deterministic=True)[0] for one in (model, loaded))
    assert actions.tolist() == found.tolist()
    assert (loaded.deliberation_cost, loaded.policy.n_options, loaded.n_steps) == (0.07, 3, 16)
    loaded.learn(32, reset_num_timesteps=False)
    assert loaded.num_timesteps == 96


def test_it_logs_its_losses_and_options_and_calls_callbacks(tmp_path):
    model = make("CartPole-v1", n_steps=8)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(32, CheckpointCallback(16, str(tmp_path)), log_interval=1)
    header = (tmp_path / "progress.csv").read_text().splitlines()[0].split(",")
    losses = {"policy_loss", "value_loss", "entropy_loss", "termination_loss"}
    assert {f"train/{name}" for name in losses} | {"options/ended"} <= set(header)
    assert (tmp_path / "rl_model_16_steps.zip").exists()


def test_the_same_seed_learns_the_same():
    weights = [make("CartPole-v1", seed=3).learn(120).policy.state_dict() for _ in range(2)]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_options", 0), ("epsilon", 1.5), ("deliberation_cost", -0.1), ("min_steps", 0)],
)
def test_numbers_out_of_range_are_refused(name, value):
    with pytest.raises(InvalidOption, match=f"{name} is .*received {value}"):
        make("CartPole-v1", **{name: value})


def test_a_policy_without_options_is_refused():
    with pytest.raises(InvalidOption, match=r"subclass of OptionPolicy; received .*UnitPolicy"):
        OptionCritic(UnitPolicy, "CartPole-v1")


# --- learning -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.learning
def test_it_crosses_four_rooms_with_more_than_one_option(seed):
    env = make_vec_env(FourRooms, 8, seed=seed)
    model = make(
        env,
        seed=seed,
        learning_rate=LinearSchedule(5e-3, 5e-4, 1.0),
        n_steps=32,
        gamma=0.97,
        n_options=4,
        deliberation_cost=0.0,
    ).learn(40_000)
    assert evaluate_policy(model, env, n_eval_episodes=40)[0] >= 0.95
    observations, state, starts = env.reset(), None, np.ones(8, np.bool_)
    used = np.zeros(4)
    for _ in range(200):
        actions, state = model.predict(observations, state, starts, deterministic=True)
        used += np.bincount(state[0], minlength=4)
        observations, _, starts, _ = env.step(actions)
    assert ((used / used.sum()) > 0.1).sum() >= 2


@pytest.mark.slow
@pytest.mark.learning
def test_it_balances_the_pole(seed):
    env = make_vec_env("CartPole-v1", 8, seed=seed)
    rate = LinearSchedule(5e-3, 5e-4, 1.0)
    options = {"n_steps": 32, "gamma": 0.98, "n_options": 4, "ent_coef": 0.0, "seed": seed}
    model = make(env, learning_rate=rate, **options).learn(100_000)
    assert evaluate_policy(model, env, n_eval_episodes=20)[0] >= 450
