"""ChangePlanner: the expected value of asking for a change, and the best one to ask for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.outcomes import NOWHERE, HopOutcomes

PLACES = AttributeSpace({"place": 8})


def outcomes_of(rows):
    """``{(start, wanted): [(end, made, times), …]}`` over places, each hop one step long."""
    outcomes = HopOutcomes(PLACES)
    for (start, wanted), ends in rows.items():
        for end, made, times in ends:
            over = end == NOWHERE
            outcomes.record(
                [[start]] * times,
                [[wanted]] * times,
                [[0 if over else end]] * times,
                made=made,
                n_steps=1,
                over=over,
            )
    return outcomes


def asked(planner, place, goal, **options):
    number = planner.next_changes([[place]], [{"place": goal}], **options)[0]
    return None if number < 0 else int(planner.outcomes.changes([number])[0, 0])


def test_two_sure_hops_are_preferred_to_an_unlikely_one():
    planner = ChangePlanner(
        outcomes_of(
            {
                (0, 3): [(3, True, 10), (0, False, 90)],
                (0, 1): [(1, True, 100)],
                (1, 3): [(3, True, 100)],
            }
        ),
        discount=0.9,
    )
    assert asked(planner, 0, 3) == 1
    assert asked(planner, 1, 3) == 3


def test_several_ends_count_by_their_expectation_not_one_by_one():
    """Asking for 1 ends in 2, 3 or 4 at random, and from each the goal is sure."""
    rows = {(0, 1): [(end, True, 30) for end in (2, 3, 4)]}
    rows |= {(end, 7): [(7, True, 90)] for end in (2, 3, 4)}
    rows[(0, 7)] = [(7, True, 45), (NOWHERE, False, 45)]
    planner = ChangePlanner(outcomes_of(rows), discount=0.99)
    assert asked(planner, 0, 7) == 1


def test_a_hop_that_can_be_tried_again_is_worth_more_than_one_that_ends_the_episode():
    again = outcomes_of({(0, 7): [(7, True, 50), (0, False, 50)]})
    over = outcomes_of({(0, 7): [(7, True, 50), (NOWHERE, False, 50)]})
    goal = {"place": 7}
    values = [ChangePlanner(one, doubt=0.0).values(goal).nodes[0] for one in (again, over)]
    assert values[0] == pytest.approx(0.99 * 0.5 / (1 - 0.99 * 0.5), abs=1e-5)
    assert values[1] == pytest.approx(0.99 * 0.5)


def test_longer_hops_are_worth_less():
    outcomes = HopOutcomes(PLACES)
    for wanted, n_steps in ((7, 50), (1, 2)):
        outcomes.record([[0]] * 9, [[wanted]] * 9, [[wanted]] * 9, made=True, n_steps=n_steps)
    outcomes.record([[1]] * 9, [[7]] * 9, [[7]] * 9, made=True, n_steps=3)
    assert asked(ChangePlanner(outcomes), 0, 7) == 1


def test_a_change_that_failed_in_this_episode_gives_way_to_another():
    outcomes = outcomes_of(
        {(0, 7): [(7, True, 90)], (0, 1): [(1, True, 80)], (1, 7): [(7, True, 9)]}
    )
    planner = ChangePlanner(outcomes)
    faith = np.ones((1, outcomes.n_changes))
    assert asked(planner, 0, 7, faith=faith) == 7
    faith[0, outcomes.find_changes([[7]])[0]] = 0.1
    assert asked(planner, 0, 7, faith=faith) == 1


def test_no_way_and_an_unknown_description_have_no_change():
    planner = ChangePlanner(outcomes_of({(0, 1): [(1, True, 9)]}))
    assert asked(planner, 0, 5) is None
    assert asked(planner, 6, 1) is None
    assert asked(planner, 1, 0) is None


def test_without_outcomes_there_is_nothing_to_ask_for():
    assert asked(ChangePlanner(HopOutcomes(PLACES)), 0, 1) is None


def test_the_planner_follows_what_is_counted():
    outcomes = outcomes_of({(0, 1): [(1, True, 9)]})
    planner = ChangePlanner(outcomes)
    assert asked(planner, 0, 2) is None
    outcomes.record([[1]], [[2]], [[2]], made=True, n_steps=1)
    assert asked(planner, 0, 2) == 1


row = st.tuples(
    st.tuples(st.integers(0, 5), st.integers(0, 7)),
    st.lists(
        st.tuples(st.integers(-1, 5), st.booleans(), st.integers(1, 4)), min_size=1, max_size=4
    ),
)


@settings(max_examples=40)
@given(st.lists(row, min_size=1, max_size=10), st.integers(0, 5))
def test_values_are_those_of_plain_value_iteration(rows, goal):
    planner = ChangePlanner(outcomes_of(dict(rows)), discount=0.8)
    values = planner.values({"place": goal}).nodes
    places = planner.outcomes.index.vectors(np.arange(len(values)))[:, 0].tolist()
    plain = dict.fromkeys(places, 0.0)
    for _ in range(200):
        for place in places:
            best = 1.0 if place == goal else 0.0
            for (start, _), ends in dict(rows).items():
                if start == place and place != goal:
                    total = sum(times for _, _, times in ends) + 1.0
                    worth = sum(times * plain.get(end, 0.0) for end, _, times in ends) / total
                    best = max(best, 0.8 * worth)
            plain[place] = best
    assert values == pytest.approx([plain[place] for place in places], abs=1e-4)


@pytest.mark.parametrize("wrong", [{"discount": 1.0}, {"doubt": -1.0}, {"max_goals": 0}])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidGraph):
        ChangePlanner(HopOutcomes(PLACES), **wrong)
