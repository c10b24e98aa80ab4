import numpy as np
import pytest
from graph_cases import bits, graph_of, node_edges, partial_goals
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.error import InvalidGoal, InvalidGraph
from gym_attrplan.graph import EpisodeMemory, Planner

rows = st.lists(st.tuples(st.integers(-1, 11), partial_goals()), min_size=1, max_size=12)


@given(node_edges(), rows)
def test_batched_next_hops_are_the_single_ones(edges, asked):
    planner = Planner(graph_of(edges, n_nodes=12))
    nodes, goals = [node for node, _ in asked], np.array([goal for _, goal in asked])
    single = [planner.next_hop(node, goal) if node >= 0 else -1 for node, goal in asked]
    assert planner.next_hops(nodes, goals).tolist() == single
    assert planner.next_hops(nodes, goals.astype(np.int8)).tolist() == single


@given(node_edges(), rows)
def test_a_first_edge_judged_like_the_table_costs_what_the_tree_says(edges, asked):
    """Another hop may be taken where two ways cost the same, but never a dearer one."""
    planner = Planner(graph_of(edges, n_nodes=12))
    nodes, goals = [node for node, _ in asked], np.array([goal for _, goal in asked])
    table, probs = planner.counts.edges(), planner.edge_probs()

    def as_known(envs, sources, targets):
        assert (np.array(nodes)[envs] == sources).all()
        return probs[table.positions(sources, targets)]

    tree = planner.next_hops(nodes, goals)
    hops = planner.next_hops(nodes, goals, first_edge_probs=as_known)
    assert ((hops < 0) == (tree < 0)).all()
    for node, goal, hop in zip(nodes, goals, hops.tolist(), strict=True):
        if hop >= 0:
            cost = planner.plan_along(np.array([node, hop])).cost + planner.distances(goal)[hop]
            assert cost == pytest.approx(planner.distances(goal)[node])


def test_the_state_knows_better_than_the_table_which_first_edge_is_possible():
    counts = graph_of({(0, 1): (8, 8), (1, 3): (8, 8), (0, 2): (8, 1), (2, 3): (8, 8)}, n_nodes=4)
    planner = Planner(counts)

    def seen(envs, sources, targets):
        return np.where((envs == 1) & (targets == 1), 0.0, 0.5)  # environment 1: not by node 1

    hops = planner.next_hops([0, 0, 1], [bits(3)] * 3, first_edge_probs=seen)
    assert hops.tolist() == [1, 2, 3]


def test_rows_may_be_a_choice_of_the_environments():
    planner = Planner(graph_of({(0, 1): (8, 8), (0, 3): (8, 1), (1, 3): (8, 8)}, n_nodes=4))
    asked = []

    def seen(envs, sources, targets):
        asked.append(envs.tolist())
        return np.ones(len(envs))

    planner.next_hops([0, 1], [bits(3)] * 2, first_edge_probs=seen, envs=[7, 4])
    assert asked == [[7, 7, 4]]


@pytest.mark.parametrize(("successes", "expected"), [(0, 1), (1, 2)])
def test_an_edge_that_no_attempt_has_made_keeps_the_estimators_probability(successes, expected):
    ways = {(0, 1): (4, 1), (1, 3): (9, 9), (0, 2): (4, successes), (2, 3): (9, 9)}
    planner = Planner(graph_of(ways, n_nodes=4), estimator="beta_mean")

    def praise(envs, sources, targets):
        return np.where(targets == 2, 1.0, 0.5)  # four failures alone leave 1/6

    assert planner.next_hops([0], [bits(3)], first_edge_probs=praise).tolist() == [expected]


def test_every_first_edge_impossible_means_no_hop():
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=2))
    hops = planner.next_hops([0], [bits(1)], first_edge_probs=lambda e, s, t: np.zeros(len(e)))
    assert hops.tolist() == [-1]


def test_no_hop_is_taken_where_the_goal_holds_even_with_memory():
    planner = Planner(graph_of({(0, 1): (8, 8), (1, 0): (8, 8)}, n_nodes=2))
    hops = planner.next_hops([1, 0, -1], [bits(1)] * 3, memory=EpisodeMemory(3))
    assert hops.tolist() == [-1, 1, -1]


def test_one_goal_serves_all_rows():
    planner = Planner(graph_of({(0, 1): (8, 8), (2, 1): (8, 8)}, n_nodes=3))
    assert planner.next_hops([0, 1, 2], bits(1)).tolist() == [1, -1, 1]


def test_more_goals_than_trees_still_give_every_answer():
    planner = Planner(graph_of({(0, i): (1, 1) for i in range(1, 10)}, n_nodes=10), max_trees=2)
    goals = [bits(i) for i in range(1, 10)]
    assert planner.next_hops([0] * 9, goals).tolist() == list(range(1, 10))
    assert planner.next_hops([0] * 9, goals, memory=EpisodeMemory(9)).tolist() == list(range(1, 10))
    assert len(planner._trees) == 2


def test_no_rows_and_no_edges_are_no_trouble():
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=3))
    never = {"first_edge_probs": lambda e, s, t: 1 / 0, "memory": EpisodeMemory(2)}
    assert planner.next_hops([], np.empty((0, 4), np.int8)).tolist() == []
    assert planner.next_hops([], np.empty((0, 4), np.int8), **never).tolist() == []
    assert planner.next_hops([2, -1], bits(1), **never).tolist() == [-1, -1]


def test_bad_batches_are_refused():
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=2))
    with pytest.raises(InvalidGraph, match="node"):
        planner.next_hops([0, 2], [bits(1)] * 2)
    with pytest.raises(InvalidGraph, match="one goal for each"):
        planner.next_hops([0], [bits(1)] * 2)
    with pytest.raises(InvalidGraph, match="one environment a row"):
        planner.next_hops([0, 1], bits(1), memory=EpisodeMemory(3), envs=[0])
    with pytest.raises(InvalidGraph, match="numbered 0 to 0"):
        planner.next_hops([1, 0], bits(1), memory=EpisodeMemory(1))
    with pytest.raises(InvalidGoal):
        planner.next_hops([0], np.array([[0, 0, 0, 2]], np.int8))
    with pytest.raises(InvalidGoal):
        planner.next_hops([0], np.array([[0, 0, 0]], np.int8))


@pytest.mark.parametrize("probs", [[1.5], [np.nan], [0.5, 0.5]], ids=str)
def test_first_edge_probabilities_out_of_range_are_refused(probs):
    planner = Planner(graph_of({(0, 1): (8, 8)}, n_nodes=2))
    with pytest.raises(InvalidGraph, match="first_edge_probs must give"):
        planner.next_hops([0], bits(1), first_edge_probs=lambda e, s, t: np.array(probs))
