"""NextStateModel: what would be seen after an action."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gymnasium import spaces

from gym_attrplan.error import InvalidData, NotFitted
from gym_attrplan.models import Examples
from gym_attrplan.models.next_state import NextStateModel

PARTS = {"dial": spaces.Box(-9, 9, (2,)), "clock": spaces.Box(0, 1e6, (1,))}


def seen_of(dials, clock):
    return {"dial": dials.astype(np.float32), "clock": clock.astype(np.float32)}


def turns(n, seed):
    """Two dials of which an action turns one up by one; a clock that goes on."""
    rng = np.random.default_rng(seed)
    dials, clock = rng.integers(0, 4, (n, 2)), rng.integers(0, 1_000, (n, 1)) * 100.0
    actions = rng.integers(2, size=n)
    after = dials + np.eye(2, dtype=int)[actions]
    return Examples(
        seen_of(dials, clock), actions, dials % 4, after % 4, seen_of(after, clock + 50_000.0)
    )


@pytest.mark.learning
def test_numbers_of_any_size_are_foreseen(seed):
    space = spaces.Dict(PARTS)
    model = NextStateModel(space, spaces.Discrete(2), {"a": 4, "b": 4}, device="cpu", seed=seed)
    model.fit(turns(3_000, seed), max_epochs=20)
    test = turns(200, seed + 1)
    rows = {**test.observations, "achieved_goal": test.attributes}
    after = model.imagine(
        {**rows, "desired_goal": test.next_attributes}, test.actions[:, None].astype(np.float32)
    )
    assert after.keys() == PARTS.keys()
    assert np.abs(after["dial"] - test.next_observations["dial"]).mean() < 0.15
    assert np.abs(after["clock"] - test.next_observations["clock"]).mean() < 3_000
    assert all(after[key].dtype == np.float32 for key in PARTS)


@pytest.mark.parametrize(
    ("space", "suits"),
    [
        (spaces.Box(0, 1, (3,)), True),
        (spaces.Box(0, 255, (64, 64, 3), np.uint8), False),
        (spaces.Discrete(3), False),
        (spaces.Box(0, 9, (3,), np.int64), False),
    ],
)
def test_it_suits_numbers_alone(space, suits):
    assert NextStateModel.suits({"seen": space, "more": spaces.Box(0, 1, (1,))}) == suits


def test_what_was_seen_next_has_the_shape_of_what_was_seen():
    model = NextStateModel(spaces.Dict(PARTS), spaces.Discrete(2), {"a": 4, "b": 4}, device="cpu")
    examples = turns(50, 0)
    short = {**examples.next_observations, "dial": np.zeros((50, 1), np.float32)}
    with pytest.raises(InvalidData, match=r"next_observations hold 'dial' with shape \(2,\)"):
        model.fit(replace(examples, next_observations=short))


def test_before_it_is_fitted_it_says_so():
    model = NextStateModel(PARTS["dial"], spaces.Discrete(2), ["a"], device="cpu")
    with pytest.raises(NotFitted, match="NextStateModel"):
        model.imagine({}, np.zeros((1, 1)))
