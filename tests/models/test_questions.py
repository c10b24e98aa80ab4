"""Questions about observations, their answers and their words."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from gym_attrplan.attributes.library.minigrid import symbol_names
from gym_attrplan.models.questions import Question, asked_parts, questions_about

IMAGE = np.zeros((2, 3, 3, 2), np.uint8)
IMAGE[0, 1, 2, 0] = 4
IMAGE[1, 0, 0, 1] = 4


@pytest.mark.parametrize(
    ("question", "answers", "words"),
    [
        (Question("image", (1, 2, 0), "is", 4.0), [True, False], "image[1, 2, 0] is 4"),
        (Question("image", (0,), "has", 4.0), [True, False], "image has 4 in channel 0"),
        (Question("image", (1,), "has", 4.0), [False, True], "image has 4 in channel 1"),
        (Question("words", (), "has", 7.0), [False, True], "words has 7"),
        (Question("state", (1,), "above", 0.5), [False, True], "state[1] above 0.5"),
        (
            Question("state", (1,), "apart", 0.0, (0,)),
            [True, False],
            "state[1] above state[0] by 0",
        ),
        (Question("place", (), "is", 3.0), [True, False], "place is 3"),
    ],
)
def test_a_question_has_an_answer_for_each_row_and_words(question, answers, words):
    rows = {
        "image": IMAGE,
        "words": np.array([[1, 2], [3, 7]]),
        "state": np.array([[0.1, 0.5], [0.9, 0.6]]),
        "place": np.array([3, 4]),
    }
    assert question.answer(rows).tolist() == answers
    assert str(question) == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question("image", (3, 5, 0), "is", 4.0), "image[3, 5] is door"),
        (Question("image", (0,), "has", 5.0), "image has key"),
        (Question("image", (2,), "has", 2.0), "image has locked"),
        (Question("image", (3, 5, 2), "is", 0.0), "image[3, 5, 2] is 0"),
        (Question("direction", (), "is", 1.0), "direction is down"),
        (Question("state", (1,), "above", 1.0), "state[1] above 1"),
    ],
)
def test_symbols_have_the_words_of_their_environment(question, words):
    assert question.describe(symbol_names()) == words


def asked_about(rows):
    return [str(one) for asked, _ in questions_about(rows) for one in asked]


def test_each_frequent_symbol_is_asked_for_at_its_place_and_anywhere():
    rows = {"words": np.array([[1, 2], [1, 3]] * 50)}
    assert asked_about(rows) == ["words[1] is 2", "words[1] is 3", "words has 2", "words has 3"]


def test_numbers_are_asked_for_thresholds_and_differences():
    state = np.stack([np.linspace(0.0, 1.0, 80), np.zeros(80)], axis=1)
    asked = asked_about({"state": state})
    assert [one for one in asked if one.startswith("state[1] above 0")] == []
    assert len([one for one in asked if one.startswith("state[0] above 0")]) == 7
    assert len([one for one in asked if one.startswith("state[1] above state[0]")]) == 7


def test_answers_are_those_of_the_questions():
    rng = np.random.default_rng(0)
    rows = {"state": rng.random((200, 2)), "symbol": rng.integers(0, 3, 200)}
    for asked, answers in questions_about(rows):
        for i, question in enumerate(asked):
            np.testing.assert_array_equal(question.answer(rows), answers[:, i])


def test_nothing_is_asked_about_pixels():
    image = np.random.default_rng(0).integers(0, 255, (100, 64, 64, 3), np.uint8)
    assert asked_about({"image": image}) == []
    place = spaces.Discrete(3)
    space = spaces.Dict({"image": spaces.Box(0, 255, (64, 64, 3), np.uint8), "place": place})
    assert asked_parts(space) == spaces.Dict({"place": place})


def test_nothing_is_asked_about_goals_nor_about_what_hardly_differs():
    once = np.zeros((200, 1), np.int64)
    once[0] = 1
    rows = {"achieved_goal": np.arange(200)[:, None], "desired_goal": once, "symbol": once}
    assert asked_about(rows) == []
