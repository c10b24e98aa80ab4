"""The agent as a user holds it, on a counter that a hop policy learns in seconds."""

from __future__ import annotations

import json
import os
import zipfile
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CheckpointCallback,
    EvalCallback,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper, PlannerOptions
from gym_attrplan.agent.advice import AdviceWarning
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.error import (
    InvalidArchive,
    InvalidEnvironment,
    InvalidGoal,
    InvalidOption,
)

BITS = ["four", "two", "one"]
QUICK = {
    "seed": 0,
    "max_hop_steps": 4,
    "low_level_kwargs": {"n_steps": 32, "batch_size": 128},
}
FIRST = {"hops": "neighbours", "exploration_kwargs": {"n_steps": 32, "batch_size": 128}}
"""Explores first, and hops to whole neighbouring descriptions, as in the paper."""
EACH = pytest.mark.parametrize(
    "options", [{}, pytest.param(FIRST, marks=pytest.mark.slow)], ids=["changes", "neighbours"]
)


def any_count(achieved, rng):
    return rng.integers(2, size=achieved.shape, dtype=np.int8)


def counter(limit=30, **options):
    env = gym.wrappers.TimeLimit(GenericTestEnv(**options), limit)
    return AttributeWrapper(env, BITS, three_bits, goal_sampler=any_count)


def counters(n=8):
    return DummyVecEnv([lambda: Monitor(counter())] * n)


def make_agent(env=None, **options):
    return AttributePlannerAgent("MultiInputPolicy", env or counters(), **{**QUICK, **options})


@pytest.fixture(scope="module")
def trained(seed):
    torch.set_num_threads(1)
    return make_agent(seed=seed).learn(6_000)


@pytest.fixture(scope="module")
def to_neighbours(seed):
    torch.set_num_threads(1)
    return make_agent(seed=seed, **FIRST).learn(6_000)


@pytest.mark.learning
@pytest.mark.parametrize("which", ["trained", "to_neighbours"])
def test_it_reaches_goals_it_was_never_trained_on(which, request, seed):
    agent = request.getfixturevalue(which)
    assert agent.counts.n_nodes == 8
    assert agent.counts.n_edges == 8
    mean_reward, _ = evaluate_policy(agent, counters(), n_eval_episodes=40, warn=False)
    assert mean_reward == 1.0


@pytest.mark.learning
def test_the_plan_asks_for_one_bit_after_the_other(trained):
    """The hop to 'two' leads through 001: what it does not ask for may change."""
    observation, _ = counter().reset(seed=0, options={"goal": "not four, two, one"})
    plan = trained.plan(observation)
    assert plan.changes.tolist() == [[-1, 1, -1], [-1, -1, 1]]
    assert plan.vectors.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert 0.5 < plan.success_prob <= 1.0
    assert trained.plan(observation, "four").changes.tolist() == [[1, -1, -1]]
    assert "2 hops" in plan.describe()


@pytest.mark.learning
def test_the_plan_to_neighbours_goes_round_the_counter(to_neighbours):
    observation, _ = counter().reset(seed=0, options={"goal": "not four, two, one"})
    plan = to_neighbours.plan(observation)
    assert plan.vectors.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert 0.5 < plan.success_prob <= 1.0
    assert len(to_neighbours.plan(observation, "four").nodes) == 5
    assert "3 hops" in plan.describe()


@pytest.mark.learning
def test_predict_takes_one_or_a_batch_and_carries_the_plan_in_its_state(trained):
    env = counter()
    observation, _ = env.reset(options={"goal": "four"})
    state = None
    for _ in range(4):
        action, state = trained.predict(observation, state, deterministic=True)
        assert np.shape(action) == ()
        observation, _, terminated, _, _ = env.step(int(action))
    assert terminated
    batch = {key: np.stack([part] * 5) for key, part in observation.items()}
    actions, state = trained.predict(batch)
    assert actions.shape == (5,)
    assert len(state.targets) == 5


