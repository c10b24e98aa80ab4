"""AttributeDetector: what it can read, that it is an attribute function, and its files."""

from __future__ import annotations

import json
import pickle
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeVectorWrapper, AttributeWrapper
from gym_attrplan.error import InvalidArchive, InvalidAttributes, InvalidData, NotFitted
from gym_attrplan.models import AttributeDetector
from gym_attrplan.models.archive import read_archive, write_archive

BITS = ["four", "two", "one"]
SQUARE = spaces.Box(-1, 1, (2,))


def points(n: int, seed: int = 0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, 2)).astype(np.float32)


def quadrants(rows):
    return (rows > 0).astype(np.int8)


@pytest.fixture(scope="module")
def square(seed) -> AttributeDetector:
    detector = AttributeDetector(SQUARE, ["right", "up"], net_arch=(32,), device="cpu", seed=seed)
    rows = points(600, seed)
    detector.fit(rows, quadrants(rows), max_epochs=12)
    return detector


def counter_detector(seed) -> AttributeDetector:
    """Reads the bits of :class:`GenericTestEnv`'s counter."""
    counts = np.arange(400) % 8
    detector = AttributeDetector(spaces.Discrete(8), BITS, net_arch=(32,), device="cpu", seed=seed)
    bits = np.stack([counts >> 2 & 1, counts >> 1 & 1, counts & 1], axis=1)
    detector.fit(counts, bits, max_epochs=8)
    return detector


# --- what it can read ---------------------------------------------------------------------------


@pytest.mark.learning
def test_the_report_counts_errors_by_name_and_for_the_full_set(square):
    report = square.report
    assert (report.n_labels, report.n_held_out) == (600, 60)
    assert list(report.errors) == ["right", "up"]
    assert max(report.errors.values()) <= report.full_set_error <= sum(report.errors.values())
    assert report.full_set_error < 0.2


@pytest.mark.learning
def test_it_reads_words_in_any_place(seed):
    rng = np.random.default_rng(seed)
    words = rng.integers(10, 500, (2_000, 6)).astype(np.int16)
    lamp = rng.integers(3, size=2_000)
    words[np.arange(2_000), rng.integers(6, size=2_000)] = 1 + lamp
    space = spaces.Box(0, 500, (6,), np.int16)
    lamps = {"lamp": ["red", "green", "blue"]}
    detector = AttributeDetector(space, lamps, net_arch=(32,), seed=seed)
    assert detector.fit(words, lamp[:, None], max_epochs=10).full_set_error < 0.02


@pytest.mark.learning
def test_it_reads_whole_numbers_as_symbols_and_attributes_of_several_sizes(seed):
    ram = np.random.default_rng(seed).integers(0, 5, (1_500, 4)).astype(np.uint8)
    labels = np.stack([ram[:, 0], (ram[:, 3] == 2), ram[:, 1] % 2], axis=1)
    space = spaces.Box(0, 4, (4,), np.uint8)
    sizes = {"ore": 5, "open": 2, "odd": 2}
    detector = AttributeDetector(space, sizes, net_arch=(32,), seed=seed)
    assert detector.fit(ram, labels, max_epochs=10).full_set_error < 0.05
    probs = detector.predict_probs(ram[:7])
    assert {name: rows.shape for name, rows in probs.items()} == {
        "ore": (7, 5),
        "open": (7, 2),
        "odd": (7, 2),
    }
    assert probs["ore"].sum(axis=1) == pytest.approx(np.ones(7), abs=1e-5)


@pytest.mark.learning
@pytest.mark.parametrize("shape", [(7, 7, 3), (40, 40, 3), (3, 40, 40), (40, 40)], ids=str)
def test_it_reads_images_of_every_shape(shape, seed):
    images = np.random.default_rng(seed).integers(0, 50, (160, *shape), dtype=np.uint8)
    bright = np.arange(160) % 2
    images[bright == 1] += 100
    space = spaces.Box(0, 255, shape, np.uint8)
    detector = AttributeDetector(space, ["bright"], net_arch=(16,), seed=seed)
    detector.fit(images, bright[:, None], max_epochs=4, batch_size=32)
    assert (detector.predict(images)[:, 0] == bright).mean() > 0.9


