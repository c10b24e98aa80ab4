"""Reliability: probabilities corrected by how often they came true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.reliability import N_BINS, Reliability

PROBS = np.linspace(0.0, 1.0, 101)


def test_before_anything_is_counted_probabilities_stay_as_they_are():
    np.testing.assert_allclose(Reliability().correct(PROBS), PROBS, atol=1e-12)


def test_what_comes_true_more_often_than_was_said_is_corrected():
    rng = np.random.default_rng(0)
    said = rng.random(100_000)
    truth = said**0.5
    reliability = Reliability()
    reliability.add(said, rng.random(len(said)) < truth)
    np.testing.assert_allclose(reliability.correct(PROBS[10:]), PROBS[10:] ** 0.5, atol=0.05)


def test_probabilities_that_were_never_said_are_corrected_like_the_others():
    rng = np.random.default_rng(0)
    said = rng.uniform(0.5, 0.9, 5_000)
    odds = np.e * said / (1 - said)
    reliability = Reliability()
    reliability.add(said, rng.random(len(said)) < odds / (1 + odds))
    # log-odds of -1 are -1 + 1 after the correction
    assert reliability.correct(np.array([0.269]))[0] == pytest.approx(0.5, abs=0.06)


def test_what_is_newer_counts_more():
    reliability = Reliability()
    for came_true in [False] + [True] * 16:
        reliability.start_epoch()
        reliability.add(np.full(10_000, 0.5), np.full(10_000, came_true))
    assert reliability.correct(np.array([0.5]))[0] > 0.95


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=300))
def test_the_curve_never_falls_and_gives_probabilities(attempts):
    said = np.array([one for one, _ in attempts])
    reliability = Reliability()
    reliability.add(said, np.array([one for _, one in attempts], np.bool_))
    corrected = reliability.correct(PROBS)
    assert (np.diff(corrected) >= -1e-12).all()
    assert corrected.min() >= 0.0
    assert corrected.max() <= 1.0


@pytest.mark.parametrize(
    "counts", [np.zeros((2, N_BINS)), np.full((3, N_BINS), np.nan), -np.ones((3, N_BINS))]
)
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(InvalidGraph, match="finite and not negative"):
        Reliability().restore(counts)


def test_more_successes_than_attempts_are_refused():
    counts = np.zeros((3, N_BINS))
    counts[2, 3] = 1.0
    with pytest.raises(InvalidGraph, match="came true than was attempted"):
        Reliability().restore(counts)