@pytest.mark.learning
def test_partly_specified_goals_and_a_goal_nobody_can_reach(trained, seed):
    env = counter()
    observation, _ = env.reset(options={"goal": "two"})
    assert trained.plan(observation).vectors.tolist() == [[0, 0, 0], [0, 1, 0]]
    with pytest.warns(AdviceWarning, match="'four' never changed while exploring") as told:
        lonely = make_agent(counter(ends_at=2), seed=seed).learn(1_000)
    advised = {one.filename for one in told if one.category is AdviceWarning}
    assert advised == {__file__}  # at the line that called the library
    observation, _ = env.reset(options={"goal": "four, one"})
    with pytest.warns(AdviceWarning, match="no explored description meets 'four, one'"):
        assert lonely.plan(observation) is None
    action, state = lonely.predict(observation, deterministic=True)
    assert action in (0, 1)
    assert state.targets.tolist() == [[-1, -1, 1]]  # it heads for what comes nearest


@pytest.mark.learning
def test_the_papers_planner_works_on_the_same_agent(to_neighbours):
    to_neighbours.set_planner("paper")
    mean_reward, _ = evaluate_policy(to_neighbours, counters(), n_eval_episodes=24, warn=False)
    to_neighbours.set_planner("robust")
    assert mean_reward == 1.0


def test_the_papers_planner_samples_actions_even_when_asked_not_to():
    def actions(planner):
        agent = make_agent(planner=planner, hops="neighbours")
        agent.counts.record([0, 0, 0], [0, 0, 1])
        agent.counts.attempt([0, 0, 0], [0, 0, 1], True)
        observation, _ = counter().reset(options={"goal": "one"})
        batch = {key: np.stack([part] * 100) for key, part in observation.items()}
        return set(agent.predict(batch, deterministic=True)[0].tolist())

    assert actions("paper") == {0, 1}
    assert len(actions("robust")) == 1


@pytest.mark.parametrize("kind", ["gym", "vec_env", "vector"])
def test_it_learns_in_one_environment_a_vec_env_or_a_vector(kind):
    env = {
        "gym": counter,
        "vec_env": counters,
        "vector": lambda: SyncVectorEnv([counter] * 4, autoreset_mode="SameStep"),
    }[kind]()
    agent = make_agent(env).learn(600)
    assert agent.num_timesteps >= 600
    assert agent.counts.n_edges >= 4


@EACH
def test_worlds_in_processes_survive_hops_to_nowhere_and_are_not_needed_to_save(options, tmp_path):
    make = partial(gym.make, "gym_attrplan:AttrSwitches-v0")
    worlds = SubprocVecEnv([make] * 2, start_method="spawn")
    agent = make_agent(worlds, exploration_fraction=0.0, **options).learn(64)  # nothing is known
    worlds.close()
    agent.save(tmp_path / "agent")
    assert AttributePlannerAgent.load(tmp_path / "agent").num_timesteps == agent.num_timesteps


HOPPERS = {
    "ppo": {"n_steps": 32, "batch_size": 128},
    "a2c": {"learning_rate": 5e-3},
    "reinforce": {"n_steps": 32, "learning_rate": 5e-3},
    "dqn": {"learning_starts": 100, "gradient_steps": 16, "target_update_interval": 100},
}


TO_NEIGHBOURS = ("a2c", "reinforce")
"""With one update a rollout, some of twenty seeds stop counting when hops ask for changes."""


@pytest.mark.learning
@pytest.mark.parametrize("low_level", HOPPERS)
def test_any_sb3_algorithm_learns_to_hop(low_level, seed):
    """In 7 steps all counts are reached without a wasted one, and half of them by a coin."""
    options = FIRST if low_level in TO_NEIGHBOURS else {}
    options = {**options, "low_level_kwargs": HOPPERS[low_level], "seed": seed}
    agent = make_agent(low_level=low_level, **options).learn(3_000)
    tests = DummyVecEnv([lambda: Monitor(counter(limit=7))] * 8)
    assert evaluate_tasks(agent, tests, n_tasks=80, seed=1).rate > 0.8


def test_an_algorithm_is_given_by_its_class_too():
    assert isinstance(make_agent(low_level=PPO).low_level, PPO)


