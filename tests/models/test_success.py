"""SuccessModel: what it learns from attempts, and what it says when they teach nothing."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import configure

from gym_attrplan.error import InvalidData, InvalidEnvironment, NotFitted
from gym_attrplan.models import SuccessModel, WordsExtractor
from gym_attrplan.models.fitting import calibration_error, fit_temperatures

GOAL = spaces.Box(-1, 1, (2,), np.int8)
PLACES = spaces.Dict(
    {"observation": spaces.Box(0, 1, (1,)), "achieved_goal": GOAL, "desired_goal": GOAL}
)


def attempts(n: int, seed: int = 0):
    """From the right half the first attribute is reached, from the left half the second."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(size=(n, 1)).astype(np.float32)
    second = rng.integers(2, size=n)
    goals = np.eye(2, dtype=np.int8)[second]
    rows = {"observation": place, "achieved_goal": np.zeros_like(goals), "desired_goal": goals}
    return rows, (place[:, 0] > 0.5) == (second == 0)


@pytest.mark.learning
def test_it_tells_states_and_goals_apart(seed):
    model = SuccessModel(PLACES, device="cpu", seed=seed)
    report = model.fit(*attempts(2_000, seed))
    rows, reached = attempts(500, seed=100 + seed)
    probs = model.predict(rows)
    assert probs.shape == (500,)
    assert probs.dtype == np.float32
    assert ((probs > 0.5) == reached).mean() > 0.95
    assert report.trained
    assert report.error < 0.1
    assert (report.n_examples, report.n_held_out) == (2_000, 200)


@pytest.mark.learning
def test_where_success_is_chance_it_says_how_likely(seed):
    rng = np.random.default_rng(100 + seed)
    rows, _ = attempts(4_000, seed)
    likely = np.where(rows["observation"][:, 0] > 0.5, 0.8, 0.3)
    model = SuccessModel(PLACES, device="cpu", seed=seed)
    report = model.fit(rows, rng.random(4_000) < likely)
    clear = np.abs(rows["observation"][:, 0] - 0.5) > 0.2  # a network's step is not a sharp one
    assert np.abs(model.predict(rows) - likely)[clear].mean() < 0.12
    assert report.calibration_error_after < 0.2  # of 400 attempts in bins


@pytest.mark.learning
def test_it_reads_words(seed):
    space = spaces.Dict({**PLACES.spaces, "observation": spaces.Box(0, 300, (8,), np.int16)})
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 301, (1_500, 8)).astype(np.int16)
    blocked = rng.random(1_500) < 0.5
    words[blocked, rng.integers(8)] = 7  # the word that says no
    rows = {**attempts(1_500, seed)[0], "observation": words}
    model = SuccessModel(space, features_extractor_class=WordsExtractor, device="cpu", seed=seed)
    assert model.fit(rows, ~(words == 7).any(axis=1)).error < 0.05


def test_it_reads_images_with_channels_last():
    space = spaces.Dict({**PLACES.spaces, "observation": spaces.Box(0, 255, (40, 40, 3), np.uint8)})
    rows, reached = attempts(60)
    rows["observation"] = np.zeros((60, 40, 40, 3), np.uint8)
    model = SuccessModel(space, device="cpu")
    model.fit(rows, reached, max_epochs=1)
    assert model.predict(rows).shape == (60,)


@pytest.mark.parametrize(("n_reached", "expected"), [(60, 61 / 62), (0, 1 / 62)])
def test_attempts_that_came_out_alike_give_the_smoothed_rate(n_reached, expected):
    model = SuccessModel(PLACES, device="cpu")
    rows, _ = attempts(60)
    report = model.fit(rows, np.arange(60) < n_reached)
    assert not report.trained
    assert model.predict(rows) == pytest.approx(np.full(60, expected))


def test_few_attempts_give_the_smoothed_rate():
    model = SuccessModel(PLACES, device="cpu")
    rows, _ = attempts(8)
    model.fit(rows, np.arange(8) < 2)
    assert model.predict(rows) == pytest.approx(np.full(8, 0.3))


def test_few_attempts_do_not_undo_a_training():
    model = SuccessModel(PLACES, device="cpu")
    rows, reached = attempts(400)
    model.fit(rows, reached, max_epochs=2)
    before = model.predict(rows)
    model.fit({key: row[:5] for key, row in rows.items()}, reached[:5])
    assert (model.predict(rows) == before).all()


