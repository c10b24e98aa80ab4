"""Pictures of the states that a finding tells apart."""

from __future__ import annotations

import numpy as np
import pytest
from minigrid.core.constants import OBJECT_TO_IDX

from gym_attrplan.agent.missing import Missing
from gym_attrplan.models.questions import Question
from gym_attrplan.report.states import draw_states, views_of


def finding(yes, no):
    question = Question("image", (0,), "has", 4.0)
    counts = {"with_yes": (9, 9), "with_no": (0, 9), "n": 18, "lost": 0.5}
    return Missing("room=goal", question, "image has door", "key", **counts, shown=(yes, no))


def views(n, content="wall"):
    image = np.ones((n, 7, 7, 3), np.int16)
    image[..., 1:] = 0
    image[:, 3, 5, 0] = OBJECT_TO_IDX[content]
    return {"image": image}


def test_views_of_both_kinds_stand_side_by_side():
    ax = draw_states(finding(views(2, "door"), views(3)))
    assert [text.get_text() for text in ax.texts] == ["yes"] * 2 + ["no"] * 3
    assert ax.get_title() == "room=goal: image has door?"
    door, wall = (views_of(views(1, content))[0] for content in ("door", "wall"))
    assert door.shape == wall.shape
    assert (door != wall).any()


@pytest.mark.parametrize(
    "states",
    [
        {"observation": np.zeros((2, 4))},
        {"image": np.zeros((2, 7, 7), np.int16)},
        {"image": np.full((2, 7, 7, 3), 200, np.int16)},
    ],
    ids=["numbers", "no channels", "pixels"],
)
def test_other_observations_are_not_drawn(states):
    assert draw_states(finding(states, states)) is None