@pytest.mark.learning
@pytest.mark.parametrize("exploration", ["random", "bonus", "count_bonus"])
def test_every_way_to_explore_counts_transitions(exploration, seed):
    options = {"exploration": exploration, "exploration_fraction": 1.0, "seed": seed}
    agent = make_agent(**FIRST, **options).learn(512)
    assert agent.counts.n_edges == 8
    assert agent.counts.edges().attempts.sum() == 0


@pytest.mark.learning
@pytest.mark.parametrize("exploration", ["bonus", "count_bonus"])
def test_practice_may_be_exploring_alone(exploration, seed):
    options = {"exploration": exploration, "exploration_fraction": 1.0, "seed": seed}
    agent = make_agent(**options).learn(512)
    assert agent.counts.n_edges == 8
    assert len(agent.outcomes) == 0


class Watch(BaseCallback):
    def __init__(self, stop_at=None):
        super().__init__()
        self.seen, self.models, self.stop_at = [], set(), stop_at

    def _on_step(self):
        self.seen.append(self.num_timesteps)
        self.models.add(id(self.model))
        return self.stop_at is None or self.num_timesteps < self.stop_at


@EACH
def test_callbacks_see_the_agent_and_one_clock_over_all_phases(options):
    agent, watch = make_agent(**options), Watch()
    agent.learn(2_000, callback=watch)
    assert watch.models == {id(agent)}
    assert watch.seen == sorted(set(watch.seen))
    assert watch.seen[-1] == agent.num_timesteps == sum(agent.steps_done.values())
    assert agent.steps_done["hop"] > 0
    assert agent.steps_done["explore"] > 0 if options else agent.steps_done["explore"] == 0


@EACH
def test_false_from_a_callback_stops_all_phases(options):
    agent = make_agent(**options).learn(2_000, callback=Watch(stop_at=200))
    assert agent.num_timesteps == 200
    assert agent.steps_done["explore" if options else "hop"] == 200


def test_learning_goes_on_in_the_phase_where_it_stopped():
    agent = make_agent(**FIRST).learn(2_000, callback=Watch(stop_at=200))
    agent.learn(1_800, reset_num_timesteps=False)
    straight = make_agent(**FIRST).learn(2_000)
    assert agent.steps_done["explore"] == pytest.approx(straight.steps_done["explore"], abs=256)
    explored = agent.steps_done["explore"]
    agent.learn(500, reset_num_timesteps=False)
    assert agent.steps_done["explore"] == explored


@pytest.mark.parametrize("options", [{}, FIRST], ids=["changes", "neighbours"])
def test_where_no_attribute_ever_changes_training_stops_early_and_says_so(options, monkeypatch):
    monkeypatch.setattr("gym_attrplan.agent.training.PATIENCE", 500)
    env = gym.wrappers.TimeLimit(GenericTestEnv(), 30)
    still = AttributeWrapper(env, ["lit"], lambda env, seen: [0])
    with pytest.warns(AdviceWarning, match="training stopped early: exploring never saw"):
        agent = make_agent(still, **options).learn(50_000)
    assert agent.num_timesteps == 500


@EACH
def test_ctrl_c_keeps_what_was_learned(options):
    class Interrupt(BaseCallback):
        def _on_step(self):
            if self.num_timesteps >= 3_000:
                raise KeyboardInterrupt
            return True

    agent = make_agent(**options)
    with pytest.raises(KeyboardInterrupt):
        agent.learn(6_000, callback=Interrupt())
    assert agent.num_timesteps == 3_000
    assert (agent.success_model is None) == agent.options.asks_for_changes
    assert agent.plan(counter().reset(options={"goal": "two"})[0]) is not None
    assert agent.env.envs[0].get_wrapper_attr("terminate_on_success")
    agent.learn(3_000, reset_num_timesteps=False)
    assert agent.num_timesteps >= 6_000


