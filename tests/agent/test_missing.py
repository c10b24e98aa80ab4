"""Hops whose outcome depends on more than the attributes."""

from __future__ import annotations

import numpy as np
import pytest

from gym_attrplan.agent.missing import find_missing, find_needless, symbols_of
from gym_attrplan.attributes import AttributeSpace

SPACE = AttributeSpace(["lit", "open"])


def attempts(rng, n=400, *, changes=((1, -1),), works=lambda mood, start: mood > 0.5):
    """Attempts from random descriptions; the mood is seen, and is no attribute."""
    start = np.stack([np.zeros(n, np.int8), rng.integers(0, 2, n).astype(np.int8)], axis=1)
    mood = rng.random((n, 3)).astype(np.float32)
    wanted = np.array(changes, np.int8)[rng.integers(len(changes), size=n)]
    start[wanted == 1] = 0  # nobody asks for what holds
    rows = {"observation": mood, "achieved_goal": start, "desired_goal": wanted}
    return rows, works(mood[:, 1], start)


def test_the_hop_the_question_and_both_kinds_of_states_are_named():
    rows, reached = attempts(np.random.default_rng(0))
    (found,) = find_missing(rows, reached, SPACE)
    assert (found.hop, found.n) == ("lit", 400)
    assert str(found.question).startswith("observation[1] above 0.5")
    assert found.start in ("not lit, not open", "not lit, open")
    assert found.with_yes[0] == found.with_yes[1] > 50
    assert found.with_no[0] < 0.1 * found.with_no[1]
    assert found.lost == pytest.approx(0.5, abs=0.1)
    assert str(found).startswith("lit, from 'not lit")


def test_the_hop_that_loses_most_comes_first():
    rng = np.random.default_rng(0)
    rows, reached = attempts(rng, 1_000, changes=((1, -1), (-1, 1), (-1, 1), (-1, 1)))
    often, rarely = find_missing(rows, reached, SPACE)
    assert (often.hop, rarely.hop) == ("open", "lit")
    assert often.n > rarely.n


def test_what_the_attributes_tell_is_not_missing():
    """The mood is as the attribute says, which decides: given that, it tells nothing more."""
    rng = np.random.default_rng(0)
    rows, reached = attempts(rng, works=lambda mood, start: start[:, 1] == 1)
    rows["observation"][:, 1] = rows["achieved_goal"][:, 1]
    assert find_missing(rows, reached, SPACE) == []


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.95])
def test_where_the_state_does_not_matter_hardly_anything_is_named(rate):
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, _ = attempts(rng)
        named += len(find_missing(rows, rng.random(len(rows["observation"])) < rate, SPACE))
    assert named <= 2


def test_few_attempts_and_walks_without_a_goal_are_not_judged():
    rng = np.random.default_rng(0)
    assert find_missing(*attempts(rng, 30), SPACE) == []
    assert find_missing(*attempts(rng, 400, changes=((-1, -1),)), SPACE) == []


def test_an_attribute_on_which_no_hop_depends_is_named():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 2, (3_000, 3)).astype(np.int8)
    changes = np.full_like(starts, -1)
    changes[:, 2] = 1
    rows = {"achieved_goal": starts, "desired_goal": changes}
    reached = rng.random(3_000) < np.where(starts[:, 0] == 1, 0.6, 0.4)
    space = AttributeSpace(["key", "lamp", "door"])
    assert find_needless(rows, reached, space) == ["lamp"]
    assert (
        find_needless({key: part[:300] for key, part in rows.items()}, reached[:300], space) == []
    )
    assert find_needless({key: part[:0] for key, part in rows.items()}, reached[:0], space) == []


def test_only_minigrids_symbols_have_words():
    assert symbols_of({"id": "MiniGrid-DoorKey-8x8-v0", "kwargs": {}})["image"][0][4] == "door"
    assert symbols_of({"id": "FrozenLake-v1", "kwargs": {}}) == {}
    assert symbols_of({"id": "Nobody-v0", "kwargs": {}}) == {}
    assert symbols_of(None) == {}


def test_the_same_attempts_give_the_same_answer():
    rows, reached = attempts(np.random.default_rng(1))
    assert find_missing(rows, reached, SPACE) == find_missing(rows, reached, SPACE)
