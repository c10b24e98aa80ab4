"""Videos of episodes: they decode, every step is a picture, and the caption says what happens."""

from __future__ import annotations

import sys

import imageio.v3 as imageio
import numpy as np
import pytest
from report_agents import wrapped
from test_episodes import Upwards, pictured
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent
from gym_attrplan.error import (
    DependencyNotInstalled,
    InvalidEnvironment,
    InvalidGoal,
    InvalidOption,
)
from gym_attrplan.report import record_video
from gym_attrplan.report.commentary import Commentary
from gym_attrplan.report.episodes import watch
from gym_attrplan.report.video import MIN_WIDTH, captioned, video_suffix

needs_ffmpeg = pytest.mark.skipif(video_suffix() != ".mp4", reason="needs imageio-ffmpeg")


class Resting(Upwards):
    def predict(self, *args, **options):
        return np.array([0]), 1


class Stateless:
    """Counts, and keeps nothing in mind, as SB3's models do."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.array([1]), None


class Bright(type(pictured().unwrapped)):
    """Its picture is white, its caption's ground is not."""

    def render(self):
        return np.full((10, 20, 3), 255, np.uint8)


def bright():
    return wrapped(Bright(), ["four", "two", "one"], three_bits)


@pytest.mark.parametrize("suffix", [pytest.param(".mp4", marks=needs_ffmpeg), ".gif"])
def test_a_video_has_a_picture_for_each_step_and_a_caption_below(tmp_path, suffix):
    video = record_video(Upwards(), bright(), "two, one", tmp_path / f"new/v{suffix}", fps=2)
    assert (video.goal, video.solved, video.n_steps) == ("two, one", True, 6)
    assert video.n_frames == 6 + 1 + 2  # the start, and the end held for a second
    frames = imageio.imread(video.path)
    # A GIF tells how long a picture is held instead of repeating it.
    assert len(frames) == (9 if suffix == ".mp4" else 7)
    height, width = frames.shape[1:3]
    assert (width >= MIN_WIDTH, width % 16, height % 16) == (True, 0, 0)
    picture, caption = frames[:, :180, 20:-20], frames[:, 240:]
    assert picture.min() > 240
    assert caption.mean() < 60  # dark, with some words on it
    assert caption.max() > 120


@needs_ffmpeg
def test_a_notebook_shows_the_video_itself(tmp_path):
    html = record_video(Upwards(), pictured(), "one", tmp_path / "v.mp4")._repr_html_()
    assert html.startswith('<video src="data:video/mp4;base64,')
    assert "http" not in html


def test_a_task_that_is_not_solved_is_kept_as_well(tmp_path):
    video = record_video(Resting(), pictured(), "one", tmp_path / "v.gif", fps=1)
    assert (video.solved, video.n_steps) == (False, 20)
    assert video._repr_html_().startswith('<img src="data:image/gif;base64,')


def test_a_model_that_keeps_nothing_in_mind_is_filmed_too(tmp_path):
    video = record_video(Stateless(), pictured(), "two, one", tmp_path / "v.gif", fps=1)
    assert (video.solved, video.n_steps, video.n_frames) == (True, 3, 5)


def test_mp4_without_ffmpeg_names_the_package_and_the_other_way(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert video_suffix() == ".gif"
    with pytest.raises(DependencyNotInstalled, match=r"imageio-ffmpeg: pip .* or write a \.gif"):
        record_video(Upwards(), pictured(), "one", tmp_path / "v.mp4")
    assert record_video(Upwards(), pictured(), "one", tmp_path / "v.gif").path.exists()


def test_what_cannot_be_recorded_leaves_no_file(tmp_path):
    with pytest.raises(InvalidOption, match=r"\.mp4 or a \.gif; received .*avi"):
        record_video(Upwards(), pictured(), "one", tmp_path / "v.avi")
    with pytest.raises(InvalidOption, match="fps is at least 1; received 0"):
        record_video(Upwards(), pictured(), "one", tmp_path / "v.gif", fps=0)
    plain = wrapped(GenericTestEnv(), ["four", "two", "one"], three_bits)
    with pytest.raises(InvalidEnvironment, match="rgb_array"):
        record_video(Upwards(), plain, "one", tmp_path / "v.gif")
    with pytest.raises(InvalidEnvironment, match="attribute environment"):
        record_video(Upwards(), Bright(), None, tmp_path / "v.gif")
    with pytest.raises(InvalidGoal, match="no attribute named 'six'"):
        record_video(Upwards(), pictured(), "six", tmp_path / "v.gif")
    assert list(tmp_path.iterdir()) == []


def test_long_goals_are_wrapped_and_all_captions_of_a_video_have_one_size():
    space = pictured().get_wrapper_attr("attribute_space")
    frame, commentary = np.zeros((10, 10, 3), np.uint8), Commentary(None, space)
    short = captioned(frame, commentary).shape
    commentary.goal = "a word, " * 100
    assert captioned(frame, commentary).shape[0] > short[0]
    assert captioned(frame, commentary).shape[1] == short[1]
    long = captioned(frame, commentary).shape
    commentary.outcome, commentary.plan = "goal reached", "3 hops " * 50
    assert captioned(frame, commentary).shape == long


def commented(agent, goal):
    env = pictured()
    commentary = Commentary(agent, agent.attribute_space)
    for moment in watch(agent, env, goal=goal):
        commentary.follow(moment)
    return commentary


@pytest.mark.learning
@pytest.mark.parametrize("which", ["counter_agent", "neighbour_agent"])
def test_the_commentary_names_plan_hops_and_what_came_of_them(which, request, seed):
    commentary = commented(request.getfixturevalue(which), "two, one")
    assert "success 0." in commentary.plan or "success 1." in commentary.plan
    assert {hop.status for hop in commentary.hops[:-1]} <= {"done", "failed"}
    assert commentary.hops[-1].status in (("done", "now") if commentary.solved else ("failed",))
    assert all(0 < hop.prob <= 1 for hop in commentary.hops if hop.prob is not None)
    assert commentary.outcome.endswith(f"{commentary.n_steps} steps")


def test_an_agent_that_knows_nothing_explores():
    agent = AttributePlannerAgent("MultiInputPolicy", pictured(), seed=0)
    commentary = commented(agent, "four")
    assert commentary.plan == "no plan is known"
    assert {hop.words for hop in commentary.hops} == {"explore"}
