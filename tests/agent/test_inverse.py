"""low_level="inverse": worlds where one action makes one transition, planned with foresight."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent import PLANNERS
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.agent.foresight import Foresight
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.graph import EpisodeMemory, Planner, TransitionCounts
from gym_attrplan.models import Examples, ForwardModel
from gym_attrplan.models.actions import ActionLayout
from gym_attrplan.models.answers import AttributeLogits
from gym_attrplan.models.forward import Outcomes

N_PLACES = 8


class Ring(gym.Env):
    """Places in a ring. Steps of 1 always work, a leap of 3 only with wind, which turns each step.

    The wind is seen but is no attribute: states with equal attributes have different neighbours.
    """

    def __init__(self, continuous: bool = False):
        self.action_space = spaces.Box(0, 1, (4,)) if continuous else spaces.Discrete(3)
        self.observation_space = spaces.Box(0, 1, (N_PLACES + 1,))
        self.action_choices = 3 if continuous else 0
        self._continuous = continuous

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.wind = self.np_random.integers(N_PLACES), self.np_random.integers(2)
        return self._observe(), {}

    def step(self, action):
        if self._continuous:  # a step needs a push that is neither too soft nor too hard
            action = int(np.argmax(action[:3])) if 0.25 < action[3] < 0.75 else None
        moves = {0: 1, 1: -1, 2: 3 * self.wind, None: 0}
        self.place = (self.place + moves[action]) % N_PLACES
        self.wind = 1 - self.wind
        return self._observe(), 0.0, False, False, {}

    def _observe(self):
        row = np.zeros(N_PLACES + 1, np.float32)
        row[self.place], row[-1] = 1.0, self.wind
        return row


def ring(continuous: bool = False):
    env = gym.wrappers.TimeLimit(Ring(continuous), 12)
    return AttributeWrapper(env, {"place": N_PLACES}, lambda env, obs: [env.unwrapped.place])


def make_agent(env=None, **options):
    kwargs = {"max_epochs": 25, "batch_size": 128}
    options = {"low_level": "inverse", "low_level_kwargs": kwargs, "seed": 0, **options}
    return AttributePlannerAgent("MultiInputPolicy", env or ring(), device="cpu", **options)


@pytest.fixture(scope="module")
def trained(seed):
    return make_agent(seed=seed).learn(3_000)


def test_an_inverse_agent_explores_at_random_for_half_the_steps_and_hops_one_step(trained):
    assert trained.options.exploration == "random"
    assert trained.options.max_hop_steps == 1
    assert trained.steps_done == {"explore": 1_500, "hop": 1_500}
    assert len(trained.examples) == 3_000  # attempts are examples too


@pytest.mark.learning
def test_attempts_along_the_leap_succeed_only_with_wind(trained):
    edges, probs = trained.counts.edges(), trained.navigator.planner.edge_probs()
    vectors = trained.counts.index.vectors
    leap = (vectors(edges.target)[:, 0] - vectors(edges.source)[:, 0]) % N_PLACES == 3
    attempts = edges.attempts[leap].sum()
    assert attempts > 50
    assert 0.3 < edges.successes[leap].sum() / attempts < 0.7
    assert len(probs) == trained.imagined.n_edges == trained.counts.n_edges == 3 * N_PLACES


@pytest.mark.learning
@pytest.mark.parametrize("planner", ["robust", "paper"])
def test_every_place_is_reached(trained, planner):
    trained.set_planner(planner)
    result = evaluate_tasks(trained, trained.env, n_tasks=50, seed=5)
    trained.set_planner("robust")
    assert result.rate > 0.95


@pytest.mark.learning
def test_the_forward_model_knows_that_a_leap_needs_wind(trained):
    rows = np.zeros((2, N_PLACES + 1), np.float32)
    rows[:, 0], rows[1, -1] = 1.0, 1.0  # at place 0, without wind and with it
    model = trained.low_level.forward
    states = {"observation": rows, "achieved_goal": np.zeros((2, 1), np.int8)}
    outcomes = model.foresee(states, model.layout.all_actions())
    assert outcomes.vectors[:, :, 0].tolist() == [[1, 7, 0], [1, 7, 3]]


@pytest.mark.slow
@pytest.mark.learning
def test_a_box_of_scores_and_numbers_is_planned_with_too(seed):
    quick = {"max_epochs": 12, "batch_size": 128}
    agent = make_agent(ring(continuous=True), low_level_kwargs=quick, seed=seed).learn(3_000)
    result = evaluate_tasks(agent, agent.env, n_tasks=25, seed=5)
    assert result.rate > 0.9


def test_a_saved_agent_foresees_the_same(trained, tmp_path):
    trained.save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent", env=ring())
    rng = np.random.default_rng(0)
    rows = np.eye(N_PLACES + 1, dtype=np.float32)[rng.integers(N_PLACES, size=40)]
    batch = {"observation": rows, "achieved_goal": rows[:, :8].argmax(1)[:, None].astype(np.int8)}
    batch["desired_goal"] = rng.integers(N_PLACES, size=(40, 1)).astype(np.int8)
    actions = [one.predict(batch, deterministic=True)[0] for one in (trained, again)]
    assert np.array_equal(*actions)
    assert again.imagined.n_edges == trained.imagined.n_edges


@pytest.mark.slow
def test_a_loaded_agent_learns_from_old_and_new_examples(trained, tmp_path):
    trained.save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent", env=ring())
    again.learn(300, reset_num_timesteps=False)
    assert int(again.low_level.forward.n_examples) == 3_300
    assert int(again.low_level.inverse.n_examples) == 3_000
    assert again.imagined.n_edges >= trained.imagined.n_edges


@pytest.mark.learning
def test_without_foresight_the_policy_follows_the_plan(trained):
    trained.set_planner(replace(PLANNERS["robust"], forward=False, edges="table"))
    result = evaluate_tasks(trained, trained.env, n_tasks=50, seed=5)
    trained.set_planner("robust")
    assert result.rate > 0.95


def logged_walk(n: int, seed: int = 0) -> Examples:
    """What a log of another agent's steps might hold."""
    env, rng = ring(), np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    rows, actions, before, after = [], [], [], []
    for _ in range(n):
        rows.append(observation["observation"])
        before.append(observation["achieved_goal"])
        actions.append(rng.integers(3))
        observation, _, _, truncated, _ = env.step(actions[-1])
        after.append(observation["achieved_goal"])
        if truncated:
            observation, _ = env.reset()
    return Examples(np.array(rows), np.array(actions), np.array(before), np.array(after))


