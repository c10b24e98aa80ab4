"""What every registered environment promises, in every kind of observation."""

import importlib
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from gym_attrplan import check_attribute_env
from gym_attrplan.envs.registration import ENVIRONMENTS
from gym_attrplan.error import DependencyNotInstalled

IDS = list(ENVIRONMENTS)
BATCHED = [id_ for id_, entry in ENVIRONMENTS.items() if entry["vector_entry_point"]]
GRIDS = ["AttrSwitches-v0", "AttrCrafting-v0"]
OBS_TYPES = ["words", "multi_hot", "rgb"]


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def trajectory(env, n_steps=50):
    env.action_space.seed(0)
    seen = [env.reset(seed=3)]
    seen += [env.step(env.action_space.sample()) for _ in range(n_steps)]
    return seen


@pytest.mark.parametrize("id_", IDS)
def test_gymnasiums_checker_passes_with_every_render_mode(id_):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*env.unwrapped.*")
        check_env(gym.make(id_))


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("obs_type", OBS_TYPES)
@pytest.mark.parametrize("id_", GRIDS)
def test_all_three_checkers_pass(id_, obs_type):
    check_env(gym.make(id_, obs_type=obs_type), skip_render_check=True)
    check_attribute_env(gym.make(id_, obs_type=obs_type))
    before_time_limit = gym.make(id_, obs_type=obs_type, max_episode_steps=-1)
    sb3_check_env(before_time_limit.env.env)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
@pytest.mark.parametrize("id_", GRIDS)
def test_ppo_runs(id_, obs_type):
    env = gym.make(id_, obs_type=obs_type)
    PPO("MultiInputPolicy", env, n_steps=32, batch_size=32, n_epochs=1).learn(64)


@pytest.mark.parametrize("id_", GRIDS)
def test_an_environment_is_made_again_from_its_spec_and_from_its_spec_as_json(id_):
    env = gym.make(id_, size=6, task="targets<=2" if "Switches" in id_ else "items==1")
    expected = trajectory(env)
    assert same(trajectory(gym.make(env.spec)), expected)
    assert same(trajectory(gym.make(EnvSpec.from_json(env.spec.to_json()))), expected)


@pytest.mark.parametrize("obs_type", OBS_TYPES)
@pytest.mark.parametrize("id_", GRIDS)
def test_a_pickled_environment_goes_on_where_it_was(id_, obs_type):
    env = gym.make(id_, obs_type=obs_type)
    env.reset(seed=0)
    env.step(0)
    copy = pickle.loads(pickle.dumps(env))
    for action in (1, 4, 2, 3):
        assert same(env.step(action), copy.step(action))


@pytest.mark.parametrize("id_", GRIDS)
def test_a_pickled_batch_goes_on_where_it_was(id_):
    envs = gym.make_vec(id_, 4, vectorization_mode="vector_entry_point", max_episode_steps=3)
    envs.reset(seed=0)
    copy = pickle.loads(pickle.dumps(envs))
    for action in (1, 4, 2, 3):
        assert same(envs.step(np.full(4, action))[0], copy.step(np.full(4, action))[0])


@pytest.mark.parametrize("id_", BATCHED)
def test_batches_reset_in_the_same_step_and_know_the_limit(id_):
    envs = gym.make_vec(id_, 2, vectorization_mode="vector_entry_point")
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.unwrapped.max_episode_steps == ENVIRONMENTS[id_]["max_episode_steps"]
    assert envs.single_observation_space == gym.make(id_).observation_space


@pytest.mark.parametrize("obs_type", OBS_TYPES)
@pytest.mark.parametrize("id_", GRIDS)
def test_batched_observations_lie_in_their_space(id_, obs_type):
    envs = gym.make_vec(id_, 3, obs_type=obs_type)
    observations, _ = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert envs.step(np.array([0, 1, 4]))[0] in envs.observation_space


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_an_id_works_with_the_package_before_it_and_import_loads_no_minigrid():
    run_python(
        "import sys, gymnasium as gym, gym_attrplan\n"
        "assert not {'minigrid', 'pygame', 'torch', 'stable_baselines3'} & set(sys.modules)\n"
    )
    run_python("import gymnasium as gym; gym.make('gym_attrplan:AttrSwitches-v0').reset(seed=0)")


@pytest.mark.parametrize("id_", GRIDS)
def test_without_minigrid_the_error_names_the_remedy_and_batches_still_work(id_, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "minigrid"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("objects", "room", "panel", "switches", "crafting"):
        monkeypatch.delitem(sys.modules, f"gym_attrplan.envs.grids.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "minigrid", None)
    importlib.invalidate_caches()
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[minigrid\]"'):
        gym.make(id_)
    with pytest.raises(DependencyNotInstalled, match="need MiniGrid"):
        gym.make_vec(id_, 2, obs_type="rgb")
    gym.make_vec(id_, 2).reset(seed=0)
