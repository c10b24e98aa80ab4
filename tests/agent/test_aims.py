"""Aims: hops lead to where a change that needs practice was seen, and then ask for it."""

import numpy as np
import pytest

from gym_attrplan.agent.aims import Aims
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes

SPACE = AttributeSpace(["key", "door", "treasure"])
KEY, DOOR, TREASURE, NO_KEY = [1, -1, -1], [-1, 1, -1], [-1, -1, 1], [0, -1, -1]
START, WITH_KEY, OPEN = [0, 0, 0], [1, 0, 0], [1, 1, 0]
EVERYWHERE = np.array([START, WITH_KEY, OPEN], np.int8)


def behind_a_door(aim_share=1.0, n_without=0, n_behind=0):
    """Aims where the key and the door work, and the treasure was seen once, behind the door.

    ``n_without`` hops from the start took it, without a key; ``n_behind`` hops began behind the
    door, and laid down the key.
    """
    outcomes, counts = HopOutcomes(SPACE), TransitionCounts(SPACE)
    for start, change, end in ((START, KEY, WITH_KEY), (WITH_KEY, DOOR, OPEN)):
        counts.record(start, end)
        outcomes.record([start] * 400, [change] * 400, [end] * 400, made=True, n_steps=5)
    counts.record(OPEN, [1, 1, 1])
    outcomes.record([OPEN] * 4, [TREASURE] * 4, [OPEN] * 4, made=False, n_steps=9)
    more = [(START, TREASURE, [0, 0, 1])] * n_without + [(OPEN, NO_KEY, [0, 1, 0])] * n_behind
    if more:
        outcomes.record(*zip(*more, strict=True), made=True, n_steps=9)
    settings = PracticeSettings(aim_share=aim_share)
    return Aims(outcomes, counts, settings, 300, np.random.default_rng(0))


def ask(aims, descriptions, where=True, possible=None):
    """What environments are asked for, each drawn to lay down the key."""
    rows = np.arange(len(descriptions))
    changes = np.tile(np.array(NO_KEY, np.int8), (len(rows), 1))
    where = np.full(len(rows), where)
    aims.direct(rows, np.asarray(descriptions, np.int8), changes, where=where, possible=possible)
    return changes


def share(changes, change):
    return (changes == change).all(axis=1).mean()


def test_hops_lead_to_where_the_neediest_change_was_seen_and_ask_for_it_there():
    aims = behind_a_door()
    assert share(ask(aims, [START] * 300), KEY) > 0.9
    aimed = ask(aims, [WITH_KEY] * 300)
    assert share(aimed, DOOR) > 0.9  # those that aimed at the key ask for what was drawn
    assert share(aimed, DOOR) + share(aimed, NO_KEY) == 1.0
    assert share(ask(aims, [OPEN] * 300), TREASURE) > 0.8


def test_an_attribute_that_does_not_matter_hides_no_way():
    space = AttributeSpace({"key": 2, "door": 2, "treasure": 2, "clock": 60})
    outcomes, counts = HopOutcomes(space), TransitionCounts(space)
    times = np.arange(59)[:, None]

    def at(description):
        return np.hstack([np.tile(description, (len(times), 1)), times])

    for start, change, end in ((START, KEY, WITH_KEY), (WITH_KEY, DOOR, OPEN)):
        counts.record(at(start), at(end))
        asked = [[*change, -1]] * len(times)
        outcomes.record(at(start), asked, at(end), made=True, n_steps=5)
    counts.record(at(OPEN), at([1, 1, 1]))
    few = at(OPEN)[:2]
    outcomes.record(few, [[*TREASURE, -1]] * 2, few, made=False, n_steps=9)
    rng = np.random.default_rng(0)
    aims = Aims(outcomes, counts, PracticeSettings(aim_share=1.0), 300, rng)
    changes = np.tile(np.array([*NO_KEY, -1], space.dtype), (300, 1))
    new = np.tile(np.array([*WITH_KEY, 59], space.dtype), (300, 1))
    aims.direct(np.arange(300), new, changes, where=np.ones(300, np.bool_))
    assert share(changes, [*DOOR, -1]) > 0.7


def test_an_aim_is_kept_until_it_is_asked_for_or_given_up():
    aims = behind_a_door()
    ask(aims, [START] * 300)
    kept = ask(aims, [START] * 300, where=False)
    assert share(kept, NO_KEY) == 1.0  # they explore, and go on afterwards
    assert share(ask(aims, [WITH_KEY] * 300), DOOR) > 0.9
    aims.give_up(np.arange(300))
    assert share(ask(aims, [[0, 1, 1]] * 300), NO_KEY) == 1.0  # from there no way is known


@pytest.mark.parametrize("share_of_aims", [0.0, 0.5])
def test_as_many_environments_aim_as_the_settings_say(share_of_aims):
    aims = behind_a_door(share_of_aims)
    assert share(ask(aims, [START] * 300), KEY) == pytest.approx(share_of_aims, abs=0.1)


def test_a_change_that_is_made_where_it_is_asked_for_gets_few_aims():
    assert 0.2 < share(ask(behind_a_door(n_without=4), [WITH_KEY] * 300), DOOR) < 0.8
    assert share(ask(behind_a_door(), [WITH_KEY] * 300), DOOR) > 0.9


def test_a_change_gets_few_aims_where_hops_begin_at_its_place_anyway():
    assert 0.2 < share(ask(behind_a_door(n_behind=60), [WITH_KEY] * 300), DOOR) < 0.8
    assert share(ask(behind_a_door(n_behind=200), [WITH_KEY] * 300), DOOR) == 0.0


def test_nothing_is_aimed_at_before_anything_was_seen():
    aims = Aims(
        HopOutcomes(SPACE),
        TransitionCounts(SPACE),
        PracticeSettings(),
        300,
        np.random.default_rng(),
    )
    assert share(ask(aims, [START] * 300), NO_KEY) == 1.0


def test_what_cannot_occur_in_the_episode_is_not_asked_for():
    possible = np.ones((300, 3, 2), np.bool_)
    possible[:150, 0, 1] = False  # no key in these
    changes = ask(behind_a_door(), [START] * 300, possible=possible)
    assert share(changes[:150], NO_KEY) == 1.0
    assert share(changes[150:], KEY) > 0.9


def test_ways_are_computed_again_when_an_epoch_begins():
    aims = behind_a_door()
    ask(aims, [START] * 300)
    aims.give_up(np.arange(300))
    outcomes = aims._outcomes
    outcomes.record([START] * 4_000, [DOOR] * 4_000, [OPEN] * 4_000, made=True, n_steps=2)
    assert share(ask(aims, [START] * 300), KEY) > 0.9
    aims.give_up(np.arange(300))
    outcomes.start_epoch(0.9)
    assert share(ask(aims, [START] * 300), DOOR) > 0.8