@pytest.mark.learning
def test_eval_callbacks_best_model_is_an_agent_that_plans(seed, tmp_path):
    stop = StopTrainingOnRewardThreshold(1.0)
    evaluation = EvalCallback(
        counters(4),
        best_model_save_path=str(tmp_path),
        callback_on_new_best=stop,
        n_eval_episodes=8,
        eval_freq=100,
        verbose=0,
    )
    agent = make_agent(seed=seed)
    agent.learn(20_000, callback=evaluation)
    assert agent.num_timesteps < 20_000  # it was good enough before
    best = AttributePlannerAgent.load(tmp_path / "best_model")
    observation, _ = counter().reset(options={"goal": "four"})
    assert best.plan(observation).vectors[-1].tolist() == [1, 0, 0]


@EACH
def test_a_killed_run_resumes_from_its_last_checkpoint(options, tmp_path):
    checkpoints = CheckpointCallback(50, str(tmp_path))  # every 400 steps of 8 worlds
    agent = make_agent(**options)
    agent.learn(3_000, callback=[checkpoints, Watch(stop_at=2_500)])
    newest = max(tmp_path.glob("*.zip"), key=lambda path: int(path.stem.split("_")[-2]))
    again = AttributePlannerAgent.load(newest, env=counters())
    assert agent.num_timesteps - again.num_timesteps <= 400
    again.learn(3_000 - again.num_timesteps, reset_num_timesteps=False)
    assert again.steps_done["explore"] == agent.steps_done["explore"]
    assert again.num_timesteps >= 3_000


def test_a_checkpoint_of_the_first_phase_knows_how_far_it_was(tmp_path):
    checkpoints = CheckpointCallback(20, str(tmp_path))  # every 160 steps of 8 worlds
    make_agent(**FIRST).learn(2_000, callback=[checkpoints, Watch(stop_at=200)])
    again = AttributePlannerAgent.load(next(tmp_path.glob("*.zip")))
    assert again.steps_done == {"explore": 160, "hop": 0}


def test_a_saved_agent_acts_as_before(trained, tmp_path):
    trained.save(tmp_path / "agent.zip")
    again = AttributePlannerAgent.load(tmp_path / "agent.zip", env=counters())
    rng = np.random.default_rng(0)
    counts = rng.integers(8, size=1_000)
    observations = {
        "observation": counts,
        "achieved_goal": np.stack([counts >> 2 & 1, counts >> 1 & 1, counts & 1], 1).astype(
            np.int8
        ),
        "desired_goal": rng.integers(2, size=(1_000, 3), dtype=np.int8),
    }
    ours, _ = trained.predict(observations, deterministic=True)
    theirs, _ = again.predict(observations, deterministic=True)
    np.testing.assert_array_equal(ours, theirs)
    assert again.num_timesteps == trained.num_timesteps
    assert again.planner_options == trained.planner_options
    again.learn(300, reset_num_timesteps=False)


def test_the_archive_is_data_and_a_failed_save_leaves_the_old_one(trained, tmp_path, monkeypatch):
    path = tmp_path / "agent.zip"
    trained.save(path)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if name.endswith((".pkl", ".pth", ".pt"))]
        json.loads(archive.read("agent.json"))
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        trained.save(path)
    assert path.read_bytes() == before


def rewrite(path, change):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def from_the_future(parts):
    manifest = json.loads(parts["manifest.json"])
    parts["manifest.json"] = json.dumps({**manifest, "format": 99}).encode()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:300]), "damaged"),
        (lambda path: path.write_text("hello"), "does not hold an agent"),
        (lambda path: PPO("MultiInputPolicy", counters(1)).save(path), "does not hold an agent"),
        (lambda path: rewrite(path, from_the_future), "pip install --upgrade"),
        (lambda path: rewrite(path, lambda parts: parts.update({"counts.npz": b"x"})), "damaged"),
        (lambda path: rewrite(path, lambda parts: parts.pop("weights.json")), "damaged"),
        (lambda path: path.unlink(), "no file"),
    ],
)
def test_a_file_that_is_no_agent_is_refused(trained, tmp_path, spoil, message):
    path = tmp_path / "agent.zip"
    trained.save(path)
    spoil(path)
    with pytest.raises(InvalidArchive, match=message):
        AttributePlannerAgent.load(path)


