"""Save, load, learn: what is paused continues as if it had not been."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from gym_attrplan.agent import AttributePlannerAgent
from gym_attrplan.agent.learned import Learned
from gym_attrplan.error import InvalidOption
from gym_attrplan.wrappers import AttributeWrapper


class Line(gym.Env):
    """Six places in a row, seen as a position or as a picture; from both ends one can jump."""

    def __init__(self, pictures=False, box_actions=False):
        self.observation_space = (
            spaces.Box(0, 255, (36, 36, 3), np.uint8) if pictures else spaces.Box(-9, 9, (2,))
        )
        self.action_space = spaces.Box(-1, 1, (1,)) if box_actions else spaces.Discrete(3)
        self._pictures = pictures

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self._steps = int(self.np_random.integers(6)), 0
        return self._see(), {}

    def step(self, action):
        if isinstance(self.action_space, spaces.Box):
            action = int(np.digitize(action[0], [-0.3, 0.3]))
        self.place = (self.place + int(action) - 1) % 6
        self._steps += 1
        return self._see(), 0.0, False, self._steps >= 20, {}

    def _see(self):
        if self._pictures:
            picture = np.zeros((36, 36, 3), np.uint8)
            picture[:, 6 * self.place : 6 * self.place + 6] = 255
            return picture
        noise = self.np_random.normal(0, 0.1, 2)
        return (self.place - 2.5 + noise).astype(np.float32)


def place_of(env, observation):
    return {"place": env.unwrapped.place}


def make_env(**kwargs):
    return AttributeWrapper(Line(**kwargs), {"place": 6}, place_of)


def make_venv(n_envs=4, **kwargs):
    return DummyVecEnv([lambda: make_env(**kwargs)] * n_envs)


DQN = {"learning_starts": 200, "buffer_size": 2_000, "gradient_steps": 1}
SMALL_FIT = {"max_epochs": 2, "n_features": 8, "inverse_arch": [8], "forward_arch": [8]}
INVERSE = {"low_level": "inverse", "low_level_kwargs": SMALL_FIT}
FIRST = {"hops": "neighbours"}
SHORT = {"n_steps": 64, "batch_size": 64}
ADAPTING = {"max_hop_steps": None, "epoch_steps": 500, "low_level_kwargs": SHORT}
CASES = {
    "ppo": ({}, {}),
    "ppo, adapting": ({}, ADAPTING),
    "a2c": ({}, {"low_level": "a2c"}),
    "recurrent ppo": ({}, {**ADAPTING, "low_level": "recurrent_ppo"}),
    "dqn": ({}, {"low_level": "dqn", "low_level_kwargs": DQN}),
    "sac": ({"box_actions": True}, {"low_level": "sac", "low_level_kwargs": {"ent_coef": "auto"}}),
    "ppo, neighbours": ({}, FIRST),
    "ppo, random": ({}, {**FIRST, "exploration": "random"}),
    "dqn, neighbours": ({}, {**FIRST, "low_level": "dqn", "low_level_kwargs": DQN}),
    "sac, neighbours": ({"box_actions": True}, {**FIRST, "low_level": "sac"}),
    "inverse": ({}, INVERSE),
    "inverse, pictures": ({"pictures": True}, INVERSE),
    "inverse, boxes": ({"box_actions": True}, INVERSE),
}


QUICK = ("ppo, adapting", "recurrent ppo", "dqn")
"""What every test run holds to the law; the others wait for the slow one."""

# Pictures take their time.
STEPS = {"inverse, pictures": 100, "ppo, adapting": 2_000, "recurrent ppo": 600}


def make_agent(case, n_envs=4):
    env_options, options = CASES[case]
    return AttributePlannerAgent(
        "MultiInputPolicy",
        make_venv(n_envs, **env_options),
        seed=3,
        device="cpu",
        **{"max_hop_steps": 1 if options is INVERSE else 6, **options},
    )


def assert_same(one, other):
    """What two agents have learned and experienced is the same to the last bit."""
    mine, theirs = Learned.by(one), Learned.by(other)
    assert mine.progress == theirs.progress
    assert mine.tensors.keys() == theirs.tensors.keys()
    for name, tensor in mine.tensors.items():
        assert torch.equal(tensor, theirs.tensors[name]), name
    assert mine.arrays.keys() == theirs.arrays.keys()
    for group, arrays in mine.arrays.items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, theirs.arrays[group][name], f"{group} {name}")


LAW = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("case", LAW)
def test_a_saved_and_loaded_agent_learns_on_as_if_never_paused(case, tmp_path):
    agent = make_agent(case).learn(STEPS.get(case, 600))
    agent.save(tmp_path / "agent", include=("attempts", "examples", "replay_buffer"))
    env = make_venv(**CASES[case][0])
    loaded = AttributePlannerAgent.load(tmp_path / "agent", env=env)
    assert_same(agent, loaded)
    before = agent.num_timesteps
    for one in (agent, loaded):
        one.learn(300, reset_num_timesteps=False)
    assert_same(agent, loaded)
    assert agent.num_timesteps >= before + 300


@pytest.mark.parametrize("case", ["ppo", "dqn", "ppo, neighbours", "inverse"])
def test_an_agent_in_new_environments_learns_on_as_in_the_old_ones(case):
    agent, moved = (make_agent(case).learn(600) for _ in range(2))
    moved.set_env(make_venv(**CASES[case][0]))
    for one in (agent, moved):
        one.learn(300, reset_num_timesteps=False)
    assert_same(agent, moved)


def test_limits_and_epochs_have_moved_where_the_law_is_held_to_them():
    agent = make_agent("ppo, adapting").learn(2_000)
    assert agent.hops.lengths.limit < 100
    assert agent.low_level.gamma == agent.hops.lengths.discount < 0.99
    assert int(agent.outcomes.to_arrays()["epoch"]) >= 3


@pytest.mark.slow
def test_what_is_learned_on_matters_to_the_law():
    """The comparison above can fail: another 300 steps make another agent."""
    agent, longer = (make_agent("ppo").learn(300) for _ in range(2))
    longer.learn(300, reset_num_timesteps=False)
    with pytest.raises(AssertionError):
        assert_same(agent, longer)


def test_an_inverse_agent_saved_after_exploring_hops_from_its_examples(tmp_path):
    agent = make_agent("inverse")
    agent.learn(500, callback=lambda local, _: agent.steps_done["hop"] == 0)
    assert agent.steps_done["explore"] > 100
    agent.save(tmp_path / "agent")
    loaded = AttributePlannerAgent.load(tmp_path / "agent", env=make_venv())
    loaded.learn(500, reset_num_timesteps=False)
    assert loaded.low_level.inverse.is_fitted


def test_without_its_replay_buffer_a_learner_first_collects_experience_again(tmp_path):
    agent = make_agent("dqn").learn(600)
    agent.save(tmp_path / "agent")
    loaded = AttributePlannerAgent.load(tmp_path / "agent", env=make_venv())
    before = loaded.low_level._n_updates
    loaded.learn(160, reset_num_timesteps=False)
    assert loaded.low_level._n_updates == before
    loaded.learn(400, reset_num_timesteps=False)
    assert loaded.low_level._n_updates > before


def test_a_replay_buffer_of_other_environments_is_left_behind_with_a_warning(tmp_path):
    agent = make_agent("dqn").learn(600)
    agent.save(tmp_path / "agent", include=["replay_buffer"])
    with pytest.warns(UserWarning, match="steps of 4 environments and is left behind"):
        loaded = AttributePlannerAgent.load(tmp_path / "agent", env=make_venv(2))
    assert loaded.low_level.replay_buffer.size() == 0
    loaded.learn(300, reset_num_timesteps=False)


def test_unknown_parts_of_the_experience_are_refused(tmp_path):
    with pytest.raises(InvalidOption, match="received \\['buffer'\\]"):
        make_agent("ppo").save(tmp_path / "agent", include=["buffer"])
    assert not list(tmp_path.iterdir())


def test_running_statistics_of_observations_are_kept(tmp_path):
    def normalized():
        return VecNormalize(make_venv(), norm_obs_keys=["observation"], norm_reward=False)

    agent = AttributePlannerAgent("MultiInputPolicy", normalized(), seed=0, max_hop_steps=6)
    agent.learn(600)
    mean = agent.get_vec_normalize_env().obs_rms["observation"].mean
    assert abs(mean).max() > 1e-3
    agent.save(tmp_path / "agent")
    for loaded in (
        AttributePlannerAgent.load(tmp_path / "agent", env=normalized()),
        AttributePlannerAgent.load(tmp_path / "agent"),
    ):
        if loaded.get_vec_normalize_env() is None:
            loaded.set_env(normalized())
        statistics = loaded.get_vec_normalize_env().obs_rms["observation"]
        np.testing.assert_array_equal(statistics.mean, mean)


@pytest.mark.parametrize("case", ["dqn", "dqn, neighbours"])
def test_every_learner_has_a_clock_of_its_own(case):
    agent = make_agent(case)
    rates = []

    def note(local, _):
        if agent.steps_done["hop"]:
            rates.append(agent.low_level.exploration_rate)
        return True

    agent.learn(600, callback=note)
    assert rates[1] > 0.95  # of the second step: DQN has none before its first
    assert rates[-1] == pytest.approx(0.05)
    assert agent.low_level.num_timesteps == agent.steps_done["hop"]
    assert agent.num_timesteps == sum(agent.steps_done.values())
    if agent.explorer is not agent.low_level:
        assert agent.explorer.num_timesteps == agent.steps_done["explore"] > 0


@pytest.mark.parametrize("low_level", ["ppo", "a2c", "reinforce"])
@pytest.mark.parametrize("rate", [1e-3, None])
def test_the_learning_rate_falls_to_a_tenth(low_level, rate):
    given = {"n_steps": 16} if rate is None else {"n_steps": 16, "learning_rate": rate}
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        make_venv(),
        seed=0,
        max_hop_steps=6,
        low_level=low_level,
        low_level_kwargs=given,
    )
    rates = []

    def note(local, _):
        if agent.steps_done["hop"]:
            rates.append(agent.low_level.policy.optimizer.param_groups[0]["lr"])
        return True

    agent.learn(2_000, callback=note)
    assert rate is None or rates[0] == pytest.approx(rate)
    assert rates[-1] == pytest.approx(0.1 * rates[0], rel=0.5)


def test_logs_are_dated_by_the_agents_clock(tmp_path):
    from stable_baselines3.common.logger import configure

    agent = AttributePlannerAgent(
        "MultiInputPolicy", make_venv(), seed=0, max_hop_steps=6, low_level_kwargs={"n_steps": 32}
    )
    agent.set_logger(configure(str(tmp_path), ["csv"]))
    agent.learn(2_000)
    table = np.genfromtxt(tmp_path / "progress.csv", delimiter=",", names=True)
    times = table["timetotal_timesteps"]
    times = times[~np.isnan(times)]
    assert (np.diff(times) > 0).all()
    assert times[-1] <= agent.num_timesteps


def test_a_learning_rate_may_be_a_function_and_is_saved_as_what_it_is_by_then(tmp_path):
    agent = AttributePlannerAgent(
        "MultiInputPolicy",
        make_venv(),
        seed=0,
        learning_rate=lambda left: 1e-3 * left,
        low_level_kwargs={"n_steps": 16},
    )
    rates = []

    def note(local, _):
        rates.append(agent.low_level.policy.optimizer.param_groups[0]["lr"])
        return True

    agent.learn(2_000, callback=note)
    assert rates[0] == pytest.approx(1e-3)
    assert rates[-1] < 2e-4
    agent.save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent", env=make_venv())
    assert 0.0 < again.options.learning_rate < 2e-4
    assert not again.options.anneal
    again.learn(200, reset_num_timesteps=False)
    assert agent.learn(200, reset_num_timesteps=False).num_timesteps >= 2_200


@pytest.mark.parametrize("rate", [lambda left: -left, lambda left: "fast"])
def test_a_learning_rate_that_begins_as_none_is_refused(rate):
    with pytest.raises(InvalidOption, match="learning_rate is a number above 0"):
        AttributePlannerAgent("MultiInputPolicy", make_venv(), learning_rate=rate)
