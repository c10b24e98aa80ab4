"""Environments in processes of their own, and what is said when one of them dies."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from odd_envs import dies_at, make_agent, make_walk, raises_at
from stable_baselines3.common.vec_env import SubprocVecEnv

from gym_attrplan import AttributeWrapper
from gym_attrplan.agent.environments import as_vec_env, origin
from gym_attrplan.algorithms.spread import episode_limit
from gym_attrplan.error import InvalidEnvironment

SCRIPT = """
import sys
import gymnasium as gym
from stable_baselines3.common.vec_env import SubprocVecEnv
from gym_attrplan import AttributePlannerAgent, AttributeWrapper

def make():
    lake = gym.make("FrozenLake-v1", is_slippery=False)
    return AttributeWrapper(lake, {"cell": 16}, lambda env, cell: [int(cell)])

if __name__ == "__main__":
    venv = SubprocVecEnv([make, make], start_method=sys.argv[1])
    tiny = {"n_steps": 32, "batch_size": 64}
    agent = AttributePlannerAgent(
        "MultiInputPolicy", venv, device="cpu", low_level_kwargs=tiny
    ).learn(300)
    print("learned in", agent.trained_in)
    venv.close()
"""


@pytest.mark.parametrize("start_method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_function_of_the_users_script_may_live_in_processes(tmp_path, start_method):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), start_method]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={"PYTHONPATH": root}, check=False
    )
    assert done.returncode == 0, done.stderr
    said = "learned in {'id': 'FrozenLake-v1', 'kwargs': {'is_slippery': False}}"
    assert said in done.stdout


def make_workers(fault, start_method="fork"):
    """Three processes, of which the last fails: fork lets the first ones hold its pipe open."""
    fine, odd = make_walk, partial(make_walk, fault=fault)
    return SubprocVecEnv([fine, fine, odd], start_method=start_method)


@pytest.mark.parametrize(("fault", "code"), [(dies_at(30), 3), (raises_at(30), 1)])
def test_a_dead_process_is_named_and_what_was_learned_is_kept(fault, code):
    venv = make_workers(fault)
    agent = make_agent(venv)
    with pytest.raises(InvalidEnvironment, match=rf"environment 2 \(exit code {code}\)"):
        agent.learn(1_000)
    assert agent.counts.n_edges > 0
    venv.close()
    assert not any(process.is_alive() for process in venv.processes)
    agent.set_env(make_walk())
    assert agent.learn(100).num_timesteps >= 100


def test_every_later_question_is_answered_with_the_same_death():
    venv = as_vec_env(make_workers(dies_at(1)))
    venv.reset()
    for ask in (lambda: venv.step(np.zeros(3, np.int64)), venv.reset, lambda: venv.has_attr("x")):
        with pytest.raises(InvalidEnvironment, match="environment 2"):
            ask()
    venv.close()


def test_workers_that_live_are_closed_as_ever():
    venv = as_vec_env(make_workers(None))
    venv.reset()
    venv.step_async(np.zeros(3, np.int64))
    venv.close()
    assert [process.exitcode for process in venv.unwrapped.processes] == [0, 0, 0]


def test_a_dead_process_of_a_gymnasium_vector_is_named_too():
    makers = [make_walk, partial(make_walk, fault=dies_at(2))]
    envs = AsyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    venv = as_vec_env(envs)
    assert not venv.has_attr("no_such_thing")
    venv.reset()
    venv.step(np.zeros(2, np.int64))
    with pytest.raises(InvalidEnvironment, match=r"environment 1 \(exit code 3\)"):
        venv.step(np.zeros(2, np.int64))
    envs.close(terminate=True)


@pytest.mark.parametrize("limit", [7, 100])
def test_workers_say_how_long_an_episode_is(limit):
    make = partial(gym.make, "FrozenLake-v1", max_episode_steps=limit)
    venv = SubprocVecEnv([lambda: AttributeWrapper(make(), {"cell": 16}, lambda env, cell: [cell])])
    assert episode_limit(venv) == limit
    assert origin(venv)["kwargs"] == ({} if limit == 100 else {"max_episode_steps": 7})
    venv.close()
