"""Saved agents of strangers: nothing runs, nothing is opened, nothing large is built."""

from __future__ import annotations

import json
import os
import sys
import types

import gymnasium as gym
import numpy as np
import pytest
from archive_damage import unzipped, zipped
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common import base_class
from testing_env import GenericTestEnv, three_bits
from torch import nn

from gym_attrplan import AttributePlannerAgent, AttributeWrapper, PlannerOptions
from gym_attrplan.agent.bounds import check_buffers
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.plain import find_class
from gym_attrplan.error import InvalidArchive, InvalidEnvironment, InvalidOption

TINY = {"n_steps": 16, "batch_size": 16, "policy_kwargs": {"net_arch": [4]}}


class Wave(nn.Module):
    """An activation of one's own."""

    def forward(self, values):
        return values.sin()


def counter():
    return AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)


def make_agent(env=None, **options):
    tiny = {"low_level_kwargs": TINY, "seed": 0}
    return AttributePlannerAgent("MultiInputPolicy", env or counter(), **{**tiny, **options})


@pytest.fixture
def path(tmp_path):
    make_agent().save(tmp_path / "agent.zip")
    return tmp_path / "agent.zip"


def rewrite(path, entry, change):
    """Change the JSON of an entry in place, and have its hash follow."""
    parts = unzipped(path.read_bytes())
    value = json.loads(parts[entry])
    change(value)
    parts[entry] = json.dumps(value).encode()
    path.write_bytes(zipped(parts))


def set_option(path, name, value):
    rewrite(path, "agent.json", lambda facts: facts["options"].update({name: value}))


def set_kwargs(path, **changes):
    change = {**TINY, **changes}
    set_option(path, "low_level_kwargs", change)


# --- no code ------------------------------------------------------------------------------------


def test_no_module_is_imported_because_a_file_names_it(path, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    (tmp_path / "stranger.py").write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()")
    monkeypatch.syspath_prepend(tmp_path)
    set_option(path, "policy", {"class": "stranger:Net"})
    with pytest.raises(InvalidArchive, match=r"Import the module.*custom_objects=.*stranger:Net"):
        AttributePlannerAgent.load(path)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["os:system", "builtins:object", "torch.nn:Linear.forward"])
def test_a_name_leads_only_to_classes_that_agents_are_made_of(name):
    with pytest.raises(InvalidArchive, match="not a class that an agent may use"):
        find_class(name, {})


def test_looking_for_a_class_runs_no_code_of_its_module(monkeypatch):
    module = types.ModuleType("lazy_module")
    module.__getattr__ = lambda name: pytest.fail("the module was asked")
    monkeypatch.setitem(sys.modules, "lazy_module", module)
    with pytest.raises(InvalidArchive, match="not here"):
        find_class("lazy_module:Net", {})


def with_activation(kind):
    return make_agent(
        low_level_kwargs={**TINY, "policy_kwargs": {"net_arch": [4], "activation_fn": kind}}
    )


def test_a_class_of_an_imported_module_comes_back(tmp_path):
    with_activation(Wave).save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent")
    assert again.options.low_level_kwargs["policy_kwargs"]["activation_fn"] is Wave


def test_a_class_that_no_module_holds_is_given_as_a_custom_object(tmp_path):
    class Inner(Wave):
        pass

    with_activation(Inner).save(tmp_path / "agent")
    with pytest.raises(InvalidArchive, match="custom_objects"):
        AttributePlannerAgent.load(tmp_path / "agent")
    name = f"{Inner.__module__}:{Inner.__qualname__}"
    again = AttributePlannerAgent.load(tmp_path / "agent", custom_objects={name: Inner})
    assert again.options.low_level_kwargs["policy_kwargs"]["activation_fn"] is Inner


@pytest.mark.parametrize("place", ["parameters", "policy"])
def test_weights_come_from_inside_the_archive_only(path, tmp_path, monkeypatch, place):
    def open_nothing(*arguments, **options):
        pytest.fail("a file was opened because the archive names it")

    def name_a_file(weights):
        (name, low_level), *_ = weights["dict"]
        assert name == "low_level"
        holder = low_level if place == "parameters" else low_level["dict"][0][1]
        holder["dict"][0][1] = str(tmp_path / "elsewhere.zip")

    rewrite(path, "weights.json", name_a_file)
    monkeypatch.setattr(base_class, "load_from_zip_file", open_nothing)
    with pytest.raises(InvalidArchive, match="has other parts"):
        AttributePlannerAgent.load(path)


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(InvalidArchive, match="not a regular file"):
        AttributePlannerAgent.load(tmp_path / "pipe.zip")


# --- no size that the file does not pay for -----------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_steps": 10**10}, "n_steps=10,000,000,000"),
        ({"policy_kwargs": {"net_arch": [10**5, 10**4]}}, "larger networks than the file holds"),
        ({"policy_kwargs": {"net_arch": [1] * 2_000}}, "larger networks than the file holds"),
    ],
)
def test_options_that_ask_for_more_than_the_file_holds_are_refused(path, changes, message):
    set_kwargs(path, **changes)
    with pytest.raises(InvalidArchive, match=message):
        AttributePlannerAgent.load(path)