def test_fitting_again_forgets_what_the_policy_could_not_do_before():
    model = SuccessModel(PLACES, device="cpu")
    rows, reached = attempts(500)
    model.fit(rows, ~reached, max_epochs=2)
    model.fit(rows, reached, max_epochs=2)
    again = SuccessModel(PLACES, device="cpu")
    again.fit(rows, reached, max_epochs=2)
    assert (model.predict(rows) == again.predict(rows)).all()


def test_the_same_seed_gives_the_same_model_and_leaves_torch_alone():
    rows, reached = attempts(300)
    answers = []
    for _ in range(2):
        torch.manual_seed(len(answers))
        model = SuccessModel(PLACES, device="cpu", seed=3)
        model.fit(rows, reached, max_epochs=2)
        assert torch.initial_seed() == len(answers)
        answers.append(model.predict(rows))
    assert (answers[0] == answers[1]).all()


def test_everything_learned_is_in_the_state_dict():
    model, other = SuccessModel(PLACES, device="cpu"), SuccessModel(PLACES, device="cpu", seed=1)
    rows, reached = attempts(300)
    model.fit(rows, reached, max_epochs=2)
    other.load_state_dict(model.state_dict())
    assert (model.predict(rows) == other.predict(rows)).all()


def test_an_unfitted_model_names_the_remedy():
    with pytest.raises(NotFitted, match="Call fit"):
        SuccessModel(PLACES, device="cpu").predict(attempts(3)[0])


def test_no_rows_in_no_rows_out():
    model = SuccessModel(PLACES, device="cpu")
    model.fit(*attempts(100), max_epochs=1)
    assert model.predict({key: row[:0] for key, row in attempts(1)[0].items()}).shape == (0,)


def test_data_that_do_not_fit_are_refused():
    model = SuccessModel(PLACES, device="cpu")
    rows, reached = attempts(60)
    with pytest.raises(InvalidData, match="one row per attempt"):
        model.fit(rows, reached[:-1])
    with pytest.raises(InvalidData, match=r"lack the keys \['observation'\]"):
        model.predict({"achieved_goal": rows["achieved_goal"], "desired_goal": GOAL.sample()})
    with pytest.raises(InvalidData, match="holdout is a share"):
        model.fit(rows, reached, holdout=1.5)
    rows["observation"] = np.full_like(rows["observation"], np.nan)
    with pytest.raises(InvalidData, match="diverged"):
        model.fit(rows, reached, max_epochs=1)


def test_a_space_without_goals_is_refused():
    with pytest.raises(InvalidEnvironment, match="AttributeWrapper"):
        SuccessModel(spaces.Dict({"observation": spaces.Discrete(2)}))


def test_training_is_logged(tmp_path):
    logger = configure(str(tmp_path), ["csv"])
    SuccessModel(PLACES, device="cpu").fit(*attempts(200), max_epochs=3, logger=logger)
    table = np.genfromtxt(io.StringIO((tmp_path / "progress.csv").read_text()), delimiter=",")
    assert table.shape == (4, 2)  # a header and three epochs


# --- calibration, on values worked out by hand --------------------------------------------------


def test_a_temperature_undoes_overconfidence():
    """75 of 100 right and logits that say 10: the true logit is log 3, with one more half wrong."""
    logits = torch.tensor([[[0.0, 10.0]]]).expand(100, 1, 2)
    targets = (torch.arange(100)[:, None] < 75).long()
    right = 0.75 * (1 - 1 / 102) + 0.5 / 102
    temperature = fit_temperatures(logits, targets).item()
    assert temperature == pytest.approx(10.0 / np.log(right / (1 - right)), rel=1e-4)


def test_always_right_is_not_taken_for_certain():
    logits = torch.tensor([[[0.0, 2.0]]]).expand(8, 1, 2)
    temperature = fit_temperatures(logits, torch.ones(8, 1))
    confidence = torch.sigmoid(2.0 / temperature).item()
    assert confidence == pytest.approx(0.95, abs=1e-4)  # 1 - 1/10 of a coin's toss


def test_values_that_an_attribute_does_not_have_are_left_out():
    two = torch.tensor([[[0.0, 10.0]]]).expand(100, 1, 2)
    three = torch.nn.functional.pad(two, (0, 1), value=-torch.inf)
    targets = (torch.arange(100)[:, None] < 75).long()
    assert fit_temperatures(three, targets) == pytest.approx(fit_temperatures(two, targets))


def test_calibration_error_is_the_gap_in_each_bin():
    confidence = torch.tensor([0.9, 0.9, 0.9, 0.9, 0.6, 0.6])
    correct = torch.tensor([1, 1, 1, 0, 1, 0])
    assert calibration_error(confidence, correct) == pytest.approx((4 * 0.15 + 2 * 0.1) / 6)
