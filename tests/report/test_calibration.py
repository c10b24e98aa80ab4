"""Predictions beside fresh attempts, and states that attributes do not tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan.error import InvalidOption
from gym_attrplan.report import Trials, try_edges, try_plans


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
def test_a_hop_that_works_in_some_states_only_is_named(moody_agent):
    (found,) = [one for one in moody_agent.find_missing() if one.hop == "lit"]
    assert (found.question.key, found.start) == ("observation", "not lit")
    (made, n), (made_not, n_not) = found.with_yes, found.with_no
    assert made / n > 0.7
    assert made_not / n_not < 0.3


@pytest.mark.learning
def test_where_attributes_say_all_no_hop_is_named(counter_agent):
    assert counter_agent.find_missing() == []
