"""AttrBlocks-v0, through physics: a stack built by hand, the three checkers, and its promises."""

import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from gym_attrplan import check_attribute_env
from gym_attrplan.envs.blocks import BlocksEnv, BlocksRules, scene
from gym_attrplan.envs.blocks.rules import PITCH, SIDE
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment, InvalidGoal

ID = "AttrBlocks-v0"
OBS_TYPES = ["pixels", "state"]
RULES = BlocksRules()
APART = int(RULES.encode([[0, 2, 6, 8]], [[0, 0, 0, 0]])[0])


def trajectory(env, n_steps=12):
    env.action_space.seed(0)
    seen = [env.reset(seed=3)]
    seen += [env.step(env.action_space.sample()) for _ in range(n_steps)]
    return seen


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_a_stack_of_four_built_by_hand_has_exactly_its_attributes(jitter):
    env = gym.make(ID, obs_type="state", jitter=jitter, task="four_stack")
    observation, _ = env.reset(seed=0, options={"state": APART})
    for color in ("blue", "green", "red"):
        action = RULES.action(color, 8)  # where yellow is
        observation, reward, terminated, _, info = env.step(action)
        assert terminated == (color == "red") == bool(reward)
    space = env.get_wrapper_attr("attribute_space")
    true = {name for name, value in space.decode(info["attributes"]).items() if value}
    assert true == {"on(red, green)", "on(green, blue)", "on(blue, yellow)"}
    heights = observation["observation"].reshape(4, 3)[:, 2]
    np.testing.assert_allclose(heights, [3.5, 2.5, 1.5, 0.5], atol=0.02)


def test_a_covered_block_stays_where_it_is():
    env = BlocksEnv(RULES, obs_type="state")
    state = int(RULES.encode([[0, 0, 6, 8]], [[0, 1, 0, 0]])[0])
    before, _ = env.reset(seed=0, options={"state": state})
    after, *_ = env.step(RULES.action("red", 4))
    np.testing.assert_array_equal(after, before)
    env.step(RULES.action("green", 4))
    env.step(RULES.action("red", 5))
    assert env.state == RULES.encode([[5, 4, 6, 8]], [[0, 0, 0, 0]])[0]


def test_without_jitter_blocks_rest_in_the_middle_of_their_cells():
    env = BlocksEnv(RULES, obs_type="state", jitter=0.0)
    observation, _ = env.reset(seed=0, options={"state": APART})
    pitch = PITCH / SIDE
    expected = [[-pitch, pitch, 0.5], [pitch, pitch, 0.5], [-pitch, -pitch, 0.5]]
    np.testing.assert_allclose(observation.reshape(4, 3)[:3], expected, atol=0.01)


def test_with_jitter_equal_drops_end_a_little_apart():
    env = BlocksEnv(RULES, obs_type="state")
    ends = []
    for seed in (0, 1):
        env.reset(seed=seed, options={"state": APART})
        ends.append(env.step(RULES.action("red", 4))[0][:2])
    assert 0.001 < np.abs(ends[0] - ends[1]).max() < 2 * 0.2
    assert not np.allclose(ends, 0, atol=0.001)


def test_a_seed_repeats_starts_and_drops():
    assert same(trajectory(gym.make(ID, image_size=32)), trajectory(gym.make(ID, image_size=32)))


def test_gymnasiums_checker_passes_with_every_render_mode():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*env.unwrapped.*")
        check_env(gym.make(ID))


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_all_three_checkers_pass(obs_type):
    check_env(gym.make(ID, obs_type=obs_type), skip_render_check=True)
    check_attribute_env(gym.make(ID, obs_type=obs_type), n_steps=50)
    before_time_limit = gym.make(ID, obs_type=obs_type, max_episode_steps=-1)
    sb3_check_env(before_time_limit.env.env)


@pytest.mark.parametrize("options", [{"obs_type": "state"}, {"image_size": 64}])
def test_ppo_runs(options):
    env = gym.make(ID, **options)
    PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, n_epochs=1).learn(64)


def test_an_environment_is_made_again_from_its_spec_and_from_its_spec_as_json():
    env = gym.make(
        ID, n_blocks=3, obs_type="state", task="one_step_70", colors=["white", "red", "blue"]
    )
    expected = trajectory(env)
    assert same(trajectory(gym.make(env.spec)), expected)
    assert same(trajectory(gym.make(EnvSpec.from_json(env.spec.to_json()))), expected)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
def test_a_pickled_environment_goes_on_where_it_was(obs_type):
    env = gym.make(ID, obs_type=obs_type, image_size=32)
    env.reset(seed=0)
    env.step(0)
    copy = pickle.loads(pickle.dumps(env))
    for action in (1, 14, 22, 33):
        assert same(env.step(action), copy.step(action))


@pytest.mark.parametrize("n_blocks", [2, 5, 6])
def test_other_numbers_of_blocks(n_blocks):
    env = gym.make(ID, n_blocks=n_blocks, image_size=48)
    observation, _ = env.reset(seed=0)
    assert env.action_space.n == 9 * n_blocks
    assert observation["achieved_goal"].shape == (3 * n_blocks * (n_blocks - 1),)
    assert observation["observation"].shape == (48, 48, 3)


def test_pictures_for_people_are_480_pixels_wide():
    env = gym.make(ID, obs_type="state", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (480, 480, 3)


def test_state_observations_never_need_opengl(monkeypatch):
    def no_opengl(mujoco, size):
        raise DependencyNotInstalled("no OpenGL")

    monkeypatch.setattr(scene, "open_gl", no_opengl)
    env = gym.make(ID, obs_type="state")
    env.reset(seed=0)
    env.step(3)
    with pytest.raises(DependencyNotInstalled):
        gym.make(ID).reset(seed=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"obs_type": "rgb"}, "obs_type is one of .*; received 'rgb'"),
        ({"image_size": 8}, "whole number from 16 to 1024; received 8"),
        ({"n_blocks": 9}, "n_blocks must be 2 to 6; received 9"),
        ({"colors": ["red", "pink", "blue", "green"]}, "no color named 'pink'. There are 'red'"),
        ({"jitter": 1.5}, r"jitter goes from 0 .* to 1 .*; received 1\.5"),
        ({"task": "five_stack"}, "the task is one of .*; received 'five_stack'"),
        ({"render_mode": "ansi"}, "render_mode is None or 'rgb_array'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidEnvironment, match=message):
        gym.make(ID, **options)


def test_bad_states_actions_and_goals_are_refused():
    env = gym.make(ID, obs_type="state")
    for state in (-1, 11_880, 2.0):
        with pytest.raises(InvalidEnvironment, match="whole numbers from 0 to 11879"):
            env.reset(options={"state": state})
    with pytest.raises(InvalidGoal, match=r"on\(red, pink\)"):
        env.reset(options={"goal": "on(red, pink)"})
    env.reset(seed=0)
    with pytest.raises(gym.error.InvalidAction, match="actions are 0 to 35; received 36"):
        env.step(36)
