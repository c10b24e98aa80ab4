"""RecurrentPPO in hops: its memory lasts for an episode, over all hops and goals."""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation, TimeLimit
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributePlannerAgent, AttributeWrapper
from gym_attrplan.agent.bounds import check_buffers
from gym_attrplan.agent.evaluation import evaluate_tasks
from gym_attrplan.agent.trail import CAME_FROM
from gym_attrplan.algorithms.memory import BEGUN
from gym_attrplan.algorithms.memory_policy import MAX_SEQUENCE, PADDING
from gym_attrplan.error import DependencyNotInstalled, InvalidOption
from gym_attrplan.models.networks import FrameStackView, RunningNorm
from gym_attrplan.report.calibration import try_edges

BITS = ["four", "two", "one"]
SMALL = {"n_steps": 80, "batch_size": 64, "policy_kwargs": {"lstm_hidden_size": 16}}
CUT_AT = 30


def counter():
    return AttributeWrapper(TimeLimit(GenericTestEnv(), CUT_AT), BITS, three_bits)


def counters(n=3):
    return DummyVecEnv([counter] * n)


def make_agent(env=None, **options):
    given = {"low_level": "recurrent_ppo", "low_level_kwargs": SMALL, "seed": 0, "device": "cpu"}
    return AttributePlannerAgent("MultiInputPolicy", env or counters(), **given | options)


@pytest.fixture(scope="module")
def agent():
    return make_agent().learn(240)


class Rollouts(BaseCallback):
    """Looks at every rollout before it is learned from."""

    def __init__(self, look):
        super().__init__()
        self.look, self.dones, self.over = look, [], []

    def _on_step(self):
        self.dones.append(self.locals["dones"].copy())
        self.over.append(self.model.hops.over.copy())
        return True

    def _on_rollout_end(self):
        self.look(self.model.low_level, np.array(self.dones), np.array(self.over))
        self.dones, self.over = [], []


# --- practice -----------------------------------------------------------------------------------


def test_an_episode_begins_with_the_environments_and_not_with_a_hop():
    hops = make_agent().hops
    assert hops.reset()[BEGUN].tolist() == [[1]] * 3
    n_hops = 0
    for _ in range(2 * CUT_AT):
        observations, _, dones, infos = hops.step(np.ones(3, np.int64))
        assert observations[BEGUN][:, 0].tolist() == hops.over.tolist()
        n_hops += int((dones & ~hops.over).sum())
        for i in np.flatnonzero(dones):
            assert infos[i]["terminal_observation"][BEGUN].tolist() == [0]
    assert n_hops > 10


def test_the_memory_in_practice_lasts_over_hops_and_is_empty_when_an_episode_begins():
    seen = []

    def look(model, dones, over):
        buffer, lstm = model.rollout_buffer, model.policy.lstm_actor
        begun = buffer.observations[BEGUN][:, :, 0]
        np.testing.assert_array_equal(begun[1:], over[:-1])
        assert (dones & ~over).sum() > 10  # hops end within episodes
        for t in range(len(begun) - 1):
            now = {key: part[t] for key, part in buffer.observations.items()}
            states = np.stack([buffer.hidden_states_pi[t], buffer.cell_states_pi[t]])
            before = torch.as_tensor(states) * torch.as_tensor(1 - begun[t]).view(1, 1, -1, 1)
            with torch.no_grad():
                features = model.policy.extract_features(model.policy.obs_to_tensor(now)[0])
                _, (after, _) = lstm(features[None], tuple(before))
            np.testing.assert_allclose(after, buffer.hidden_states_pi[t + 1], atol=1e-5)
        seen.append(len(begun))

    make_agent().learn(480, Rollouts(look))
    assert seen == [80, 80]