def test_a_replay_buffer_beyond_the_limit_is_refused_until_it_is_allowed(tmp_path):
    dqn = {"buffer_size": 100_000, "policy_kwargs": {"net_arch": [4]}}
    make_agent(low_level="dqn", low_level_kwargs=dqn).save(tmp_path / "agent")
    with pytest.raises(InvalidArchive, match=r"buffer_size=100,000.*larger max_bytes"):
        AttributePlannerAgent.load(tmp_path / "agent", max_bytes=2**20)
    again = AttributePlannerAgent.load(tmp_path / "agent", max_bytes=2**30)
    assert isinstance(again.low_level, DQN)


def test_a_default_replay_buffer_counts_too():
    env = as_vec_env(counter())
    options = AgentOptions.checked(low_level="dqn")
    with pytest.raises(InvalidOption, match="buffer_size=1,000,000"):
        check_buffers(options, env, max_bytes=2**20)  # SB3's own default


def test_observations_without_the_goals_of_the_attributes_are_refused(path):
    rewrite(path, "agent.json", lambda facts: facts["attributes"].update({"eight": 2}))
    with pytest.raises(InvalidArchive, match="no achieved_goal of 4 attributes"):
        AttributePlannerAgent.load(path)


@pytest.mark.parametrize("steps", [-1, 1.5, "1", True, 10**40])
def test_steps_are_whole_numbers(path, steps):
    rewrite(path, "agent.json", lambda facts: facts["progress"].update(num_timesteps=steps))
    with pytest.raises(InvalidArchive, match="received"):
        AttributePlannerAgent.load(path)


def test_a_depth_that_no_reader_can_follow_is_refused(path):
    parts = unzipped(path.read_bytes())
    path.write_bytes(zipped({**parts, "weights.json": b"[" * 100_000}))
    with pytest.raises(InvalidArchive, match="RecursionError"):
        AttributePlannerAgent.load(path)


# --- whose fault it is --------------------------------------------------------------------------


def test_what_is_wrong_with_a_change_is_said_of_the_change(path):
    with pytest.raises(InvalidOption, match="decay is from 0 to 1; received 5"):
        AttributePlannerAgent.load(path, decay=5)
    with pytest.raises(InvalidOption, match="no option named 'plannner'"):
        AttributePlannerAgent.load(path, plannner="paper")
    with pytest.raises(RuntimeError, match="nonsense"):
        AttributePlannerAgent.load(path, device="nonsense")
    with pytest.raises(InvalidEnvironment, match="AttributeWrapper"):
        AttributePlannerAgent.load(path, env=gym.make("CartPole-v1"))


def test_what_is_wrong_with_the_file_is_said_of_the_file_whatever_is_changed(path):
    set_option(path, "decay", 5)
    with pytest.raises(InvalidArchive, match="decay is from 0 to 1; received 5"):
        AttributePlannerAgent.load(path, device="cpu")


# --- before training ----------------------------------------------------------------------------


def test_a_space_that_cannot_be_saved_is_refused_before_training():
    class Odd(spaces.Discrete):
        pass

    env = GenericTestEnv()
    env.action_space = Odd(2)
    with pytest.raises(InvalidEnvironment, match="can be saved if it is one of"):
        make_agent(AttributeWrapper(env, ["four", "two", "one"], three_bits))


def test_a_dict_that_json_would_change_is_refused_before_training():
    with pytest.raises(InvalidOption, match="saved as text"):
        make_agent(low_level_kwargs={**TINY, "policy_kwargs": {"optimizer_kwargs": {1: 2}}})


def test_tuples_come_back_as_tuples(tmp_path):
    often = {"train_freq": (2, "episode"), "policy_kwargs": {"net_arch": [4]}, "buffer_size": 99}
    make_agent(low_level="dqn", low_level_kwargs=often).save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent")
    assert again.options.low_level_kwargs["train_freq"] == (2, "episode")


def test_planner_options_say_at_once_what_is_wrong():
    with pytest.raises(InvalidOption, match="estimator is one of"):
        PlannerOptions(estimator="guess")
    with pytest.raises(InvalidOption, match="memory is"):
        PlannerOptions(memory="yes")
    with pytest.raises(InvalidOption, match="retry_cost is a number from 0; received nan"):
        PlannerOptions(retry_cost=np.nan)


def test_saving_to_a_folder_or_below_a_file_is_refused_with_the_reason(tmp_path):
    agent = make_agent()
    (tmp_path / "folder.zip").mkdir()
    with pytest.raises(InvalidOption, match="is saved to a file"):
        agent.save(tmp_path / "folder")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidOption, match="cannot be saved to"):
        agent.save(tmp_path / "file" / "agent.zip")
