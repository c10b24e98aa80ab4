"""Buffers: rows in rings that take memory as it is needed, in a namespace of their own."""

import numpy as np
import pytest
from gymnasium import spaces

from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer, RowBuffer
from gym_attrplan.error import InvalidArchive

GOAL = spaces.Box(-1, 1, (2,), np.int8)
NUMBER = spaces.Box(0, 9, (1,), np.float32)


def odd_space():
    """Keys that are the names of our own columns."""
    keys = ("action", "after", "before", "reached", "n_added")
    return spaces.Dict({**dict.fromkeys(keys, NUMBER), "achieved_goal": GOAL, "desired_goal": GOAL})


def observations(n):
    rows = {key: np.full((n, 1), i, np.float32) for i, key in enumerate(odd_space())}
    return {**rows, "achieved_goal": np.zeros((n, 2), np.int8), "desired_goal": np.ones((n, 2))}


def test_observation_keys_named_like_our_columns_stay_apart():
    examples = ExampleBuffer(odd_space(), spaces.Discrete(3))
    seen = observations(4)
    after = np.ones((4, 2), np.int8)
    examples.add_step(seen, np.array([0, 1, 2, 1]), after)
    kept = examples.examples
    assert kept.actions.tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(kept.next_attributes, after)
    np.testing.assert_array_equal(kept.observations["action"], seen["action"])
    attempts = AttemptBuffer(odd_space())
    attempts.add_rows(seen, reached=np.array([True, False, True, True]))
    assert attempts.reached.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(attempts.observations["reached"], seen["reached"])


def test_what_was_seen_next_is_kept_where_it_is_known():
    examples = ExampleBuffer(odd_space(), spaces.Discrete(3))
    seen, actions, after = observations(2), np.array([0, 1]), np.ones((2, 2), np.int8)
    examples.add_step(seen, actions, after)
    then = {key: part + 5 for key, part in seen.items()}
    examples.add_step(seen, actions + 1, after, then)
    assert len(examples.examples) == 4
    assert examples.followed.actions.tolist() == [1, 2]
    np.testing.assert_array_equal(examples.followed.observations["action"], seen["action"])
    np.testing.assert_array_equal(examples.followed.next_observations["action"], then["action"])


def test_memory_is_taken_as_rows_come_in():
    picture = spaces.Dict(
        {
            "observation": spaces.Box(0, 255, (64, 64, 3), np.uint8),
            "achieved_goal": GOAL,
            "desired_goal": GOAL,
        }
    )
    buffer = ExampleBuffer(picture, spaces.Discrete(3))
    assert buffer.nbytes == 0
    seen = {"observation": np.zeros((10, 64, 64, 3), np.uint8), "achieved_goal": np.zeros((10, 2))}
    buffer.add_step(seen, np.zeros(10, np.int64), np.zeros((10, 2), np.int8))
    assert 0 < buffer.nbytes < 20e6
    assert buffer.followed is None  # pictures are not kept twice


def test_the_cap_on_bytes_holds_while_a_buffer_grows():
    buffer = RowBuffer({"x": NUMBER}, capacity=10_000, max_bytes=4 * 3_000)
    for i in range(50):
        buffer.add({"x": np.full((100, 1), i)})
    assert len(buffer) == 3_000
    assert buffer.nbytes == 12_000
    assert buffer.rows["x"].min() == 20


def test_a_restored_ring_goes_on_where_it_stood():
    first, second = (RowBuffer({"x": NUMBER}, capacity=5, max_bytes=999) for _ in range(2))
    first.add({"x": np.arange(7)[:, None]})
    second.restore(first.to_arrays())
    for buffer in (first, second):
        buffer.add({"x": np.array([[7.0]])})
    np.testing.assert_array_equal(first.rows["x"], second.rows["x"])
    assert sorted(first.rows["x"].ravel()) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "wrong",
    [{"x": np.zeros((2, 2), np.float32)}, {"x": np.zeros((2, 1))}, {}, {"n_added": np.array(9)}],
)
def test_rows_of_another_shape_or_type_are_refused(wrong):
    buffer = RowBuffer({"x": NUMBER}, capacity=5, max_bytes=999)
    arrays = {"x": np.zeros((2, 1), np.float32), "n_added": np.array(2)}
    given = {**arrays, **wrong} if wrong else {"n_added": np.array(2)}
    with pytest.raises(InvalidArchive, match="rows of 'x'"):
        buffer.restore(given)
