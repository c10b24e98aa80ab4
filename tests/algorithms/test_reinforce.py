"""Reinforce: what its gradient is, that it learns, and that it comes back from a file."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import IdentityEnv, IdentityEnvBox, IdentityEnvMultiBinary
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper
from gym_attrplan.algorithms import Reinforce
from gym_attrplan.error import InvalidData


class Corridor(gym.Env):
    """Two steps paid 1 and 2; then terminated, or cut off by time if ``truncates``."""

    observation_space = spaces.Box(-1, 1, (1,))
    action_space = spaces.Discrete(2)

    def __init__(self, truncates: bool = False) -> None:
        self._truncates = truncates

    def reset(self, *, seed=None, options=None):
        self._n = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self._n += 1
        done = self._n == 2
        observation = np.full(1, self._n / 2, np.float32)
        ended, cut = done and not self._truncates, done and self._truncates
        return observation, float(self._n), ended, cut, {}


def make(env, **kwargs) -> Reinforce:
    kwargs = {"seed": 0, "device": "cpu", **kwargs}
    return Reinforce("MlpPolicy", env, **kwargs)


def value_of(model: Reinforce, observation: float) -> float:
    with torch.no_grad():
        return model.policy.predict_values(torch.tensor([[observation]])).item()


def test_returns_are_monte_carlo_and_end_at_a_terminal():
    model = make(Corridor(), n_steps=4, gamma=0.5)
    model.learn(4)
    assert model.rollout_buffer.returns.flatten().tolist() == [2.0, 2.0, 2.0, 2.0]


def test_an_episode_cut_by_the_rollout_goes_on_with_its_value():
    model = make(Corridor(), n_steps=3, gamma=0.5, learning_rate=0.0)
    model.learn(3)
    returns = model.rollout_buffer.returns.flatten()
    assert returns[:2].tolist() == [2.0, 2.0]
    assert returns[2] == pytest.approx(1.0 + 0.5 * value_of(model, 0.5), abs=1e-6)


def test_an_episode_cut_by_time_goes_on_with_its_value():
    model = make(Corridor(truncates=True), n_steps=2, gamma=0.5, learning_rate=0.0)
    model.learn(2)
    last = 2.0 + 0.5 * value_of(model, 1.0)
    assert model.rollout_buffer.returns.flatten()[1] == pytest.approx(last, abs=1e-6)


def test_the_moment_baseline_takes_off_the_mean_and_divides_by_the_deviation():
    model = make(Corridor(), n_steps=2, gamma=1.0)
    model.learn(2)  # returns 3 and 2
    credit = model._credit(next(model.rollout_buffer.get(None)))
    assert sorted(credit.tolist()) == pytest.approx([-1.0, 1.0])


def test_the_value_baseline_takes_off_the_estimate():
    model = make(Corridor(), n_steps=2, gamma=1.0, baseline="value")
    model.learn(2)
    buffer = model.rollout_buffer
    credit = model._credit(next(buffer.get(None)))
    expected = (buffer.returns - buffer.values).flatten()
    assert sorted(credit.tolist()) == pytest.approx(sorted(expected.tolist()), abs=1e-6)


def test_equal_returns_give_no_credit():
    model = make(Corridor(), n_steps=4, gamma=0.5)
    model.learn(4)  # every return is 2
    assert model._credit(next(model.rollout_buffer.get(None))).abs().max() == 0.0


@pytest.mark.learning
@pytest.mark.parametrize("baseline", ["moment", "value"])
def test_it_learns_the_identity(baseline, seed):
    worlds = [IdentityEnv(3) for _ in range(8)]
    for i, world in enumerate(worlds):
        world.action_space.seed(8 * seed + i)  # it draws its states from there
    env = DummyVecEnv([lambda world=world: world for world in worlds])
    model = make(env, n_steps=8, gamma=0.0, learning_rate=3e-3, baseline=baseline, seed=seed)
    model.learn(10_000)
    reward, _ = evaluate_policy(model, env, n_eval_episodes=4, warn=False)
    assert reward > 95  # of 100; chance is 33


@pytest.mark.parametrize("env", [IdentityEnvBox(), IdentityEnvMultiBinary(2)])
def test_it_takes_other_action_spaces(env):
    model = make(env, n_steps=8).learn(16)
    assert env.action_space.contains(model.predict(env.reset()[0])[0])


def test_it_reads_dict_observations_of_several_environments():
    def attribute_env():
        return AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)

    env = DummyVecEnv([attribute_env] * 2)
    model = Reinforce("MultiInputPolicy", env, n_steps=8, device="cpu").learn(32)
    assert model.predict(env.reset())[0].shape == (2,)


def test_it_logs_what_a2c_logs(tmp_path):
    model = make(IdentityEnvBox(), n_steps=8)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(32, log_interval=1)
    header = (tmp_path / "progress.csv").read_text().splitlines()[0].split(",")
    losses = {"explained_variance", "entropy_loss", "policy_loss", "value_loss", "std"}
    assert {f"train/{name}" for name in losses} <= set(header)


def test_the_optimizer_is_rmsprop_adam_or_the_users():
    def optimizer(**kwargs):
        return type(make("CartPole-v1", **kwargs).policy.optimizer)

    assert optimizer() is torch.optim.RMSprop
    assert optimizer(use_rms_prop=False) is torch.optim.Adam
    assert optimizer(policy_kwargs={"optimizer_class": torch.optim.SGD}) is torch.optim.SGD


def test_it_comes_back_from_a_file(tmp_path):
    model = make("CartPole-v1", n_steps=16, baseline="value", ent_coef=0.03).learn(64)
    model.save(tmp_path / "model.zip")
    loaded = Reinforce.load(tmp_path / "model.zip", env=model.get_env(), device="cpu")
    states = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    actions, found = (one.predict(states, deterministic=True)[0] for one in (model, loaded))
    assert actions.tolist() == found.tolist()
    assert (loaded.baseline, loaded.ent_coef, loaded.n_steps) == ("value", 0.03, 16)
    loaded.learn(32, reset_num_timesteps=False)
    assert loaded.num_timesteps == 96


def test_an_unknown_baseline_is_refused():
    with pytest.raises(InvalidData, match=r"one of .*'moment', 'value'"):
        make("CartPole-v1", baseline="mean")


POLES = {
    "moment": {"n_steps": 128, "learning_rate": LinearSchedule(5e-3, 0.0, 1.0)},
    "value": {"n_steps": 64, "learning_rate": LinearSchedule(3e-3, 0.0, 1.0)},
}


@pytest.mark.slow
@pytest.mark.learning
@pytest.mark.parametrize("baseline", POLES)
def test_it_balances_the_pole(baseline, seed):
    env = make_vec_env("CartPole-v1", 8, seed=seed)
    options = {"use_rms_prop": False, "seed": seed, **POLES[baseline]}
    model = make(env, baseline=baseline, **options).learn(150_000)
    # Of 500; chance is 22. A wide margin: the gradient is noisy, and some seeds end well below 450.
    assert evaluate_policy(model, env, n_eval_episodes=20)[0] >= 200
