"""Agents that add attributes: what is kept, what is undone, and how added ones are used."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv
from test_planner_agent import FIRST, QUICK
from testing_env import GenericTestEnv

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent import PlannerOptions, refining
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.agent.missing import Missing
from gym_attrplan.agent.refining import add_question
from gym_attrplan.error import InvalidAttributes, InvalidGoal, InvalidOption
from gym_attrplan.models.questions import Question

FAR = Question("observation", (), "is", 3.0)
"""Whether the count is 3, from where one step makes the bit of four."""


def counter():
    env = gym.wrappers.TimeLimit(GenericTestEnv(), 12)
    return AttributeWrapper(env, ["four"], lambda env, seen: [int(seen) >= 4])


def counters(n=4):
    return DummyVecEnv([counter] * n)


def make_agent(**options):
    torch.set_num_threads(1)
    return AttributePlannerAgent("MultiInputPolicy", counters(), **{**QUICK, **options})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("refined") / "agent.zip"
    make_agent(max_hop_steps=2).learn(1_500).save(file)
    return file


@pytest.fixture
def agent(saved):
    return AttributePlannerAgent.load(saved, env=counters())


def found(question=FAR):
    return Missing("four", question, str(question), "not four", (9, 9), (0, 9), n=18, lost=0.5)


def solving(*shares):
    """Stand-in for the tasks before and after: shares of ten."""
    shares = iter(shares)

    def solve(agent, goals, n_tasks):
        solved = np.arange(10) < 10 * next(shares)
        return TaskResult(solved, np.ones(10, np.int64))

    return solve


# --- an attribute is added ----------------------------------------------------------------------


def test_the_policy_acts_as_before_and_attempts_are_counted_again(agent):
    before = agent.low_level.policy
    n_attempts, reached = len(agent.attempts), agent.attempts.reached.copy()
    seen = agent.hops.reset()
    old = before.get_distribution(before.obs_to_tensor(seen)[0]).distribution.logits
    add_question(agent, "at three", FAR)
    assert agent.attribute_space.names == ("four", "at three")
    rows = agent.added.extend({**seen, "desired_goal": seen["desired_goal"]})
    after = agent.low_level.policy
    new = after.get_distribution(after.obs_to_tensor(rows)[0]).distribution.logits
    torch.testing.assert_close(old, new)
    assert len(agent.attempts) == n_attempts
    np.testing.assert_array_equal(agent.attempts.reached, reached)
    starts = agent.attempts.observations
    np.testing.assert_array_equal(starts["achieved_goal"][:, 1], starts["observation"] == 3)
    assert agent.outcomes.table().attempts.sum() == pytest.approx(n_attempts)
    assert agent.outcomes.success_rates([[0, 1]], [[1, -1]]) > agent.outcomes.success_rates(
        [[0, 0]], [[1, -1]]
    )


@pytest.mark.parametrize(
    "policy_kwargs",
    [{}, {"net_arch": []}],
)
def test_any_depth_of_network_grows(policy_kwargs):
    agent = make_agent(policy_kwargs=policy_kwargs).learn(200)
    add_question(agent, "at three", FAR)
    agent.learn(200, reset_num_timesteps=False)
    assert agent.num_timesteps >= 400


@pytest.mark.parametrize("low_level", ["dqn", "a2c", "recurrent_ppo"])
def test_other_algorithms_grow_too(low_level):
    agent = AttributePlannerAgent(
        "MultiInputPolicy", counters(), low_level=low_level, max_hop_steps=4, seed=0
    ).learn(300)
    add_question(agent, "at three", FAR)
    agent.learn(200, reset_num_timesteps=False)
    assert agent.attempts.observations["achieved_goal"].shape[1] == 2


# --- what is kept, and what is undone -----------------------------------------------------------


def test_an_attribute_that_helps_is_kept_and_practised(agent, monkeypatch):
    monkeypatch.setattr(refining, "_solve", solving(0.5, 0.9))
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [found()])
    n_steps, done = agent.num_timesteps, agent.steps_done["hop"]
    (one,) = agent.refine(total_timesteps=300)
    assert one.kept
    assert agent.steps_done["hop"] - done == agent.num_timesteps - n_steps
    assert str(one).startswith("'observation is 3': solves 90.0% of 10 tasks")
    assert str(one).endswith("50.0% before; kept")
    assert agent.options.questions == {"observation is 3": FAR}
    assert agent.num_timesteps >= n_steps + 300
    assert (agent.attempts.observations["desired_goal"][:, 1] >= 0).any()  # it was asked for


def test_one_that_does_not_is_removed_with_all_that_was_learned_since(agent, monkeypatch):
    monkeypatch.setattr(refining, "_solve", solving(0.5, 0.5))
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [found()])
    weights = {name: one.clone() for name, one in agent.low_level.policy.state_dict().items()}
    outcomes, n_steps = agent.outcomes.to_arrays(), agent.num_timesteps
    (one,) = agent.refine(total_timesteps=300)
    assert not one.kept
    assert str(one).endswith("removed again")
    assert agent.options.questions == {}
    assert agent.attribute_space.names == ("four",)
    assert agent.num_timesteps == n_steps
    torch.testing.assert_close(dict(agent.low_level.policy.state_dict()), weights)
    for name, counted in agent.outcomes.to_arrays().items():
        np.testing.assert_array_equal(counted, outcomes[name])


def test_nothing_is_added_if_nothing_is_missing_or_all_tasks_are_solved(agent, monkeypatch):
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [])
    assert agent.refine(total_timesteps=300) == []
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [found()])
    monkeypatch.setattr(refining, "_solve", solving(1.0))
    assert agent.refine(total_timesteps=300) == []
    assert agent.options.questions == {}


def test_a_person_names_attributes_and_refuses_others(agent, monkeypatch):
    other = Question("observation", (), "is", 1.0)
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [found(other), found()])
    monkeypatch.setattr(refining, "_solve", solving(0.5, 0.9, 0.9))
    shown = []

    def ask(missing):
        shown.append(missing.asked)
        return "at three" if missing.question == FAR else None

    (one,) = agent.refine(2, 200, ask=ask)
    assert shown == ["observation is 1", "observation is 3"]
    assert one.name == "at three"
    assert agent.attribute_space.names == ("four", "at three")


# --- attributes that plans leave out ------------------------------------------------------------


@pytest.fixture
def with_lamp(monkeypatch):
    """An agent with a second attribute, on which nothing depends."""
    agent = make_agent(questions={"odd": Question("observation", (), "above", 2.0)}).learn(600)
    monkeypatch.setattr(type(agent), "find_missing", lambda self: [])
    monkeypatch.setattr(
        refining,
        "find_needless",
        lambda rows, reached, space: ["odd"] if rows["achieved_goal"][:, 1].any() else [],
    )
    return agent


@pytest.mark.parametrize(("after", "kept"), [(0.5, True), (0.4, False)])
def test_plans_do_without_an_attribute_if_no_fewer_tasks_are_solved(
    with_lamp, monkeypatch, after, kept
):
    monkeypatch.setattr(refining, "_solve", solving(0.5, after))
    assert with_lamp.refine() == []
    (one,) = with_lamp.refine(drop=True)
    assert (one.names, one.kept) == (("odd",), kept)
    assert str(one).startswith("plans without odd: solves")
    assert with_lamp.planner_options.ignore == (("odd",) if kept else None)
    if kept:
        assert with_lamp.refine(drop=True) == []  # there is nothing else to leave out


def test_what_plans_ignore_is_saved_and_renamed_with_the_agent(with_lamp, tmp_path):
    with_lamp.set_planner(PlannerOptions(ignore=("odd",)))
    with_lamp.name_attribute("odd", "far")
    with_lamp.save(tmp_path / "agent")
    loaded = AttributePlannerAgent.load(tmp_path / "agent")
    assert loaded.planner_options.ignore == ("far",)
    observation, _ = counter().reset(seed=0)
    assert loaded.plan(observation, "four").hops[-1] == "four"


@pytest.mark.parametrize("ignored", [("five",), ("four",)])
def test_what_plans_cannot_ignore_is_refused(ignored):
    with pytest.raises(InvalidOption, match=r"ignore names some of the attributes \['four'\]"):
        make_agent(planner=PlannerOptions(ignore=ignored))
    agent = make_agent()
    with pytest.raises(InvalidOption, match=f"received {list(ignored)!r}".replace("[", r"\[")):
        agent.set_planner(PlannerOptions(ignore=ignored))
    assert agent.planner_options.ignore is None
    with pytest.raises(InvalidOption, match="needs hops that ask for changes"):
        make_agent(**{**FIRST, "planner": PlannerOptions(ignore=ignored)})


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"n_new": 0}, "n_new is at least 1; received 0"),
        ({"total_timesteps": 0}, "total_timesteps is at least 1; received 0"),
        ({"n_tasks": 0}, "n_tasks is at least 1; received 0"),
    ],
)
def test_numbers_out_of_range_are_refused(agent, options, rule):
    with pytest.raises(InvalidOption, match=rule):
        agent.refine(**options)


def test_agents_that_cannot_be_refined_say_why():
    with pytest.raises(InvalidOption, match=r"call learn\(\) first"):
        make_agent().refine()
    with pytest.raises(InvalidOption, match='hops="neighbours"'):
        make_agent(**FIRST).refine()


# --- how added attributes are used --------------------------------------------------------------


@pytest.fixture
def refined(agent):
    add_question(agent, "at three", FAR)
    return agent.learn(600, reset_num_timesteps=False)


def test_goals_name_it_and_environments_stay_as_they_were(refined):
    env = counter()
    observation, _ = env.reset(seed=0, options={"goal": [1]})
    assert observation["achieved_goal"].shape == (1,)
    action, state = refined.predict(observation, goal="at three")
    assert action in (0, 1)
    assert state.goals.shape == (1, 2)
    plan = refined.plan(observation, "at three")
    assert plan.vectors[-1, 1] == 1
    np.testing.assert_array_equal(
        refined.plan(observation).vectors, refined.plan(observation, [1]).vectors
    )
    shown, _ = refined.extend(env).reset(seed=0, options={"goal": "four"})
    assert shown["achieved_goal"].tolist() == [0, 0]
    assert shown["desired_goal"].tolist() == [1, -1]
    assert refined.predict(shown)[0] in (0, 1)


def test_tasks_ask_for_what_environments_can_judge(refined):
    result = evaluate_tasks(refined, counters(), n_tasks=8, goals=["four"])
    assert result.n == 8
    assert evaluate_tasks(refined, counters(), n_tasks=8).n == 8
    rule = "environments judge their own attributes, four; received a goal with one of at three"
    with pytest.raises(InvalidGoal, match=rule):
        evaluate_tasks(refined, counters(), n_tasks=8, goals=["at three"])
    with pytest.raises(InvalidGoal, match=rule):
        refined.extend(counter()).reset(options={"goal": "at three"})


def test_it_is_saved_loaded_and_goes_on_in_environments_without_it(refined, tmp_path):
    refined.save(tmp_path / "agent")
    alone = AttributePlannerAgent.load(tmp_path / "agent")
    assert alone.options.questions == {"at three": FAR}
    observation, _ = counter().reset(seed=0)
    assert (
        alone.predict(observation, deterministic=True)[0]
        == (refined.predict(observation, deterministic=True)[0])
    )
    again = AttributePlannerAgent.load(tmp_path / "agent", env=counters())
    again.learn(100, reset_num_timesteps=False)
    assert again.attribute_space.names == ("four", "at three")


def test_it_gets_another_name(refined):
    counted = refined.outcomes.to_arrays()
    refined.name_attribute("at three", "nearly four")
    assert refined.attribute_space.names == ("four", "nearly four")
    for name, array in refined.outcomes.to_arrays().items():
        np.testing.assert_array_equal(array, counted[name])
    with pytest.raises(InvalidOption, match=r"has added \['nearly four'\]; received 'at three'"):
        refined.name_attribute("at three", "else")
    with pytest.raises(InvalidOption, match="there is an attribute 'four' already"):
        refined.name_attribute("nearly four", "four")
    with pytest.raises(InvalidAttributes, match="may not hold '='"):
        refined.name_attribute("nearly four", "a=b")


@pytest.mark.parametrize(
    ("question", "rule"),
    [
        (Question("nowhere", (), "is", 3.0), r"about one of \['observation'\]; received 'nowhere'"),
        (Question("achieved_goal", (0,), "is", 3.0), "received 'achieved_goal'"),
        (Question("observation", (), "like", 3.0), "kind is one of .*; received 'like'"),
        (Question("observation", (2,), "is", 3.0), r"asks for an index of \(\); received \(2,\)"),
        (Question("observation", (), "has", 3.0, (1,)), r"received \(1,\)"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(question, rule):
    with pytest.raises(InvalidOption, match=rule):
        make_agent(questions={"new": question})


def test_a_name_that_the_environments_have_is_refused():
    with pytest.raises(InvalidOption, match="have an attribute 'four' already"):
        make_agent(questions={"four": FAR})