@pytest.mark.learning
def test_an_agent_without_worlds_acts_but_does_not_learn(trained, tmp_path):
    trained.save(tmp_path / "agent")
    again = AttributePlannerAgent.load(tmp_path / "agent")
    observation, _ = counter().reset(options={"goal": "four"})
    assert again.predict(observation, deterministic=True)[0] == 1
    with pytest.raises(InvalidEnvironment, match="set_env"):
        again.learn(100)


def test_worlds_of_another_kind_are_refused(trained):
    other = AttributeWrapper(GenericTestEnv(), ["x", "y", "z"], three_bits)
    with pytest.raises(InvalidEnvironment, match="attributes"):
        trained.set_env(other)


def test_wrong_environments_and_options_are_named():
    with pytest.raises(InvalidEnvironment, match="AttributeWrapper"):
        make_agent(gym.make("CartPole-v1"))
    with pytest.raises(InvalidEnvironment, match="SAME_STEP"):
        make_agent(SyncVectorEnv([counter]))
    with pytest.raises(InvalidEnvironment, match="these can: a2c, dqn, inverse, ppo, reinforce"):
        make_agent(low_level="sac", low_level_kwargs={})
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_hops'"):
        make_agent(max_hops=3)
    with pytest.raises(InvalidOption, match="exploration is one of"):
        make_agent(exploration="curious")
    with pytest.raises(InvalidOption, match="hops is one of"):
        make_agent(hops="leaps")
    with pytest.raises(InvalidOption, match="practice is one of"):
        make_agent(practice="luck")
    with pytest.raises(InvalidOption, match="low_level is"):
        make_agent(low_level="xyz")
    with pytest.raises(InvalidOption, match="decay is from 0 to 1"):
        make_agent(decay=2.0)


@pytest.mark.parametrize("value", [lambda progress: 1e-3, object()])
def test_hyper_parameters_that_are_code_are_refused_at_construction(value):
    with pytest.raises(InvalidOption, match=r"learning_rate.*may not be code.*callback"):
        make_agent(low_level_kwargs={"learning_rate": value})


def test_observations_of_the_wrong_form_are_refused(trained):
    with pytest.raises(InvalidEnvironment, match="achieved_goal"):
        trained.predict(np.zeros(3))
    row = {"observation": 0, "achieved_goal": np.zeros(3, np.int8)}
    with pytest.raises(InvalidGoal, match=r"received shape \(2,\)"):
        trained.predict({**row, "desired_goal": np.zeros(2, np.int8)})


@EACH
def test_figures_are_logged_by_phase(options, tmp_path):
    agent = make_agent(tensorboard_log=str(tmp_path), verbose=0, **options)
    agent.learn(1_500)
    events = list(tmp_path.rglob("events*"))
    assert len(events) == 1
    raw = events[0].read_bytes()
    for key in (b"hop/success", b"hop/hops", b"hop/nodes", b"hop/edges", b"plan/nodes"):
        assert key in raw
    assert (b"explore/edges" in raw) == bool(options)


def test_equal_seeds_make_equal_agents():
    def weights():
        agent = make_agent(seed=7).learn(600)
        return torch.cat([part.flatten() for part in agent.low_level.policy.parameters()])

    assert torch.equal(weights(), weights())


@pytest.mark.learning
def test_each_planner_part_is_its_own_switch(to_neighbours):
    to_neighbours.set_planner(PlannerOptions(estimator="exploration_share", memory=False))
    mean_reward, _ = evaluate_policy(to_neighbours, counters(), n_eval_episodes=16, warn=False)
    to_neighbours.set_planner("robust")
    assert mean_reward == 1.0


@pytest.mark.learning
def test_plans_of_changes_are_followed_without_memory_and_by_sampling_too(trained):
    trained.set_planner(PlannerOptions(memory=False, sample_actions=True))
    mean_reward, _ = evaluate_policy(trained, counters(), n_eval_episodes=16, warn=False)
    trained.set_planner("robust")
    assert mean_reward == 1.0
