import numpy as np
import pytest
from graph_cases import bits, graph_of
from hypothesis import given
from hypothesis import strategies as st

from gym_attrplan.error import InvalidGraph
from gym_attrplan.graph import EpisodeMemory, Planner


def walk(planner, possible, goal, *, memory, n_steps=30):
    """Follow next hops in a world where only the ``possible`` edges work; nodes in turn."""
    path = [0]
    for _ in range(n_steps):
        (hop,) = planner.next_hops([path[-1]], [goal], memory=memory).tolist()
        if hop < 0:
            break
        arrives = (path[-1], hop) in possible
        if memory is not None and not arrives:
            memory.fail([0], [path[-1]], [hop])
        path.append(hop if arrives else path[-1])
        if memory is not None and arrives:
            memory.visit([0], [hop])
    return path


def test_memory_gets_past_an_edge_that_never_works():
    # The table was right about 0 → 1 from other states; here it is impossible. 0 → 2 → 3 works.
    counts = graph_of({(0, 1): (8, 8), (1, 3): (8, 8), (0, 2): (8, 4), (2, 3): (8, 8)}, n_nodes=4)
    planner, possible = Planner(counts), {(0, 2), (2, 3)}
    assert walk(planner, possible, bits(3), memory=None) == [0] * 31
    assert walk(planner, possible, bits(3), memory=EpisodeMemory(1))[-1] == 3


def test_memory_leaves_a_loop_of_nodes():
    # 0 and 1 send the walker to each other: "hopping to 3" from 1 ends at 0 again.
    counts = graph_of({(0, 1): (8, 8), (1, 3): (8, 8), (0, 2): (8, 1), (2, 3): (8, 4)}, n_nodes=4)
    planner = Planner(counts)
    memory, path = EpisodeMemory(1), [0]
    for _ in range(30):
        (hop,) = planner.next_hops([path[-1]], [bits(3)], memory=memory).tolist()
        if hop < 0:
            break
        path.append(0 if (path[-1], hop) == (1, 3) else hop)  # lands elsewhere: no failed edge told
        memory.visit([0], [path[-1]])
    assert path[-1] == 3
    assert path[-2] == 2


def test_costs_add_up_per_visit_and_failure():
    memory = EpisodeMemory(2, visit_cost=0.5, fail_cost=2.0)
    memory.visit([0, 0, 1], [7, 7, 7])
    memory.fail([0], [3], [7])
    cost = memory.extra_cost([0, 0, 1, 1], [3, 4, 3, 3], [7, 7, 7, 3])
    assert cost.tolist() == [3.0, 1.0, 0.5, 0.0]


def test_reset_forgets_only_the_chosen_environments():
    memory = EpisodeMemory(3)
    memory.visit([0, 1, 2], [5, 5, 5])
    memory.reset([1])
    assert memory.extra_cost([0, 1, 2], [0, 0, 0], [5, 5, 5]).tolist() == [1, 0, 1]
    memory.visit([1], [5])
    assert memory.extra_cost([1], [0], [5]).tolist() == [1]
    memory.reset()
    assert memory.extra_cost([0, 1, 2], [0, 0, 0], [5, 5, 5]).tolist() == [0, 0, 0]


events = st.lists(
    st.tuples(st.sampled_from(["visit", "fail", "reset"]), *[st.integers(0, 3)] * 3), max_size=60
)


@given(events)
def test_memory_is_what_one_dict_per_environment_would_remember(log):
    memory, visits, fails = EpisodeMemory(4, visit_cost=1, fail_cost=10), [{}] * 4, [{}] * 4
    for event, env, source, target in log:
        if event == "visit":
            memory.visit([env], [target])
            visits[env] = {**visits[env], target: visits[env].get(target, 0) + 1}
        elif event == "fail":
            memory.fail([env], [source], [target])
            edge = (source, target)
            fails[env] = {**fails[env], edge: fails[env].get(edge, 0) + 1}
        else:
            memory.reset([env])
            visits[env], fails[env] = {}, {}
    envs, sources, targets = (axis.ravel() for axis in np.indices((4, 4, 4)))
    expected = [
        visits[e].get(t, 0) + 10 * fails[e].get((s, t), 0)
        for e, s, t in zip(envs.tolist(), sources.tolist(), targets.tolist(), strict=True)
    ]
    assert memory.extra_cost(envs, sources, targets).tolist() == expected


def test_memory_of_finished_episodes_is_given_back():
    memory, envs = EpisodeMemory(64), np.arange(64)
    for _ in range(300):
        memory.reset(envs)
        for step in range(5):
            memory.visit(envs, envs + step)
            memory.fail(envs, envs, envs + step)
    assert memory.nbytes < 300_000  # 96,000 visits and as many failures went by
    assert memory.extra_cost(envs, envs, envs + 4).tolist() == [2.0] * 64


@pytest.mark.parametrize(
    "make",
    [
        lambda: EpisodeMemory(0),
        lambda: EpisodeMemory(1, visit_cost=-1),
        lambda: EpisodeMemory(1, fail_cost=np.nan),
        lambda: EpisodeMemory(1, fail_cost=np.inf),
        lambda: EpisodeMemory(1).visit([1], [0]),
        lambda: EpisodeMemory(1).visit([-1], [0]),
        lambda: EpisodeMemory(2).visit([0, 1], [0]),
        lambda: EpisodeMemory(2).reset([2]),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InvalidGraph):
        make()
