"""ChangePlanner: the expected value of asking for a change, and the best one to ask for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph.change_planner import ChangePlanner
from gym_attrplan.graph.outcomes import HopOutcomes

PLACES = AttributeSpace({"place": 8})
NOWHERE = -1
"""Where a hop ends with the episode: in place 0, and nothing follows."""


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
    assert asked(planner, 0, 7, faith=lambda envs, changes: np.ones(len(envs))) == 7
    leap = outcomes.find_changes([[7]])[0]
    faith = lambda envs, changes: np.where(changes == leap, 0.1, 1.0)  # noqa: E731
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


def test_a_plan_names_its_changes_their_ends_and_the_chance_with_what_may_follow_a_failure():
    """A hop that fails where it stands is tried again; one that ends the episode is not."""
    first = {(0, 1): [(1, True, 3), (0, False, 1)]}
    for failed in (1, NOWHERE):
        outcomes = outcomes_of({**first, (1, 7): [(7, True, 1), (failed, False, 1)]})
        chance = 1.0 if failed == 1 else outcomes.success_probs([[1]], [[7]])[0]
        plan = ChangePlanner(outcomes, doubt=0.0).plan([0], {"place": 7})
        assert plan.vectors.tolist() == [[0], [1], [7]]
        assert plan.changes.tolist() == [[1], [7]]
        assert plan.edge_probs.tolist() == [0.75, 0.5]
        assert plan.success_prob == plan.chance == pytest.approx(chance, abs=1e-4)
        assert plan.chance > np.prod(plan.edge_probs)


def test_where_time_is_short_a_plan_promises_less():
    """A hop that works every other time: in so many steps that often, in the end always."""
    outcomes = outcomes_of({(0, 7): [(7, True, 1), (0, False, 1)]})
    planner = ChangePlanner(outcomes, doubt=0.0)
    prob = outcomes.success_probs([[0]], [[7]])[0]
    assert prob == pytest.approx(0.5, abs=0.05)
    for n_steps in (1, 2, 4, np.inf):
        plan = planner.plan([0], [7], n_steps=None if np.isinf(n_steps) else n_steps)
        assert plan.chance == pytest.approx(1.0 - (1.0 - prob) ** n_steps, abs=1e-4)


def test_hops_of_ten_steps_are_seldom_through_in_half_of_that_and_mostly_in_five_times_that():
    outcomes = HopOutcomes(PLACES)
    outcomes.record([[0], [1]] * 9, [[1], [7]] * 9, [[1], [7]] * 9, made=True, n_steps=10)
    planner = ChangePlanner(outcomes, doubt=0.0)
    few, many, most = (planner.plan([0], [7], n_steps=n).chance for n in (10, 50, 5_000))
    assert few < 0.3
    assert many > 0.9
    assert most == pytest.approx(1.0, abs=1e-3)


def test_the_cost_of_a_plan_is_that_of_its_value():
    plan = ChangePlanner(outcomes_of({(0, 7): [(7, True, 9)]}), discount=0.8).plan([0], [7])
    assert plan.cost == pytest.approx(-np.log(0.8 * 9 / 10))


def test_a_plan_goes_through_the_likeliest_of_the_ends_that_lead_on():
    rows = {(0, 1): [(2, True, 5), (3, True, 3), (4, True, 1)]}
    rows |= {(end, 7): [(7, True, 9)] for end in (3, 4)}  # from 2 no way is known
    plan = ChangePlanner(outcomes_of(rows)).plan([0], [7])
    assert plan.vectors.tolist() == [[0], [3], [7]]
    assert plan.chance == pytest.approx(4 / 9, abs=1e-4)


def test_no_change_is_asked_for_in_the_hope_that_it_fails():
    """Who asks for 3 mostly ends at 2, the goal; the way through 1 is longer, but meant."""
    rows = {(0, 3): [(2, False, 8), (3, True, 1)], (0, 1): [(1, True, 9)], (1, 2): [(2, True, 9)]}
    planner = ChangePlanner(outcomes_of(rows))
    assert asked(planner, 0, 2) == 1
    assert planner.plan([0], [2]).vectors[:, 0].tolist() == [0, 1, 2]
    del rows[0, 1]
    assert ChangePlanner(outcomes_of(rows)).plan([0], [2]) is None


def test_there_is_no_plan_without_a_way_and_one_without_hops_where_the_goal_holds():
    planner = ChangePlanner(outcomes_of({(0, 1): [(1, True, 9)], (5, 6): [(5, False, 9)]}))
    assert planner.plan([0], [6]) is None
    assert planner.plan([5], [1]) is None
    assert planner.plan([3], [1]) is None
    plan = planner.plan([1], [1])
    assert (len(plan), plan.success_prob, plan.cost) == (0, 1.0, 0.0)
    assert plan.changes.shape == (0, 1)


def test_an_episode_that_ends_at_the_goal_has_reached_it_and_elsewhere_nothing_follows():
    outcomes = HopOutcomes(PLACES)
    for start, end in ((0, 1), (1, 7)):
        outcomes.record([[start]] * 9, [[end]] * 9, [[end]] * 9, made=True, n_steps=1, over=True)
    planner = ChangePlanner(outcomes)
    assert planner.plan([1], [7]).success_prob == pytest.approx(1.0, abs=1e-4)
    assert planner.plan([0], [1]).success_prob == pytest.approx(1.0, abs=1e-4)
    assert planner.plan([0], [7]) is None


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
    plain = {**dict.fromkeys(places, 0.0), NOWHERE: float(goal == 0)}
    for _ in range(200):
        for place in places:
            best = 1.0 if place == goal else 0.0
            for (start, _), ends in dict(rows).items():
                if start == place and place != goal:
                    total = sum(times for _, _, times in ends) + 1.0
                    worth = sum(times * plain.get(end, 0.0) for end, _, times in ends) / total
                    leads_on = any(made and plain.get(end, 0.0) for end, made, _ in ends)
                    best = max(best, 0.8 * worth if leads_on else 0.0)
            plain[place] = best
    assert values == pytest.approx([plain[place] for place in places], abs=1e-4)


@pytest.mark.parametrize("wrong", [{"discount": 1.0}, {"doubt": -1.0}, {"max_goals": 0}])
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidGraph):
        ChangePlanner(HopOutcomes(PLACES), **wrong)
