"""Episodes as pictures, of a counter whose picture is as bright as its count."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from report_agents import wrapped
from testing_env import GenericTestEnv, three_bits

from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.report import record_episode


class Pictured(GenericTestEnv):
    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    render_mode = "rgb_array"

    def render(self):
        return np.full((2, 2, 3), self.count, np.uint8)


class Upwards:
    """Rests on every other step, and counts on the others."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert observation["achieved_goal"].shape == (1, 3)
        assert bool(episode_start[0]) == (state is None)
        state = 0 if state is None else state + 1
        return np.array([state % 2]), state


def pictured():
    return wrapped(Pictured(), ["four", "two", "one"], three_bits)


def brightness(episode):
    return [int(frame.max()) for frame in episode.frames]


def test_the_start_each_change_and_the_goal_are_shown():
    episode = record_episode(Upwards(), pictured(), goal="two, one")
    assert brightness(episode) == [0, 1, 2, 3]
    # From 1 to 2 two bits change at once, which no title has room for.
    assert episode.titles == ("start", "one", "hop 2", "goal")
    assert (episode.goal, episode.solved, episode.n_steps) == ("two, one", True, 6)


def test_a_task_that_is_not_solved_ends_with_the_last_picture():
    class Idle(Upwards):
        def predict(self, *args, **options):
            return np.array([0]), 1

    episode = record_episode(Idle(), pictured(), goal="one")
    assert episode.titles == ("start", "not reached in 20 steps")
    assert not episode.solved


def test_of_many_changes_some_are_kept_the_first_and_the_last_among_them():
    episode = record_episode(Upwards(), pictured(), goal="four, two, one", max_frames=3)
    assert brightness(episode) == [0, 4, 7]


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(InvalidEnvironment, match="rgb_array"):
        record_episode(Upwards(), wrapped(GenericTestEnv(), ["a", "b", "c"], three_bits))
    with pytest.raises(InvalidEnvironment, match="rgb_array"):
        record_episode(Upwards(), Pictured())
    with pytest.raises(InvalidOption, match="max_frames"):
        record_episode(Upwards(), pictured(), max_frames=1)
