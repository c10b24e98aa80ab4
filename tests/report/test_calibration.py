"""Predictions beside fresh attempts, and states that attributes do not tell apart."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidOption
from gym_attrplan.report import EdgeTrials, Trials, find_aliasing, try_edges, try_plans
from gym_attrplan.report.aliasing import _dependent


def test_predictions_are_grouped_and_held_against_the_share_achieved():
    trials = Trials(np.array([0.2, 0.25, 1.0, 1.0]), np.array([True, False, True, False]))
    first, last = trials.bins(2)
    assert (first.predicted, first.achieved, first.n) == (pytest.approx(0.225), 0.5, 2)
    assert (last.predicted, last.achieved, last.n) == (1.0, 0.5, 2)
    assert first.low < 0.5 < first.high
    with pytest.raises(InvalidOption, match="received 0"):
        trials.bins(0)


def test_the_calibration_error_weighs_groups_by_their_attempts():
    trials = Trials(np.array([0.0, 0.0, 0.0, 1.0]), np.array([True, False, False, True]))
    assert trials.calibration_error == pytest.approx(3 / 4 * 1 / 3)


@pytest.mark.learning
def test_edges_are_tried_anew_and_nothing_is_learned(neighbour_agent):
    before = neighbour_agent.counts.edges()
    n_attempts, n_visits = before.attempts.sum(), before.visits.sum()
    trials = try_edges(neighbour_agent, n_attempts=100)
    after = neighbour_agent.counts.edges()
    assert (after.attempts.sum(), after.visits.sum()) == (n_attempts, n_visits)
    assert 0 < len(trials) <= 100
    assert trials.reached.mean() > 0.9  # the counter counts up, and the policy has learned it
    probs = neighbour_agent.navigator.planner.edge_probs()
    assert set(trials.predicted) <= set(probs)


@pytest.mark.learning
def test_changes_are_tried_anew_and_nothing_is_learned(counter_agent):
    before = counter_agent.outcomes.to_arrays(), counter_agent.hops.to_arrays()
    n_visits = counter_agent.counts.edges().visits.sum()
    trials = try_edges(counter_agent, n_attempts=100)
    after = counter_agent.outcomes.to_arrays(), counter_agent.hops.to_arrays()
    for mine, theirs in zip(before, after, strict=True):
        for name, array in mine.items():
            np.testing.assert_array_equal(array, theirs[name])
    assert counter_agent.counts.edges().visits.sum() == n_visits
    assert 0 < len(trials) <= 100
    assert trials.reached.mean() > 0.8
    assert abs(trials.predicted.mean() - trials.reached.mean()) < 0.15
    assert ((trials.observations["desired_goal"] != -1).sum(axis=1) == 1).all()


def test_the_same_seed_gives_the_same_attempts(moody_agent):
    one, other = (try_edges(moody_agent, n_attempts=60, seed=3) for _ in range(2))
    moods = [trials.observations["observation"].ravel().tolist() for trials in (one, other)]
    assert moods[0] == moods[1]
    assert (one.reached == other.reached).all()


@pytest.mark.learning
def test_plans_are_held_against_the_tasks_solved(counter_agent):
    trials = try_plans(counter_agent, n_tasks=20)
    assert len(trials) >= 20
    assert trials.reached.mean() > 0.9
    assert ((trials.predicted > 0.0) & (trials.predicted <= 1.0)).all()


def test_nothing_to_try_is_refused(counter_agent):
    with pytest.raises(InvalidOption, match="n_attempts"):
        try_edges(counter_agent, n_attempts=0)
    with pytest.raises(InvalidOption, match="n_tasks"):
        try_plans(counter_agent, n_tasks=0)


@pytest.mark.learning
def test_an_edge_that_works_in_some_states_only_is_named(moody_agent):
    trials = try_edges(moody_agent, n_attempts=600)
    aliasing = find_aliasing(moody_agent, trials)
    first = aliasing.edges[0]
    assert first.words == "lit, from 'not lit'"
    assert first.likely_share > 0.9
    assert first.unlikely_share < 0.1
    assert aliasing.attributes[0].words == "lit"
    assert "Add an attribute" in aliasing.describe()


@pytest.mark.learning
def test_without_a_success_model_one_is_trained_on_half_of_the_attempts(moody_agent, monkeypatch):
    monkeypatch.setattr(moody_agent, "success_model", None)
    trials = try_edges(moody_agent, n_attempts=600)
    (first, *_) = find_aliasing(moody_agent, trials).edges
    assert first.words == "lit, from 'not lit'"
    assert first.n <= len(trials) / 2


@pytest.mark.learning
def test_where_attributes_say_all_no_edge_is_named(counter_agent):
    trials = try_edges(counter_agent, n_attempts=400)
    aliasing = find_aliasing(counter_agent, trials)
    assert aliasing.n_edges > 0
    assert aliasing.edges == ()


def test_a_change_speaks_of_no_attribute_but_the_one_that_was_asked_for():
    """40 hops to 'lit' that work in a good mood only; 'open' was left free."""
    mood = np.arange(40) % 2
    model = SimpleNamespace(is_trained=True, predict=lambda rows: rows["observation"][:, 0])
    space = AttributeSpace(["lit", "open"])
    rows = {
        "observation": mood[:, None].astype(np.float32),
        "achieved_goal": np.zeros((40, 2), np.int8),
        "desired_goal": np.tile(np.array([1, -1], np.int8), (40, 1)),
    }
    agent = SimpleNamespace(success_model=model, attribute_space=space)
    aliasing = find_aliasing(agent, EdgeTrials(np.full(40, 0.5), mood == 1, rows))
    assert [one.words for one in aliasing.edges] == ["lit, from 'not lit, not open'"]
    assert [one.words for one in aliasing.attributes] == ["lit"]


def test_edges_with_few_attempts_are_not_judged_alone(moody_agent):
    trials = try_edges(moody_agent, n_attempts=600)
    few = {key: part[:15] for key, part in trials.observations.items()}
    few_trials = EdgeTrials(trials.predicted[:15], trials.reached[:15], few)
    assert find_aliasing(moody_agent, few_trials).n_edges == 0


def test_a_difference_that_chance_explains_is_not_named():
    likely = np.arange(20) < 10
    rather = np.where(likely, np.arange(20) < 6, np.arange(20) < 14)  # 6 of 10 against 4 of 10
    surely = likely.copy()  # 10 of 10 against none
    everything = np.ones(20, bool)
    assert _dependent([("rather", everything)], rather, likely) == ()
    (found,) = _dependent([("surely", everything)], surely, likely)
    # (11 - 1) / 12 between the halves, less 1.645 standard errors of sqrt(2 * 11/144 / 12)
    assert found.least_gap == pytest.approx(10 / 12 - 1.6449 * (2 * 11 / 144 / 12) ** 0.5, abs=1e-4)