def test_a_rollout_is_learned_from_as_it_was_played():
    """Before the first update, sequences give every action the probability it was drawn with."""
    sizes = []

    def look(model, dones, over):
        model.policy.set_training_mode(True)
        for batch in model.rollout_buffer.get(64):
            real = batch.mask > 0
            assert ((batch.observations[BEGUN][:, 0] == PADDING) == ~real).all()
            assert len(real) // batch.lstm_states.pi[0].shape[1] <= MAX_SEQUENCE
            _, log_probs, _ = model.policy.evaluate_actions(
                batch.observations,
                batch.actions.long().flatten(),
                batch.lstm_states,
                batch.episode_starts,
            )
            np.testing.assert_allclose(
                log_probs[real].detach(), batch.old_log_prob[real], atol=1e-4
            )
            sizes.append(int(real.sum()))

    make_agent().learn(240, Rollouts(look))
    assert sum(sizes) == 240


def test_sequences_begin_with_episodes_and_not_with_hops():
    def look(model, dones, over):
        assert (dones & ~over).sum() > 10
        wanted = model.rollout_buffer.observations[BEGUN][:, :, 0].copy()
        wanted[[0, MAX_SEQUENCE]] = 1
        np.testing.assert_array_equal(model.rollout_buffer.episode_starts, wanted)

    make_agent().learn(240, Rollouts(look))


def test_padding_counts_in_no_statistics():
    env = AttributeWrapper(
        TimeLimit(
            GenericTestEnv(spaces.Box(0, 9, (1,)), observe=lambda n: np.full(1, 5.0, np.float32)), 7
        ),
        BITS,
        three_bits,
    )
    agent = make_agent(DummyVecEnv([lambda: env])).learn(80)
    norm = agent.low_level.policy.features_extractor.parts["observation"]
    assert norm.running_mean.item() == pytest.approx(5.0)  # not drawn towards zeros


def test_changes_that_happened_are_imitated_with_the_memory_of_the_time(monkeypatch):
    monkeypatch.setattr("gym_attrplan.agent.self_imitation.BATCH_SIZE", 64)
    agent = make_agent()
    agent.learn(720, log_interval=None)
    assert np.isfinite(agent.logger.name_to_value["train/imitation_loss"])


def test_it_practises_without_learning_too(agent):
    before = agent.steps_practised
    agent.practise(90, batch_steps=90)
    assert agent.steps_practised > before


# --- acting -------------------------------------------------------------------------------------


def play(agent, env, state, observation, n_steps):
    """Actions and memories of the next steps of one episode."""
    actions, memories = [], []
    for _ in range(n_steps):
        action, state = agent.predict(observation, state, deterministic=True)
        observation = env.step(action)[0]
        actions.append(int(action))
        memories.append(state.hidden)
    return actions, memories, state, observation


def test_what_was_seen_before_changes_what_is_remembered(agent):
    env = counter()
    first, _ = env.reset(seed=0)
    second = env.step(1)[0]
    _, state = agent.predict(first, None, deterministic=True)
    _, later = agent.predict(second, state, deterministic=True)
    _, alone = agent.predict(second, None, deterministic=True)
    assert not np.allclose(later.hidden, alone.hidden)


def test_the_same_state_has_the_same_answer(agent):
    env = counter()
    _, _, state, observation = play(agent, env, None, env.reset(seed=0)[0], 3)
    before = state.hidden.copy()
    answers = [agent.predict(observation, state, deterministic=True) for _ in range(2)]
    assert answers[0][0] == answers[1][0]
    np.testing.assert_array_equal(answers[0][1].hidden, answers[1][1].hidden)
    np.testing.assert_array_equal(state.hidden, before)


def test_another_goal_keeps_the_memory_and_another_episode_does_not(agent):
    env = counter()
    _, _, state, observation = play(agent, env, None, env.reset(seed=0)[0], 3)
    other = {**observation, "desired_goal": 1 - observation["desired_goal"]}
    for seen, starts, same in ((other, False, False), (observation, True, True)):
        _, after = agent.predict(seen, state, np.array([starts]), deterministic=True)
        _, fresh = agent.predict(seen, None, deterministic=True)
        assert np.allclose(after.hidden, fresh.hidden) == same