@pytest.mark.learning
def test_numbers_of_any_size_are_standardised(seed):
    right, rows = quadrants(points(600, seed)), points(600, seed) * [1e6, 1e-6] + [1e7, 0]
    space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    detector = AttributeDetector(space, ["right", "up"], net_arch=(32,), seed=seed)
    assert detector.fit(rows, right, max_epochs=12).full_set_error < 0.2


@pytest.mark.learning
def test_it_reads_nested_observations_in_a_list_or_a_batch(seed):
    space = spaces.Dict(
        {"pair": spaces.Tuple([SQUARE, spaces.Discrete(3, start=1)]), "name": spaces.Text(5)}
    )
    rows, digit = points(600, seed), np.arange(600) % 3 + 1
    batch = {"pair": (rows, digit), "name": ("ab",) * 600}
    labels = np.column_stack([quadrants(rows)[:, 0], digit == 2])
    names = ["right", "two"]
    detector = AttributeDetector(space, names, net_arch=(32,), device="cpu", seed=seed)
    assert detector.fit(batch, labels, max_epochs=12).full_set_error < 0.2
    single = [{"pair": (rows[i], digit[i]), "name": "ab"} for i in range(9)]
    assert (detector.predict(single) == detector.predict(batch)[:9]).all()
    assert detector(None, single[4]).tolist() == detector.predict(single)[4].tolist()
    assert detector(None, batch).shape == (600, 2)


@pytest.mark.learning
def test_probabilities_are_calibrated_where_labels_are_noisy(seed):
    rng = np.random.default_rng(100 + seed)
    rows = points(4_000, seed)
    right = rng.random(4_000) < np.where(rows[:, 0] > 0, 0.9, 0.2)
    detector = AttributeDetector(SQUARE, ["right"], net_arch=(32,), device="cpu", seed=seed)
    detector.fit(rows, right[:, None], max_epochs=10)
    probs = detector.predict_probs(np.array([[0.5, 0.0], [-0.5, 0.0]], np.float32))["right"]
    assert probs[:, 1] == pytest.approx([0.9, 0.2], abs=0.1)


# --- an attribute function ----------------------------------------------------------------------


@pytest.mark.learning
def test_a_fitted_detector_is_an_attribute_function(seed):
    detector = counter_detector(seed)
    env = AttributeWrapper(GenericTestEnv(), BITS, detector)
    truth = AttributeWrapper(GenericTestEnv(), BITS, three_bits)
    seen = [(e.reset(seed=0)[1], *(e.step(1)[4] for _ in range(7))) for e in (env, truth)]
    for found, right in zip(*seen, strict=True):
        assert found["attributes"].tolist() == right["attributes"].tolist()


def test_a_spec_keeps_the_detector_itself(square):
    env = AttributeWrapper(gym.make("CartPole-v1"), ["right", "up"], square)
    assert env.spec.additional_wrappers[-1].kwargs["function"] is square


