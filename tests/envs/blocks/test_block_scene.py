"""MuJoCo's blocks: rest, contacts, pictures, and what happens without a screen."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from gym_attrplan.envs.blocks import BlockScene, BlocksRules, scene
from gym_attrplan.envs.blocks.scene import RGB, check_image_size, load_mujoco, upright
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment
from gym_attrplan.wrappers import offscreen

RULES = BlocksRules()


def stack_of(n, *, shift=0.0):
    """A scene with n blocks on one another, each off the one below to the other side."""
    rules = BlocksRules(n)
    blocks = BlockScene(rules.colors)
    positions = rules.centers(np.full(n, 4), np.arange(n))
    positions[:, 0] += shift * (-1.0) ** np.arange(n)
    blocks.place(upright(positions))
    return blocks


def test_a_dropped_block_comes_to_rest_on_the_one_below():
    blocks = BlockScene(["red", "green"])
    blocks.place(upright([[0.1, 0.0, 0.02], [0.0, 0.0, 0.02]]))
    blocks.drop(0, 0.005, 0.0, 0.1, yaw=0.2)
    assert blocks.settle()
    np.testing.assert_allclose(blocks.positions(), [[0.005, 0, 0.06], [0, 0, 0.02]], atol=5e-4)


def test_a_tower_of_six_with_the_largest_jitter_stands():
    blocks = stack_of(6, shift=0.008)
    before = blocks.positions()
    for _ in range(40):  # as often as in a long episode
        blocks.place(blocks.poses())
        assert blocks.settle()
    np.testing.assert_allclose(blocks.positions(), before, atol=4e-3)


def test_a_block_whose_center_is_beyond_the_edge_falls():
    blocks = stack_of(2, shift=0.012)
    blocks.settle()
    assert np.abs(blocks.positions()[1, 2] - 0.06) > 0.01


def test_settle_says_when_time_is_up():
    blocks = BlockScene(["red", "green"])
    blocks.place(upright([[0.0, 0.0, 0.5], [0.1, 0.0, 0.02]]))
    assert not blocks.settle(max_time=0.1)


def test_blocks_beyond_the_table_fall_to_the_floor():
    blocks = BlockScene(["red", "green"])
    blocks.place(upright([[0.3, 0.0, 0.02], [0.0, 0.0, 0.02]]))
    assert blocks.settle()
    assert blocks.positions()[:, 2] == pytest.approx([scene.FLOOR + 0.02, 0.02], abs=1e-3)


def test_contacts_are_those_of_neighbours_in_a_stack():
    expected = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    blocks = stack_of(3)
    blocks.settle()
    np.testing.assert_array_equal(blocks.contacts(), expected)


def test_equal_poses_end_equally_whatever_came_before():
    used, fresh = BlockScene(RULES.colors), BlockScene(RULES.colors)
    start = upright(RULES.centers([0, 1, 1, 4], [0, 0, 1, 0]))
    used.place(upright(RULES.centers([4, 4, 4, 4], [0, 1, 2, 3])))
    used.drop(3, 0.1, 0.1, 0.3)
    used.settle()
    for one in (used, fresh):
        one.place(start)
        one.drop(0, 0.0, 0.09, 0.13, yaw=0.1)
        one.settle()
    np.testing.assert_array_equal(used.poses(), fresh.poses())


def test_a_pickled_scene_is_where_it_was_and_draws():
    blocks = stack_of(4)
    copy = pickle.loads(pickle.dumps(blocks))
    np.testing.assert_array_equal(copy.poses(), blocks.poses())
    np.testing.assert_array_equal(copy.render(48), blocks.render(48))


def hues(image):
    """The share of each colour, brightness aside."""
    pixels = image.reshape(-1, 3).astype(float)
    colorful = pixels[np.ptp(pixels, axis=1) > 40]
    names = RULES.colors
    known = np.array([RGB[name] for name in names])
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    counts = np.bincount((colorful @ known.T).argmax(axis=1), minlength=len(names))
    return dict(zip(names, counts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("cells", "heights"),
    [
        ([7, 7, 7, 7], [0, 1, 2, 3]),
        ([0, 0, 0, 0], [3, 2, 1, 0]),
        ([4, 7, 7, 7], [0, 0, 1, 2]),  # red behind a stack of three
        ([1, 1, 4, 4], [0, 1, 0, 1]),
    ],
)
def test_every_block_shows_in_the_picture(cells, heights):
    blocks = BlockScene(RULES.colors)
    blocks.place(upright(RULES.centers(cells, heights)))
    assert min(hues(blocks.render(128)).values()) > 60


def test_left_is_left_and_far_is_up_in_the_picture():
    blocks = BlockScene(RULES.colors)
    blocks.place(upright(RULES.centers([0, 2, 6, 8], [0, 0, 0, 0])))
    picture = blocks.render(128)
    quarters = {
        "red": picture[:80, :64],
        "green": picture[:80, 64:],
        "blue": picture[80:, :64],
        "yellow": picture[80:, 64:],
    }
    for color, quarter in quarters.items():
        assert max(hues(quarter), key=hues(quarter).get) == color


def test_pictures_are_plain():
    # Few colours: what is shipped as PNG must be small.
    picture = stack_of(4).render(128)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) < 30


@pytest.mark.parametrize("size", [0, 15, 1025, 64.0, "64"])
def test_bad_image_sizes_are_refused(size):
    with pytest.raises(InvalidEnvironment, match="whole number from 16 to 1024; received"):
        check_image_size(size)


def test_pictures_are_still_drawn_after_close():
    blocks = stack_of(2)
    before = blocks.render(32)
    blocks.close()
    np.testing.assert_array_equal(blocks.render(32), before)


@pytest.fixture
def headless(monkeypatch):
    for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems draw without a display")
@pytest.mark.usefixtures("headless")
@pytest.mark.parametrize(
    ("libraries", "chosen"),
    [(["EGL", "OSMesa"], "egl"), (["OSMesa"], "osmesa"), ([], "")],
)
def test_without_a_display_egl_is_chosen_then_osmesa(libraries, chosen, monkeypatch):
    monkeypatch.setattr(offscreen, "_loads", lambda file: any(name in file for name in libraries))
    load_mujoco()
    assert os.environ["MUJOCO_GL"] == chosen


@pytest.mark.usefixtures("headless")
def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    load_mujoco()
    assert os.environ["MUJOCO_GL"] == "osmesa"


def test_without_opengl_the_error_names_the_lines_to_run(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setitem(sys.modules, "mujoco.osmesa", None)
    blocks = stack_of(2)
    with pytest.raises(DependencyNotInstalled) as caught:
        blocks.render(32)
    for words in ("libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri", "libosmesa6", "pip install"):
        assert words in str(caught.value)


def test_without_mujoco_the_error_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[mujoco\]"'):
        BlockScene(["red", "green"])


def test_importing_the_block_worlds_loads_no_mujoco():
    code = "import sys, gym_attrplan.envs.blocks.factories; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