def test_a_batch_is_as_many_single_environments(agent):
    envs = [counter() for _ in range(3)]
    seen = [env.reset(seed=i)[0] for i, env in enumerate(envs)]
    whole, single = None, [None] * 3
    for t in range(12):
        starts = np.array([False, t == 6, False])
        batch = {key: np.stack([one[key] for one in seen]) for key in seen[0]}
        actions, whole = agent.predict(batch, whole, starts, deterministic=True)
        for i, one in enumerate(seen):
            action, single[i] = agent.predict(one, single[i], starts[i], deterministic=True)
            assert action == actions[i]
            np.testing.assert_allclose(whole.hidden[i], single[i].hidden[0], atol=1e-5)
        seen = [env.step(action)[0] for env, action in zip(envs, actions, strict=True)]


@pytest.mark.parametrize("with_env", [True, False])
def test_saved_and_loaded_in_the_middle_of_an_episode_it_goes_on(agent, tmp_path, with_env):
    env = counter()
    _, _, state, observation = play(agent, env, None, env.reset(seed=0)[0], 5)
    agent.save(tmp_path / "agent")
    env_of = counters() if with_env else None
    loaded = AttributePlannerAgent.load(tmp_path / "agent", env=env_of, device="cpu")
    other = counter()
    other.reset(seed=0)
    other.unwrapped.count = env.unwrapped.count
    other.set_goal(observation["desired_goal"])
    mine = play(agent, env, state, observation, 12)
    theirs = play(loaded, other, state, observation, 12)
    assert mine[0] == theirs[0]
    np.testing.assert_array_equal(mine[1], theirs[1])


def test_sb3_and_our_evaluations_run(agent):
    evaluate_policy(agent, counter(), n_eval_episodes=2, warn=False)
    assert evaluate_tasks(agent, counters(), n_tasks=4).n == 4
    assert len(try_edges(agent, counters(), n_attempts=20).reached) > 0


# --- options ------------------------------------------------------------------------------------


def test_the_class_is_as_good_as_the_name_and_so_is_a_derived_one():
    class Mine(RecurrentPPO):
        pass

    assert make_agent(low_level=RecurrentPPO).options.low_level == "recurrent_ppo"
    agent = make_agent(low_level=Mine).learn(240)
    assert BEGUN in agent.low_level.observation_space.spaces