@pytest.mark.learning
def test_it_is_one_for_a_batch_of_worlds(square):
    envs = gym.vector.SyncVectorEnv(
        [lambda: GenericTestEnv(SQUARE, lambda n: np.full(2, n / 4 - 0.9, np.float32))] * 3,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    envs = AttributeVectorWrapper(envs, square.attribute_space, square)
    assert envs.reset(seed=0)[0]["achieved_goal"].tolist() == [[0, 0]] * 3


def test_it_survives_pickling(square):
    copy = pickle.loads(pickle.dumps(square))
    assert (copy.predict(points(50, 1)) == square.predict(points(50, 1))).all()


def test_an_unfitted_detector_names_the_remedy(tmp_path):
    detector = AttributeDetector(SQUARE, ["right", "up"])
    with pytest.raises(NotFitted, match="Call fit"):
        detector(None, points(1)[0])
    with pytest.raises(NotFitted, match="nothing to save"):
        detector.save(tmp_path / "detector.zip")


# --- training -----------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_detector_and_fit_starts_anew():
    rows = points(200)
    one, other = (AttributeDetector(SQUARE, ["right", "up"], device="cpu") for _ in range(2))
    one.fit(rows, 1 - quadrants(rows), max_epochs=2)
    reports = [each.fit(rows, quadrants(rows), max_epochs=2) for each in (one, other)]
    assert reports[0] == reports[1]
    probs = [each.predict_probs(rows)["up"] for each in (one, other)]
    assert (probs[0] == probs[1]).all()


@pytest.mark.learning
def test_training_stops_early_and_keeps_the_best_weights(seed):
    rows = points(300, seed)
    labels = np.random.default_rng(100 + seed).integers(2, size=(300, 1))  # nothing to be learned
    detector = AttributeDetector(SQUARE, ["coin"], device="cpu", seed=seed)
    report = detector.fit(rows, labels, max_epochs=200, patience=3)
    assert report.epochs < 200
    assert report.loss < 0.8


def test_labels_that_do_not_fit_are_refused():
    detector = AttributeDetector(SQUARE, ["right", "up"])
    with pytest.raises(InvalidAttributes, match="'up' the value 2"):
        detector.fit(points(30), np.full((30, 2), [0, 2]))
    with pytest.raises(InvalidAttributes, match="in each of 30 rows"):
        detector.fit(points(30), np.zeros((29, 2), int))
    with pytest.raises(InvalidData, match="at least 20 labels; received 5"):
        detector.fit(points(5), np.zeros((5, 2), int))


# --- files --------------------------------------------------------------------------------------


def test_a_detector_comes_back_from_its_file(square, tmp_path):
    path = tmp_path / "detector.zip"
    square.save(path)
    found = AttributeDetector.load(path, device="cpu")
    rows = points(500, seed=7)
    assert found.predict_probs(rows)["up"].tolist() == square.predict_probs(rows)["up"].tolist()
    assert found.report == square.report
    assert found.attribute_space == square.attribute_space
    assert found.observation_space == square.observation_space
    assert [file.name for file in tmp_path.iterdir()] == ["detector.zip"]


def test_missions_of_minigrid_can_be_saved(tmp_path):
    minigrid = pytest.importorskip("minigrid.core.mission")
    mission = minigrid.MissionSpace(mission_func=lambda: "get to the goal")
    space = spaces.Dict({"mission": mission, "place": SQUARE})
    detector = AttributeDetector(space, ["right", "up"], net_arch=(8,))
    batch = {"mission": ("get to the goal",) * 40, "place": points(40)}
    detector.fit(batch, quadrants(points(40)), max_epochs=1)
    detector.save(tmp_path / "detector.zip")
    found = AttributeDetector.load(tmp_path / "detector.zip")
    assert (found.predict(batch) == detector.predict(batch)).all()


def test_a_file_that_is_not_sound_is_refused(square, tmp_path):
    path = tmp_path / "detector.zip"
    square.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidArchive, match="damaged"):
        AttributeDetector.load(path)
    write_archive(path, "Recipe", {"detector.json": b"{}"})
    with pytest.raises(InvalidArchive, match="holds 'Recipe', not AttributeDetector"):
        AttributeDetector.load(path)
    write_archive(path, "AttributeDetector", {"detector.json": b"{}"})
    with pytest.raises(InvalidArchive, match="does not hold AttributeDetector"):
        AttributeDetector.load(path)
    with pytest.raises(FileNotFoundError):
        AttributeDetector.load(tmp_path / "none.zip")


def test_a_changed_entry_and_a_newer_format_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    write_archive(path, "Thing", {"entry": b"content"})
    assert read_archive(path, "Thing") == {"entry": b"content"}
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    for changes, message in (({}, "entry is not what"), ({"format": 99}, "format 99.*upgrade")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", json.dumps({**manifest, **changes}))
            archive.writestr("entry", b"changed")
        with pytest.raises(InvalidArchive, match=message):
            read_archive(path, "Thing")
