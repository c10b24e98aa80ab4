"""Curriculum: when the next tasks come."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.algorithms import Curriculum
from gym_attrplan.envs.regimes import make_task_vec
from gym_attrplan.error import InvalidOption


class Exam(gym.Env):
    """Episodes of one step; easy tasks are always solved, hard ones never."""

    observation_space = spaces.Box(0, 1, (1,))
    action_space = spaces.Discrete(2)
    task = "unset"

    def set_task(self, task):
        self.task = task

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        solved = self.task.startswith("easy")
        return np.zeros(1, np.float32), 0.0, True, False, {"is_success": solved}


def run(curriculum, n_steps=64, n_envs=2):
    env = DummyVecEnv([Exam] * n_envs)
    PPO("MlpPolicy", env, n_steps=8, batch_size=8, device="cpu").learn(n_steps, curriculum)
    return env.get_attr("task")


def test_the_first_task_is_set_in_every_environment_when_training_starts():
    assert run(Curriculum(["hard"])) == ["hard", "hard"]


def test_solved_tasks_bring_harder_ones_and_unsolved_ones_stay():
    tasks = ["easy 1", "easy 2", "hard 1", "hard 2"]
    assert run(Curriculum(tasks, window=10, deadline=None)) == ["hard 1", "hard 1"]


def test_no_task_is_left_before_a_window_of_episodes_was_tried():
    assert run(Curriculum(["easy", "hard"], window=65, deadline=None)) == ["easy", "easy"]


def test_episodes_of_the_last_tasks_do_not_count_for_the_next():
    curriculum = Curriculum(["easy 1", "easy 2", "easy 3"], window=40, deadline=None)
    assert run(curriculum)[0] == "easy 2"  # 64 episodes: one window of 40, not two


def test_the_deadline_brings_the_last_tasks_without_success():
    assert run(Curriculum(["hard 1", "hard 2", "hard 3"], deadline=1.0))[0] == "hard 3"


def test_before_the_deadline_tasks_come_evenly():
    seen = []

    class Watched(Curriculum):
        def _on_step(self):
            go_on = super()._on_step()
            seen.append(self.task)
            return go_on

    run(Watched(["hard 1", "hard 2", "hard 3"], deadline=0.5), n_steps=64, n_envs=1)
    assert (seen.index("hard 2"), seen.index("hard 3")) == (15, 31)


def test_it_serves_off_policy_learners():
    env = DummyVecEnv([Exam])
    curriculum = Curriculum(["easy", "hard"], window=5, deadline=None)
    DQN("MlpPolicy", env, learning_starts=10, device="cpu").learn(20, curriculum)
    assert env.get_attr("task") == ["hard"]


def test_it_changes_the_task_of_a_batched_twin():
    venv = VectorEnvAdapter(make_task_vec("AttrSwitches-v0", 8, "targets"))
    model = PPO("MultiInputPolicy", venv, n_steps=8, batch_size=64, device="cpu")
    model.learn(64, Curriculum(["one_step", "targets<=2", "targets"], deadline=1.0))
    assert venv.get_attr("task") == ["targets"] * 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": []}, "at least one task"),
        ({"tasks": ["a"], "threshold": 0.0}, "threshold is above 0"),
        ({"tasks": ["a"], "deadline": 1.5}, "deadline is above 0 and at most 1"),
        ({"tasks": ["a"], "window": 0}, "at least 1 episode"),
    ],
)
def test_what_makes_no_curriculum_is_refused(options, message):
    with pytest.raises(InvalidOption, match=message):
        Curriculum(**options)