def test_continuous_actions_work_too():
    class Line(gym.Env):
        observation_space = action_space = spaces.Box(-1, 1, (1,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.x = 0.0
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.x = float(np.clip(self.x + 0.5 * action[0], -1, 1))
            return np.array([self.x], np.float32), 0.0, False, False, {}

    def make():
        return AttributeWrapper(
            TimeLimit(Line(), 20), ["right"], lambda env, _: [env.unwrapped.x > 0.3]
        )

    agent = make_agent(DummyVecEnv([make] * 2)).learn(160)
    assert agent.low_level.use_sde
    evaluate_policy(agent, make(), n_eval_episodes=2, warn=False)


def test_without_sb3_contrib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "gym_attrplan\[contrib\]"'):
        make_agent()


def test_what_it_cannot_do_is_refused():
    with pytest.raises(InvalidOption, match='RecurrentPPO hops with hops="changes" alone'):
        make_agent(hops="neighbours")
    with pytest.raises(InvalidOption, match="MemoryPolicy; received 'UnitPolicy'"):
        AttributePlannerAgent("UnitPolicy", counters(), low_level="recurrent_ppo")
    log = {"observations": np.zeros((3, 1)), "actions": np.zeros(3), "terminals": np.zeros(3)}
    with pytest.raises(InvalidOption, match="without memory or masks"):
        make_agent().learn_from(log)


def test_the_size_of_the_memory_counts_in_that_of_the_buffers():
    agent = make_agent(low_level_kwargs={**SMALL, "policy_kwargs": {"lstm_hidden_size": 1_024}})
    n_bytes = 80 * 3 * 4 * 1_024 * 4
    check_buffers(agent.options, agent.env, max_bytes=2 * n_bytes)
    with pytest.raises(InvalidOption, match="the buffers of RecurrentPPO take"):
        check_buffers(agent.options, agent.env, max_bytes=n_bytes)


@pytest.mark.parametrize("low_level", ["ppo", "recurrent_ppo"])
@pytest.mark.parametrize("shape", [(7, 7, 3), (40, 40, 3)])
def test_images_are_seen_beside_the_previous_description(shape, low_level):
    def make():
        seen = spaces.Box(0, 255, shape, np.uint8)
        inner = GenericTestEnv(seen, observe=lambda n: np.full(shape, n, np.uint8))
        return AttributeWrapper(TimeLimit(inner, CUT_AT), BITS, three_bits)

    short = {"n_steps": 32, "batch_size": 32}
    agent = make_agent(DummyVecEnv([make] * 2), low_level=low_level, low_level_kwargs=short)
    assert CAME_FROM in agent.learn(64).low_level.observation_space.spaces
    evaluate_policy(agent, make(), n_eval_episodes=1, warn=False)


# --- frame stacking -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2,), (7, 7, 3), (40, 40, 3)])
def test_stacked_frames_can_be_learned_from(shape):
    pixels = len(shape) == 3
    seen = spaces.Box(0, 255, shape, np.uint8) if pixels else spaces.Box(0, 9, shape)

    def make():
        inner = GenericTestEnv(seen, observe=lambda n: np.full(shape, n, seen.dtype))
        stacked = FrameStackObservation(TimeLimit(inner, CUT_AT), 4)
        return AttributeWrapper(stacked, BITS, three_bits)

    venv = DummyVecEnv([make] * 2)
    short = {"n_steps": 32, "batch_size": 32}
    agent = make_agent(venv, low_level="ppo", low_level_kwargs=short).learn(64)
    assert agent.num_timesteps == 64
    view = agent.low_level.policy.features_extractor.parts["observation"]
    assert isinstance(view, FrameStackView if pixels else RunningNorm)
    evaluate_policy(agent, make(), n_eval_episodes=1, warn=False)


# --- learning -----------------------------------------------------------------------------------


class Cue(gym.Env):
    """Shows which of two buttons is right, but only at the start; a wrong one ends the episode.

    Action 0 arms the buttons, actions 1 and 2 press them. Without memory, half of the tasks can be
    solved: the change that arms them comes between the cue and its use.
    """

    observation_space = spaces.Box(0, 1, (3,), np.float32)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.right = 1 + int(self.np_random.integers(2))
        self.armed = self.solved = False
        return np.array([self.right == 1, self.right == 2, 0], np.float32), {}

    def step(self, action):
        pressed = self.armed and action > 0
        self.solved = bool(pressed and action == self.right)
        self.armed |= action == 0
        return np.array([0, 0, self.armed], np.float32), 0.0, bool(pressed), False, {}


def cue_state(env, observation):
    return {"armed": env.unwrapped.armed, "solved": env.unwrapped.solved}


def always_solved(achieved, rng):
    return np.tile(np.array([-1, 1], np.int8), (len(achieved), 1))


@pytest.mark.learning
def test_what_was_seen_in_one_hop_is_used_in_the_next(seed):
    def make():
        env = TimeLimit(Cue(), 10)
        return AttributeWrapper(env, ["armed", "solved"], cue_state, goal_sampler=always_solved)

    venv = DummyVecEnv([make] * 32)
    small = {"lstm_hidden_size": 32, "net_arch": [32]}
    short = {"n_steps": 32, "batch_size": 256, "policy_kwargs": small}
    agent = make_agent(venv, seed=seed, low_level_kwargs=short).learn(8_192)
    assert evaluate_tasks(agent, venv, n_tasks=200, seed=seed).rate > 0.9
