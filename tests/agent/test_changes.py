"""Hops that ask for changes: what they refuse, and that what is planned is what is asked for."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest
import torch
from archive_damage import unzipped, zipped
from test_planner_agent import FIRST, counter, counters, make_agent

from gym_attrplan import AttributePlannerAgent, PlannerOptions
from gym_attrplan.agent import PLANNERS
from gym_attrplan.agent.advice import AdviceWarning
from gym_attrplan.agent.environments import as_vec_env
from gym_attrplan.error import InvalidOption

# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"exploration_kwargs": {"n_steps": 8}}, "exploration_kwargs"),
        ({"exploration": "random"}, "exploration='random'"),
        ({"exploration": "surprise"}, "exploration='surprise'"),
        ({"practice": "visits"}, "practice='visits'"),
        ({"step_penalty": 0.1}, "step_penalty=0.1"),
        (
            {"low_level": "inverse", "hops": "changes", "low_level_kwargs": {}},
            'low_level="inverse"',
        ),
    ],
)
def test_what_goes_with_neighbours_only_is_refused_with_the_remedy(options, named):
    rule = rf'hops="changes" does not support {named}: .*Leave it out, or .* hops="neighbours"'
    with pytest.raises(InvalidOption, match=rule):
        make_agent(**options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", "beta_lower"),
        ("forward", False),
        ("edges", "table"),
        ("step_cost", 0.5),
    ],
)
def test_parts_of_the_planner_of_whole_descriptions_are_refused(name, value):
    rule = rf"{name}={value!r} weighs edges between whole descriptions.*hops='neighbours'"
    with pytest.raises(InvalidOption, match=rule):
        make_agent(planner=PlannerOptions(**{name: value}))


def test_another_planner_than_it_was_made_for_is_refused_and_the_old_one_stays():
    agent = make_agent()
    with pytest.raises(InvalidOption, match="make it with hops='neighbours' or planner='paper'"):
        agent.set_planner("paper")
    assert agent.planner_options == PLANNERS["robust"]


@pytest.mark.parametrize("options", [{"planner": "paper"}, {"low_level": "inverse"}])
def test_the_paper_and_an_inverse_model_mean_neighbours(options):
    options = {"low_level_kwargs": {}, "max_hop_steps": None, **options}
    assert make_agent(**options).options.hops == "neighbours"


# --- one model, one phase -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained():
    torch.set_num_threads(1)
    return make_agent().learn(3_000)


def test_one_model_hops_and_explores_in_one_phase(trained):
    assert trained.explorer is trained.low_level
    assert trained.steps_done == {"explore": 0, "hop": trained.num_timesteps}
    assert trained.counts.edges().attempts.sum() == 0
    assert trained.outcomes.table().attempts.sum() > 100


def test_a_given_hop_length_is_obeyed_and_none_follows_the_hops(trained):
    assert trained.navigator.max_hop_steps == 4
    free = make_agent(max_hop_steps=None, exploration_fraction=0.0).learn(3_000)
    assert free.navigator.max_hop_steps == free.hops.lengths.limit < 100


@pytest.mark.parametrize("options", [{}, {"hops": "neighbours"}], ids=["changes", "neighbours"])
def test_arguments_of_all_algorithms_give_way_to_their_own(options):
    own = {"n_steps": 32, "batch_size": 128, "learning_rate": 0.5}
    agent = make_agent(
        learning_rate=0.25,
        gamma=0.5,
        policy_kwargs={"net_arch": [7]},
        anneal=False,
        low_level_kwargs=own,
        **options,
    ).learn(256)
    assert agent.low_level.learning_rate == 0.5
    assert agent.explorer.learning_rate == (0.25 if options else 0.5)
    for model in (agent.low_level, agent.explorer):
        assert model.gamma == 0.5
        assert model.policy.net_arch == [7]


def test_a_file_from_before_there_were_changes_hops_to_neighbours(tmp_path):
    path = tmp_path / "agent.zip"
    make_agent(**FIRST).save(path)
    parts = unzipped(path.read_bytes())
    facts = json.loads(parts["agent.json"])
    for name in ("hops", "learning_rate", "gamma", "policy_kwargs"):
        del facts["options"][name]
    path.write_bytes(zipped({**parts, "agent.json": json.dumps(facts).encode()}))
    assert AttributePlannerAgent.load(path).options.hops == "neighbours"


def test_an_agent_of_one_kind_cannot_be_loaded_as_one_of_the_other(tmp_path):
    make_agent().save(tmp_path / "agent")
    with pytest.raises(InvalidOption, match="hops"):
        AttributePlannerAgent.load(tmp_path / "agent", hops="neighbours")


# --- what is planned is what is asked for -------------------------------------------------------


@pytest.fixture(scope="module", params=["counter", "AttrSwitches-v0", "MiniGrid-DoorKey-5x5-v0"])
def anywhere(request):
    """An agent with little practice in one of several environments."""
    torch.set_num_threads(1)
    env = counters(16) if request.param == "counter" else as_vec_env(request.param, n_envs=16)
    small = {"n_steps": 64, "batch_size": 256, "policy_kwargs": {"net_arch": [16]}}
    agent = AttributePlannerAgent(
        "MultiInputPolicy", env, seed=0, device="cpu", low_level_kwargs=small
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdviceWarning)
        return agent.learn(6_000)


def seen_with_goals(agent, n=300):
    """Observations from steps of chance, with descriptions as goals that a hop has ended in."""
    rng, venv = np.random.default_rng(0), agent.env
    venv.seed(0)
    rows, observations = [], venv.reset()
    while len(rows) < n:
        goals = agent.outcomes.index.vectors(rng.integers(len(agent.outcomes.index), size=n))
        for i in range(venv.num_envs):
            row = {key: part[i] for key, part in observations.items()}
            rows.append({**row, "desired_goal": goals[i]})
        observations = venv.step([venv.action_space.sample() for _ in range(venv.num_envs)])[0]
    return rows[:n]


@pytest.mark.filterwarnings("ignore::gym_attrplan.agent.advice.AdviceWarning")
def test_predict_heads_for_the_first_change_of_the_plan(anywhere):
    n_hops = []
    for observation in seen_with_goals(anywhere):
        here, goal = observation["achieved_goal"], observation["desired_goal"]
        plan = anywhere.plan(observation)
        if plan is None:
            continue
        n_hops.append(len(plan))
        if len(plan):
            state = anywhere.predict(observation)[1]
            assert state.targets[0].tolist() == plan.changes[0].tolist()
        else:
            assert here.tolist() == goal.tolist()
    assert len(n_hops) > 50
    assert max(n_hops) > 1


def test_by_the_paper_predict_heads_for_the_first_node_of_the_plan():
    agent = make_agent(planner="paper", **FIRST).learn(3_000)
    for goal in ("one", "two", "four", "not four, two, one", "four, two, one"):
        observation, _ = counter().reset(options={"goal": goal})
        plan, state = agent.plan(observation), agent.predict(observation)[1]
        assert plan.vectors[0].tolist() == [0, 0, 0]
        assert state.targets[0].tolist() == plan.vectors[1].tolist()


@pytest.mark.parametrize("options", [{}, FIRST], ids=["changes", "neighbours"])
def test_predict_leaves_the_state_that_it_was_given_as_it_was(options):
    agent = make_agent(**options).learn(1_000)
    venv = counters(3)
    venv.seed(0)
    observations, state = venv.reset(), None
    for _ in range(10):
        actions, state = agent.predict(observations, state, deterministic=True)
        before = pickle.dumps(state)
        observations = venv.step(actions)[0]
        _, after = agent.predict(observations, state, deterministic=True)
        assert pickle.dumps(state) == before
        assert pickle.dumps(after) != before
