"""Practice: which hop comes next."""

from __future__ import annotations

import numpy as np
import pytest
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeSpace, AttributeWrapper
from gym_attrplan.agent.practice import N_GOALS, N_SEARCHES, Practice
from gym_attrplan.error import InvalidOption
from gym_attrplan.graph import TransitionCounts

N = 2_000


def graph(edges):
    """Nodes in the order of their numbers."""
    counts = TransitionCounts(AttributeSpace({"floor": 8}))
    ends = np.array([[one, other] for one, other in edges])
    counts.index.add(np.arange(ends.max() + 1)[:, None])
    counts.record(ends[:, :1], ends[:, 1:], list(edges.values()))
    return counts


def draw(counts, by, nodes):
    """What ``N`` worlds at each of the nodes are told, after their goals were drawn."""
    practice = Practice(counts, N, by=by, rng=np.random.default_rng(0))
    for _ in range(N_GOALS):
        practice.tick()
    worlds = np.arange(N)
    return [practice.next_nodes(worlds, np.full(N, node)) for node in nodes]


def test_plans_lead_behind_a_door_that_exploring_hardly_used():
    door = {(0, 1): 1_000, (1, 0): 1_000, (0, 2): 1, (2, 3): 1, (3, 4): 1, (4, 5): 1, (5, 6): 1}
    (by_visits,) = draw(graph(door), "visits", [0])
    (by_plans,) = draw(graph(door), "plans", [0])
    assert (by_visits == 2).mean() < 0.01
    assert (by_plans == 2).mean() > 0.5  # five of seven nodes lie there; a fifth goes by visits


def test_plans_turn_away_from_an_edge_that_fails():
    counts = graph({(0, 1): 1, (0, 2): 1, (1, 3): 1, (2, 3): 1, (3, 4): 1, (4, 5): 1})
    counts.attempt([[0]] * 20, [[1]] * 20, [False] * 20)
    (chosen,) = draw(counts, "plans", [0])
    assert (chosen == 2).mean() > 2 * (chosen == 1).mean() > 0  # 1 itself is a goal too


def test_a_dead_end_and_an_unknown_place_have_no_next_node():
    counts = graph({(0, 1): 1})
    for by in ("visits", "need", "plans"):
        there, nowhere = draw(counts, by, [1, -1])
        assert (there == -1).all()
        assert (nowhere == -1).all()


def test_a_world_follows_its_plan_until_it_arrives():
    line = graph({(i, i + 1): 1 for i in range(7)} | {(i, 0): 1_000 for i in range(1, 8)})
    practice = Practice(line, 1, by="plans", rng=np.random.default_rng(0))
    for _ in range(N_GOALS):
        practice.tick()
    node, furthest = np.array([0]), 0
    for _ in range(300):
        node = practice.next_nodes(np.array([0]), node)
        furthest = max(furthest, int(node[0]))
    assert furthest == 7  # a walk by visits goes back to 0 after almost every step


def test_goals_give_way_to_others_and_ways_lead_to_new_nodes():
    counts = graph({(0, 1): 1, (1, 0): 1})
    practice = Practice(counts, N, by="plans", rng=np.random.default_rng(0))
    practice.tick()
    counts.record([[1]], [[2]])
    place = int(counts.index.find([[2]])[0])
    for _ in range(3 * N_SEARCHES * N_GOALS):
        practice.tick()
    chosen = practice.next_nodes(np.arange(N), np.full(N, counts.index.find([[1]])[0]))
    assert (chosen == place).any()
    assert (chosen != place).any()


def test_an_agent_practises_as_it_is_told_and_says_how_it_can():
    env = AttributeWrapper(GenericTestEnv(), ["four", "two", "one"], three_bits)
    agent = AttributePlannerAgent("MultiInputPolicy", env, practice="plans", device="cpu")
    assert agent.hops.practice.by == "plans"
    with pytest.raises(InvalidOption, match=r"practice is one of \['visits', 'need', 'plans'\]"):
        AttributePlannerAgent("MultiInputPolicy", env, practice="sleep")
