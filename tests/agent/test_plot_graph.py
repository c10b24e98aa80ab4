"""An agent's graph with the plan for a goal."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.error import InvalidAttributes, InvalidGoal, InvalidGraph

mpl.use("Agg")

BITS = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], np.int8)


@pytest.fixture
def agent():
    """Its hops were seen to count from 0 to 7."""
    env = AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=0)
    changes = np.where(BITS[1:] == BITS[:-1], -1, BITS[1:])
    for _ in range(9):
        agent.outcomes.record(BITS[:-1], changes, BITS[1:], made=True, n_steps=1)
    return agent


def test_the_graph_is_drawn_with_its_nodes_and_edges(agent):
    ax = agent.plot_graph()
    assert ax.get_title() == "8 descriptions, 7 transitions"
    assert len(ax.collections[0].get_offsets()) == 8
    assert sum(int(np.isnan(line.get_xdata()).sum()) for line in ax.lines) == 7
    assert len(ax.texts) == 0


def test_a_goal_adds_its_plan_from_the_start_given(agent):
    ax = agent.plot_graph("two, one", start=[0, 0, 0])
    assert ax.get_title().startswith("3 hops, success ")
    assert len(ax.lines[-1].get_xdata()) == 4
    assert [text.get_text() for text in ax.texts] == ["start", "goal"]
    assert (
        agent.plot_graph("four or two", start=[0, 0, 1], max_nodes=4)
        .get_title()
        .endswith("4 of 8 descriptions, 3 transitions")
    )


def test_a_goal_out_of_reach_is_said_in_the_title(agent):
    ax = agent.plot_graph("not four", start=[1, 1, 1])
    assert ax.get_title().startswith("no plan, to not four")


def test_what_cannot_be_drawn_is_refused(agent):
    with pytest.raises(InvalidGoal, match="no attribute named 'six'"):
        agent.plot_graph("six")
    with pytest.raises(InvalidAttributes, match="must hold 3 values"):
        agent.plot_graph("four", start=[0, 0])
    agent = AttributePlannerAgent("MultiInputPolicy", agent.get_env(), seed=0)
    with pytest.raises(InvalidGraph, match="empty"):
        agent.plot_graph("four")
