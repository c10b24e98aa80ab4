"""Goals, vectors and spaces, right and wrong: named errors and short messages, nothing altered."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable
from typing import Any

import bad_values
import gymnasium as gym
import numpy as np
import pytest
from campaign import Tally, sized
from gymnasium import spaces

from gym_attrplan import AttributeSpace, AttributeWrapper
from gym_attrplan.attributes.space_json import MAX_NUMBERS, space_from_json, space_to_json
from gym_attrplan.error import AttrPlanError, InvalidArchive, InvalidAttributes, InvalidGoal, shown
from gym_attrplan.graph import Planner, TransitionCounts
from gym_attrplan.wrappers.goals import as_goals

LONGEST = 2_500  # characters of a message: a dozen names and two values
SPACE = AttributeSpace(
    {"door": 2, "on(red, green)": 2, "ore": 41, "wide": 300, "lamp": ["red", "far left", "c=d"]}
)
BOXES = [
    spaces.Box(0, 255, (8, 6, 3), np.uint8),
    spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, 2.0], np.float32)),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([[2, 3], [4, 5]]),
    spaces.MultiBinary([2, 3]),
    spaces.Text(12, charset="abc"),
    spaces.Dict({"b": spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(3)])}),
]


@pytest.fixture(autouse=True)
def quiet():
    """Gymnasium and numpy warn of what they are given; here it is all meant to be odd."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(tally: Tally, n: int, make: Callable[..., Any], use: Callable[[Any], None]) -> None:
    """Draw ``n`` values and use each; every message is short and can be printed."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        value = make(rng)
        with tally.fault(lambda value=value: shown(value)):
            try:
                use(value)
            except AttrPlanError as error:
                message = str(error)
                readable = len(message) < LONGEST and "\x1b" not in message
                tally.must(readable, f"{shown(value)} has the message {message[:200]!r}")
                message.encode()  # what is printed must not fail on a lone surrogate
                raise
    tally.settle()


def check_goal(tally: Tally, goal: Any, value: Any) -> None:
    """An accepted goal is one, and reads back from its own words."""
    tally.must(
        goal.shape == (len(SPACE),)
        and goal.dtype == SPACE.dtype
        and bool(((goal >= -1) & (goal < SPACE.sizes)).all())
        and SPACE.goal(SPACE.describe(goal)).tolist() == goal.tolist(),
        f"{shown(value)} became {goal!r}",
    )


def test_every_goal_is_one_or_an_invalid_goal():
    tally = Tally("goals", allowed=(InvalidGoal,))
    counts = TransitionCounts(SPACE)
    counts.record([0, 0, 0, 0, 0], [1, 0, 0, 0, 0])
    planner = Planner(counts)

    def check_batch(value: Any) -> None:
        for goal in as_goals(SPACE, value, 2):
            check_goal(tally, goal, value)

    takers = itertools.cycle(
        [
            lambda value: check_goal(tally, SPACE.goal(value), value),
            check_batch,
            lambda value: planner.plan(0, value),
        ]
    )

    def use(value: Any) -> None:
        next(takers)(value)

    run(tally, sized(1_200, 70_000), lambda rng: bad_values.goal(SPACE, rng), use)


def test_every_goal_of_a_reset_is_one_or_an_invalid_goal():
    tally = Tally("goals of a reset", allowed=(InvalidGoal,))
    env = AttributeWrapper(gym.make("CartPole-v1"), SPACE, lambda *_: [0, 1, 2, 3, 1])

    def use(value: Any) -> None:
        if value is not None:  # no goal: the sampler draws one
            observation, _ = env.reset(options={"goal": value})
            check_goal(tally, observation["desired_goal"], value)

    run(tally, sized(200, 10_000), lambda rng: bad_values.goal(SPACE, rng), use)


def test_every_vector_is_one_or_invalid_attributes():
    tally = Tally("vectors", allowed=(InvalidAttributes,))

    def use(value: Any) -> None:
        if isinstance(value, (dict, str)):
            SPACE.encode(value)
            return
        vectors = SPACE.check(value)
        tally.must(
            bool(((vectors >= 0) & (vectors < SPACE.sizes)).all()),
            f"{shown(value)} became {vectors!r}",
        )

    run(tally, sized(300, 15_000), lambda rng: bad_values.goal(SPACE, rng), use)


def check_space(tally: Tally, space: AttributeSpace) -> None:
    """An accepted space survives JSON, and its goals read back from their words."""
    last = (space.sizes - 1).astype(space.dtype)
    tally.must(
        AttributeSpace.from_json(space.to_json()) == space
        and space.goal(space.describe(last)).tolist() == last.tolist()
        and space.goal(space.describe(0 * last)).tolist() == (0 * last).tolist(),
        f"{shown(space.table)} does not read back",
    )


def test_every_table_is_a_space_or_invalid_attributes():
    tally = Tally("attribute spaces", allowed=(InvalidAttributes,))
    run(
        tally,
        sized(400, 20_000),
        lambda rng: bad_values.table(SPACE, rng),
        lambda value: check_space(tally, AttributeSpace(value)),
    )


def test_every_text_is_a_space_or_invalid_attributes():
    tally = Tally("attribute spaces in JSON", allowed=(InvalidAttributes,))
    run(
        tally,
        sized(200, 10_000),
        lambda rng: bad_values.damaged(SPACE.to_json(), rng),
        lambda value: check_space(tally, AttributeSpace.from_json(value)),
    )


def damaged_json(rng: np.random.Generator) -> Any:
    """A Gymnasium space in JSON with one value replaced, or its text edited."""
    data = space_to_json(BOXES[rng.integers(len(BOXES))])
    if rng.random() < 0.3:
        try:
            return json.loads(bad_values.damaged(json.dumps(data), rng))
        except (ValueError, RecursionError):
            return None
    part: Any = data
    while True:
        keys = list(part) if isinstance(part, dict) else range(len(part))
        key = keys[rng.integers(len(keys))]
        if isinstance(part[key], (dict, list)) and part[key] and rng.random() < 0.7:
            part = part[key]
            continue
        part[key] = bad_values.scalar(rng) if rng.random() < 0.7 else int(10 ** rng.uniform(0, 12))
        return data


def test_every_value_is_a_gymnasium_space_or_an_invalid_archive():
    tally = Tally("Gymnasium spaces in JSON", allowed=(InvalidArchive,))

    def use(value: Any) -> None:
        space = space_from_json(value)
        small = spaces.utils.flatdim(space) <= MAX_NUMBERS
        tally.must(small, f"{shown(value)} became {shown(space)}")

    run(tally, sized(300, 10_000), damaged_json, use)