@pytest.mark.slow
@pytest.mark.learning
def test_examples_from_a_log_count_as_explored(seed):
    agent = make_agent(seed=seed)
    agent.add_examples(logged_walk(1_000, seed))
    assert agent.counts.n_edges == 3 * N_PLACES
    agent.learn(1_000, reset_num_timesteps=False)
    assert agent.steps_done == {"explore": 1_000, "hop": 1_000}
    assert evaluate_tasks(agent, agent.env, n_tasks=50, seed=5).rate > 0.95


def test_examples_are_for_inverse_agents_only():
    agent = make_agent(low_level="ppo", low_level_kwargs={"n_steps": 8, "batch_size": 8})
    with pytest.raises(InvalidOption, match="only low_level='inverse'"):
        agent.add_examples(logged_walk(30))


def test_what_an_inverse_model_cannot_do_is_said_at_once():
    with pytest.raises(InvalidOption, match="max_hop_steps=1; received 5"):
        make_agent(max_hop_steps=5)
    with pytest.raises(InvalidOption, match=r"surprise.*received low_level='ppo'"):
        make_agent(low_level="ppo", hops="neighbours", exploration="surprise")
    switches = gym.wrappers.TimeLimit(Ring(), 5)
    switches.action_space = spaces.MultiBinary(2)
    many = AttributeWrapper(switches, {"place": N_PLACES}, lambda env, obs: [env.unwrapped.place])
    with pytest.raises(InvalidEnvironment, match="low_level"):
        make_agent(many)


