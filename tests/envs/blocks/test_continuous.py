"""AttrBlocksContinuous-v0: the contract of its environment."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env, data_equivalence
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from gym_attrplan import check_attribute_env
from gym_attrplan.envs.blocks import BlocksRules, ContinuousBlocksEnv, scene
from gym_attrplan.envs.blocks.rules import SIDE
from gym_attrplan.error import InvalidEnvironment

ID = "AttrBlocksContinuous-v0"
OBS_TYPES = ["pixels", "state"]


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.fixture
def env():
    env = ContinuousBlocksEnv(BlocksRules(), obs_type="state")
    env.reset(seed=0)
    return env


def trajectory(env, n_steps=10):
    env.action_space.seed(0)
    return [env.reset(seed=3), *(env.step(env.action_space.sample()) for _ in range(n_steps))]


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.filterwarnings("ignore:We recommend you to use a symmetric")
@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_all_three_checkers_pass(obs_type):
    check_env(gym.make(ID, obs_type=obs_type), skip_render_check=obs_type == "state")
    check_attribute_env(gym.make(ID, obs_type=obs_type))
    before_time_limit = gym.make(ID, obs_type=obs_type, max_episode_steps=-1)
    sb3_check_env(before_time_limit.env.env)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_ppo_runs(obs_type):
    env = gym.make(ID, obs_type=obs_type, image_size=64)
    model = PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, n_epochs=1).learn(64)
    assert model.num_timesteps == 64


def test_the_default_is_pictures_of_128_pixels_and_40_steps():
    env = gym.make(ID)
    observation, _ = env.reset(seed=0)
    assert observation["observation"].shape == (128, 128, 3)
    assert len(observation["desired_goal"]) == 36
    assert env.spec.max_episode_steps == 40


def test_an_environment_is_made_again_from_its_spec_and_from_its_spec_as_json():
    env = gym.make(ID, obs_type="state", n_blocks=3, task="one_step_70")
    expected = trajectory(env)
    assert data_equivalence(trajectory(gym.make(env.spec)), expected)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert data_equivalence(trajectory(again), expected)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_a_pickled_environment_goes_on_where_it_was(obs_type):
    env = gym.make(ID, obs_type=obs_type, task="one_step")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    copy = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    assert data_equivalence(env.step(action), copy.step(action))
    assert data_equivalence(env.reset(), copy.reset())


# --- actions --------------------------------------------------------------------------------


def test_native_actions_become_scores_and_a_place(env):
    action = env.join_action((2, (0.25, 0.75)))
    assert action.tolist() == [0, 0, 1, 0, 0.25, 0.75]
    assert action in env.action_space
    assert env.join_action(env.native_action_space.sample()) in env.action_space
    assert env.action_choices == 4


def test_the_block_with_the_highest_score_is_dropped_at_the_place(env):
    corners = np.array([(0.1, 0.1), (0.9, 0.1), (0.1, 0.9), (0.9, 0.9)])
    poses = scene.upright(np.column_stack([(corners - 0.5) * env.table.side, [SIDE / 2] * 4]))
    env.reset(options={"poses": poses})
    observation, *_, info = env.step(np.array([0.2, 0.1, 0.9, 0.8, 0.5, 0.4], np.float32))
    corners[2] = 0.5, 0.4
    assert observation.reshape(4, 9)[:, :2] == pytest.approx(corners, abs=0.01)
    assert info == {"moved": True, "settled": True, "fallen": ()}


@pytest.mark.parametrize("wrong", [np.zeros(5), np.full(6, 1.5), np.full(6, np.nan)])
def test_other_actions_are_refused(env, wrong):
    with pytest.raises(gym.error.InvalidAction, match="4 scores, x and y, all from 0 to 1"):
        env.step(wrong)


# --- states ---------------------------------------------------------------------------------


def test_a_reset_to_given_poses_begins_there(env):
    poses = env.table.scene.poses()
    for _ in range(3):
        env.step(env.action_space.sample())
    env.reset(options={"poses": poses})
    assert env.table.scene.poses() == pytest.approx(poses, abs=1e-4)


def test_info_names_the_blocks_that_fell(env):
    poses = scene.upright([[0.1 * i - 0.1, 0.0, SIDE / 2] for i in range(3)] + [[1.0, 0.0, 0.0]])
    observation, info = env.reset(seed=0, options={"poses": poses})
    assert info["fallen"] == ("yellow",)
    assert observation in env.observation_space


@pytest.mark.parametrize("wrong", [np.zeros((3, 7)), np.zeros((4, 7)), np.full((4, 7), np.nan)])
def test_other_poses_are_refused(env, wrong):
    with pytest.raises(InvalidEnvironment, match=r"poses are \(4, 7\)"):
        env.reset(options={"poses": wrong})


def test_random_starts_differ_and_follow_the_seed(env):
    first, second, again = (env.reset(seed=seed)[0] for seed in (1, 2, 1))
    assert (first == again).all()
    assert (first != second).any()


def test_states_need_no_opengl_and_pictures_do(monkeypatch):
    def fail(*_):
        raise RuntimeError("no OpenGL")

    monkeypatch.setattr(scene, "open_gl", fail)
    env = gym.make(ID, obs_type="state")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    with pytest.raises(RuntimeError, match="no OpenGL"):
        gym.make(ID).reset(seed=0)


def test_pictures_show_what_happened():
    env = ContinuousBlocksEnv(BlocksRules(), image_size=64, render_mode="rgb_array")
    before, _ = env.reset(seed=0)
    after, *_ = env.step(env.join_action((0, (0.9, 0.1))))
    assert after in env.observation_space
    assert (before != after).any()
    assert env.render().shape == (480, 480, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"obs_type": "words"}, "obs_type is one of .*received 'words'"),
        ({"image_size": 4}, "image_size must be .*received 4"),
        ({"n_blocks": 7}, "n_blocks must be 2 to 6; received 7"),
        ({"grid": 2}, "grid must be 3 to 6.*received 2"),
        ({"colors": ["red", "gren", "blue", "yellow"]}, "Did you mean 'green'"),
        ({"render_mode": "ansi"}, "received 'ansi'"),
        ({"task": "three_step"}, "received 'three_step'"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidEnvironment, match=message):
        gym.make(ID, **wrong)
