"""The file of pictures: made once, noticed when damaged, shared by processes."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from gym_attrplan.envs.blocks import BlockScene, BlocksRules, Frames, frames
from gym_attrplan.envs.blocks.frames import cache_folder, split_variants
from gym_attrplan.envs.blocks.scene import upright
from gym_attrplan.error import InvalidEnvironment

RULES = BlocksRules(2, 2)  # 4 * 5 = 20 states
SMALL = {"image_size": 16, "n_variants": 2}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTRPLAN_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def builds(monkeypatch):
    """Counts how often pictures are drawn."""
    drawn = []
    original = Frames._draw
    monkeypatch.setattr(Frames, "_draw", lambda self: drawn.append(1) or original(self))
    return drawn


def fresh():
    return Frames(RULES, **SMALL)


def test_pictures_are_drawn_once_and_then_read(cache, builds):
    first = fresh().array
    np.testing.assert_array_equal(fresh().array, first)
    assert first.shape == (2, 20, 16, 16, 3)
    assert len(builds) == 1
    assert [path.name for path in cache.iterdir()] == [fresh().path.name]


def test_nothing_is_drawn_before_a_picture_is_needed(cache, builds):
    assert fresh().shape == (2, 20, 16, 16, 3)
    assert not builds
    assert not list(cache.iterdir())


def test_without_jitter_the_picture_is_the_scene_with_exact_blocks(cache):
    frames = Frames(RULES, image_size=32, jitter=0.0)
    scene = BlockScene(RULES.colors, RULES.grid)
    cells, heights = RULES.decode(np.array([13]))
    scene.place(upright(RULES.centers(cells[0], heights[0])))
    assert frames.shape[0] == 1
    np.testing.assert_array_equal(frames.array[0, 13], scene.render(32))


def test_variants_differ(cache):
    array = fresh().array
    assert (array[0] != array[1]).any(axis=(1, 2, 3)).mean() > 0.9


def test_a_number_is_a_variant_and_a_state(cache):
    frames = fresh()
    taken = frames.take(np.array([3, 20 + 7]))
    np.testing.assert_array_equal(taken, [frames.array[0, 3], frames.array[1, 7]])


def damage_truncate(folder):
    file = folder / "frames.bin"
    file.write_bytes(file.read_bytes()[:-100])


def damage_zero(folder):
    file = folder / "frames.bin"
    content = bytearray(file.read_bytes())
    content[5_000:9_000] = bytes(4_000)
    file.write_bytes(content)


def damage_lengthen(folder):
    with (folder / "frames.bin").open("ab") as file:
        file.write(b"more")


def damage_manifest(folder):
    (folder / "manifest.json").write_text("{")


def damage_no_manifest(folder):
    (folder / "manifest.json").unlink()


def damage_no_frames(folder):
    (folder / "frames.bin").unlink()


DAMAGES = [
    damage_truncate,
    damage_zero,
    damage_lengthen,
    damage_manifest,
    damage_no_manifest,
    damage_no_frames,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed_and_repaired(damage, cache, builds):
    sound = np.array(fresh().array)
    damage(fresh().path)
    np.testing.assert_array_equal(fresh().array, sound)
    np.testing.assert_array_equal(fresh().array, sound)
    assert len(builds) == 2
    assert len(list(cache.iterdir())) == 1


def test_an_interrupted_build_leaves_nothing_behind(cache, monkeypatch):
    def interrupted(self):
        yield np.zeros((16, 16, 3), np.uint8)
        raise KeyboardInterrupt

    monkeypatch.setattr(Frames, "_draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _ = fresh().array
    assert not list(cache.iterdir())


def test_another_scene_gets_another_file(cache):
    paths = {
        fresh().path,
        Frames(RULES, image_size=32, n_variants=2).path,
        Frames(RULES, image_size=16, n_variants=3).path,
        Frames(RULES, image_size=16, n_variants=2, jitter=0.5).path,
        Frames(BlocksRules(2, 2, ["blue", "white"]), **SMALL).path,
    }
    assert len(paths) == 5


def test_a_changed_scene_is_drawn_anew(cache, builds, monkeypatch):
    before = fresh().path
    _ = fresh().array
    original = frames.scene_mjcf
    monkeypatch.setattr(frames, "scene_mjcf", lambda *args: original(*args) + "<!-- changed -->")
    assert fresh().path != before
    _ = fresh().array
    assert len(builds) == 2


def test_processes_that_build_at_once_do_not_spoil_each_other(cache):
    code = (
        "from gym_attrplan.envs.blocks import BlocksRules, Frames;"
        "import hashlib;"
        f"array = Frames(BlocksRules(2, 2), **{SMALL!r}).array;"
        "print(hashlib.sha256(array.tobytes()).hexdigest())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = {process.communicate()[0] for process in running}
    assert len(answers) == 1
    assert len(answers.pop().strip()) == 64
    assert len(list(cache.iterdir())) == 1


def test_the_faster_process_wins(cache):
    slow = fresh()
    sound = np.array(fresh().array)
    slow._build()  # as if it had begun before the other was done
    np.testing.assert_array_equal(slow.array, sound)
    assert len(list(cache.iterdir())) == 1


def test_the_size_is_stated_before_drawing(cache, capsys):
    _ = fresh().array
    assert "Drawing 40 images once, 0 MB, in" in capsys.readouterr().err


def test_a_full_disk_is_noticed_before_drawing(cache, monkeypatch):
    usage = type("Usage", (), {"free": 1_000})
    monkeypatch.setattr(frames.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InvalidEnvironment, match="ATTRPLAN_CACHE names another place"):
        _ = fresh().array


def test_a_pickle_holds_no_pictures(cache):
    frames = Frames(RULES, image_size=64, n_variants=2)
    _ = frames.array
    pickled = pickle.dumps(frames)
    assert len(pickled) < 10_000
    np.testing.assert_array_equal(pickle.loads(pickled).array, frames.array)


def test_the_cache_folder_follows_the_variables(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTRPLAN_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("ATTRPLAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "gym_attrplan"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "gym_attrplan"


def test_the_manifest_says_what_the_file_holds(cache):
    _ = fresh().array
    manifest = json.loads((fresh().path / "manifest.json").read_text())
    assert manifest["shape"] == [2, 20, 16, 16, 3]


def test_the_last_variant_is_held_out_and_a_single_one_serves_both():
    assert split_variants("train", 5).tolist() == [0, 1, 2, 3]
    assert split_variants("held_out", 5).tolist() == [4]
    assert split_variants("train", 1).tolist() == split_variants("held_out", 1).tolist() == [0]
    with pytest.raises(InvalidEnvironment, match="received 'test'"):
        split_variants("test", 5)


@pytest.mark.parametrize(
    ("rules", "options", "message"),
    [
        (BlocksRules(5), {}, "have 154,440. Give obs_type='state'"),
        (RULES, {"image_size": 4}, "received 4"),
        (RULES, {"n_variants": 1}, "at least 2; received 1"),
        (RULES, {"jitter": -0.1}, r"received -0\.1"),
    ],
)
def test_bad_options_are_refused(rules, options, message):
    with pytest.raises(InvalidEnvironment, match=message):
        Frames(rules, **options)