class Ladder(gym.Env):
    """On each rung one of four actions climbs, which the observation shows; any other falls."""

    def __init__(self):
        self.action_space = spaces.Discrete(4)
        self.observation_space = spaces.Box(0, 1, (4,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.rung = 0
        return self._observe(), {}

    def step(self, action):
        self.rung = min(self.rung + 1, 9) if action == self.right else 0
        return self._observe(), 0.0, False, False, {}

    def _observe(self):
        self.right = int(self.np_random.integers(4))
        return np.eye(4, dtype=np.float32)[self.right]


def ladder():
    env = gym.wrappers.TimeLimit(Ladder(), 30)
    return AttributeWrapper(env, {"rung": 10}, lambda env, obs: [env.unwrapped.rung])


@pytest.mark.learning
@pytest.mark.slow
@pytest.mark.parametrize(("exploration", "least", "most"), [("random", 4, 8), ("surprise", 10, 10)])
def test_surprise_climbs_where_chance_falls(exploration, least, most, seed, monkeypatch):
    monkeypatch.setattr("gym_attrplan.agent.curious.FIRST_FIT", 400)
    options = {"exploration": exploration, "exploration_fraction": 1.0, "seed": seed}
    agent = make_agent(ladder(), **options).learn(1_600)
    assert least <= agent.counts.n_nodes <= most


def test_a_seed_settles_what_happens():
    def visits(seed):
        agent = make_agent(ladder(), seed=seed, exploration_fraction=1.0)
        return agent.learn(200).counts.edges().visits.tolist()

    assert visits(3) == visits(3) != visits(4)


class Slider(gym.Env):
    """The action is where the slider goes; the observation says nothing."""

    def __init__(self):
        self.action_space = spaces.Box(0, 1, (1,))
        self.observation_space = spaces.Box(0, 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.place = min(int(4 * action[0]), 3)
        return np.zeros(1, np.float32), 0.0, False, False, {}


@pytest.mark.learning
def test_one_world_alone_can_be_left_to_chance(seed, monkeypatch):
    monkeypatch.setattr("gym_attrplan.agent.curious.FIRST_FIT", 100)
    env = gym.wrappers.TimeLimit(Slider(), 5)
    env = AttributeWrapper(env, {"place": 4}, lambda env, obs: [env.unwrapped.place])
    options = {"exploration": "surprise", "exploration_fraction": 1.0, "seed": seed}
    agent = make_agent(env, **options).learn(200)
    assert agent.counts.n_nodes == 4


# --- foresight by itself --------------------------------------------------------------------


@pytest.fixture(scope="module")
def lamp(seed):
    """Action i sets the lamp's brightness to i, of 0, 1, 2; the observation says nothing."""
    rng = np.random.default_rng(seed)
    actions, before = rng.integers(3, size=900), rng.integers(3, size=(900, 1))
    examples = Examples(np.zeros((900, 1), np.float32), actions, before, actions[:, None])
    spaces_ = spaces.Box(0, 1, (1,)), spaces.Discrete(3)
    model = ForwardModel(*spaces_, {"lamp": 3}, device="cpu", seed=seed)
    model.fit(examples, max_epochs=20)
    return Foresight(model, rng=np.random.default_rng(seed))


def rows_at(*values):
    achieved = np.array(values, np.int8)[:, None]
    return {"observation": np.zeros((len(values), 1), np.float32), "achieved_goal": achieved}


@pytest.mark.learning
def test_a_goal_that_is_no_node_is_reached_if_one_action_does_it(lamp):
    counts = TransitionCounts(AttributeSpace({"lamp": 3}))
    counts.record([[0]], [[1]])
    choice = lamp.choose(
        rows_at(0, 1),
        np.array([[2], [2]], np.int8),
        Planner(counts),
        envs=np.arange(2),
        nodes=np.array([0, 1]),
        memory=None,
    )
    assert choice.found.tolist() == [True, True]
    assert choice.actions.tolist() == [2, 2]
    assert choice.nodes.tolist() == [-1, -1]


@pytest.mark.learning
def test_what_failed_before_is_not_chosen_again(lamp):
    counts = TransitionCounts(AttributeSpace({"lamp": 3}))
    counts.record([[0], [0], [1]], [[1], [2], [2]])
    memory = EpisodeMemory(1, fail_cost=20.0)

    def action():
        return lamp.choose(
            rows_at(0),
            np.array([[2]], np.int8),
            Planner(counts),
            envs=np.array([0]),
            nodes=np.array([0]),
            memory=memory,
        ).actions[0]

    assert action() == 2
    memory.fail([0], [0], [int(counts.index.find([[2]])[0])])
    assert action() == 1


class Dice:
    """Stands in for a forward model: action 0 lights lamp 1 surely, action 1 lamp 2 with ``p``."""

    def __init__(self, p):
        self.layout = ActionLayout.of(spaces.Discrete(2))
        off, on = [1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]
        self.logs = torch.tensor([[[on, off], [off, [1 - p, p]]]]).log()

    def foresee(self, observations, actions):
        return Outcomes(self.logs, AttributeLogits(np.array([2, 2])), np.int8)


@pytest.mark.parametrize(("p", "found"), [(0.2, True), (0.0005, False)])
def test_a_small_chance_to_meet_the_goal_is_taken_where_no_other_way_is_known(p, found):
    counts = TransitionCounts(AttributeSpace(["lamp 1", "lamp 2"]))
    counts.record([[0, 0]], [[1, 0]])
    choice = Foresight(Dice(p), rng=np.random.default_rng(0)).choose(
        {"achieved_goal": np.zeros((1, 2), np.int8)},
        np.array([[-1, 1]], np.int8),
        Planner(counts),
        envs=np.array([0]),
        nodes=np.array([0]),
        memory=None,
    )
    assert choice.found.tolist() == [found]
    if found:
        assert choice.actions.tolist() == [1]
        assert choice.vectors.tolist() == [[0, 1]]
        assert choice.costs[0] == pytest.approx(1e-3 - np.log(p))


def test_a_likely_neighbour_on_the_way_is_aimed_at_rather_than_an_unlikely_goal():
    counts = TransitionCounts(AttributeSpace(["lamp 1", "lamp 2"]))
    counts.record([[0, 0], [1, 0]], [[1, 0], [1, 1]])  # by the first lamp to the second: 2/3 each
    choice = Foresight(Dice(0.3), rng=np.random.default_rng(0)).choose(
        {"achieved_goal": np.zeros((1, 2), np.int8)},
        np.array([[-1, 1]], np.int8),
        Planner(counts),
        envs=np.array([0]),
        nodes=np.array([0]),
        memory=None,
    )
    assert choice.actions.tolist() == [0]
    assert choice.vectors.tolist() == [[1, 0]]


@pytest.mark.learning
def test_the_imagined_graph_has_an_edge_for_every_outcome(lamp):
    counts = lamp.imagine(rows_at(0, 0, 1))
    edges = counts.edges()
    found = {
        (int(counts.index.vectors([s])[0, 0]), int(counts.index.vectors([t])[0, 0])): (a, b)
        for s, t, a, b in zip(
            edges.source, edges.target, edges.attempts, edges.successes, strict=True
        )
    }
    assert found == {(0, 1): (2, 2), (0, 2): (2, 2), (1, 0): (1, 1), (1, 2): (1, 1)}


# --- buffers --------------------------------------------------------------------------------


def test_image_rows_are_kept_only_as_far_as_the_bytes_go():
    goal = spaces.Box(-1, 1, (1,), np.int8)
    image = spaces.Box(0, 255, (10, 10, 3), np.uint8)
    space = spaces.Dict({"observation": image, "achieved_goal": goal, "desired_goal": goal})
    attempts = AttemptBuffer(space, max_bytes=3_100)
    rows = {key: np.zeros((20, *part.shape), part.dtype) for key, part in space.spaces.items()}
    attempts.add_rows(rows, reached=np.ones(20, np.bool_))
    assert len(attempts) == 10
    examples = ExampleBuffer(space, spaces.Discrete(2), capacity=7)
    examples.add_step(rows, np.zeros(20, np.int64), np.ones((20, 1), np.int8))
    assert len(examples.examples) == 7
    assert examples.examples.next_attributes.tolist() == [[1]] * 7
