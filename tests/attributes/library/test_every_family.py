"""Every id of every family that starts here keeps the promises of an attribute environment."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import gymnasium as gym
import minigrid  # noqa: F401  registers its environments
import pytest

from gym_attrplan import AttributeWrapper, check_attribute_env
from gym_attrplan.attributes.library import FAMILIES
from gym_attrplan.error import InvalidAttributes

# Named here and not looked up: importing gymnasium_robotics at this point would register its ids
# for every other test file as well.
MAPS = [
    f"{kind}{suffix}"
    for kind in (
        "UMaze",
        *(
            f"{size}{which}"
            for size in ("Open", "Medium", "Large")
            for which in ("", "_Diverse_G", "_Diverse_GR")
        ),
    )
    for suffix in ("", "Dense")
]
ANTS = [f"AntMaze_{name}-v{version}" for name in MAPS for version in (3, 4, 5)]
MAZES = [f"PointMaze_{name}-v3" for name in MAPS] + ANTS
GRIDS = sorted(
    env_id
    for env_id, spec in gym.registry.items()
    if str(spec.entry_point).startswith("minigrid") and "WFC" not in env_id
)
TOYS = ["Taxi-v4", "FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1"]
TOYS += ["CliffWalkingSlippery-v1"]
ARMS = ["Reacher-v4", "Reacher-v5", "Pusher-v5"]


def make(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "Maze_" in env_id:
            importlib.import_module("gymnasium_robotics")
        return AttributeWrapper(gym.make(env_id, disable_env_checker=True))


@pytest.mark.parametrize("env_id", [*GRIDS, *TOYS, *ARMS, *MAZES[: len(MAPS)]])
def test_the_family_s_attributes_keep_every_promise(env_id):
    env = make(env_id)
    check_attribute_env(env, n_steps=15)
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ANTS)
def test_ants_in_mazes_have_cells_too(env_id):
    env = make(env_id)
    check_attribute_env(env, n_steps=10)
    env.close()


def test_the_list_of_mazes_is_complete():
    importlib.import_module("gymnasium_robotics")
    assert sorted(MAZES) == sorted(env_id for env_id in gym.registry if "Maze_" in env_id)


def test_each_family_s_class_is_where_the_table_says():
    for name in FAMILIES:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), cls), type)


def test_an_environment_of_no_family_is_told_what_to_do():
    with pytest.raises(InvalidAttributes, match=r"no attributes are ready.*MiniGrid.*a function"):
        AttributeWrapper(gym.make("CartPole-v1"))


def test_a_space_without_a_function_is_refused():
    with pytest.raises(InvalidAttributes, match="a space needs the function"):
        AttributeWrapper(gym.make("Taxi-v4"), ["here"])


def test_a_function_without_a_space_is_refused():
    with pytest.raises(InvalidAttributes, match="without a space of its own"):
        AttributeWrapper(gym.make("Taxi-v4"), function=lambda env, state: [0])


def test_the_wrapped_environment_can_be_made_again_from_its_spec_as_json():
    env = AttributeWrapper(gym.make("MiniGrid-DoorKey-5x5-v0"))
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.get_wrapper_attr("attribute_space") == env.attribute_space


def test_the_table_of_families_imports_none_of_them():
    code = (
        "import sys, gym_attrplan.attributes.library;"
        "sys.exit(bool({'minigrid', 'gymnasium_robotics', 'mujoco'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
