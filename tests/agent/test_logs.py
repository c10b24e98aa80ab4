"""Learning from logs: the forms they have, what is refused, and what an agent does with them."""

from __future__ import annotations

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.buffers import DictReplayBuffer
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

from gym_attrplan import AttributePlannerAgent, AttributeSpace, AttributeWrapper
from gym_attrplan.agent import cloning
from gym_attrplan.agent.cloning import Hops
from gym_attrplan.agent.logs import Log
from gym_attrplan.error import InvalidData, InvalidEnvironment, InvalidOption

N_LAMPS = 4


class Lamps(gym.Env):
    """A hand moves along lamps in a row and presses: the lamp flips, and so do those beside it."""

    def __init__(self):
        self.observation_space = spaces.Box(0, N_LAMPS, (1 + N_LAMPS,), np.float32)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hand, self.lamps = int(self.np_random.integers(N_LAMPS)), np.zeros(N_LAMPS, np.int8)
        return self._seen(), {}

    def step(self, action):
        if action == 2:
            self.lamps[max(self.hand - 1, 0) : self.hand + 2] ^= 1
        else:
            self.hand = int(np.clip(self.hand + (1, -1)[action], 0, N_LAMPS - 1))
        return self._seen(), 0.0, False, False, {}

    def _seen(self):
        return np.array([self.hand, *self.lamps], np.float32)


def lamps_of(env, observation):
    return np.asarray(observation)[..., 1:].astype(np.int8)


def make_env():
    env = gym.wrappers.TimeLimit(Lamps(), 100)
    return AttributeWrapper(env, [f"lamp {i}" for i in range(N_LAMPS)], lamps_of)


def play(n_episodes, n_steps, seed=0):
    """Episodes of somebody who goes to a lamp and presses, again and again."""
    rng, env, episodes = np.random.default_rng(seed), Lamps(), []
    for episode in range(n_episodes):
        seen, actions = [env.reset(seed=episode)[0]], []
        target = int(rng.integers(N_LAMPS))
        while len(actions) < n_steps:
            action = 2 if env.hand == target else int(target < env.hand)
            target = int(rng.integers(N_LAMPS)) if action == 2 else target
            actions.append(action)
            seen.append(env.step(action)[0])
        episodes.append({"observations": np.array(seen), "actions": np.array(actions)})
    return episodes


def describe(seen):
    return lamps_of(None, seen)


def read(source, describe=describe):
    env = make_env()
    return Log.read(
        source,
        observation_space=env.observation_space,
        action_space=env.action_space,
        attribute_space=env.attribute_space,
        describe=describe,
    )


# --- forms --------------------------------------------------------------------------------------


def flat(episodes):
    """The same without the last states, one after another."""
    seen = np.concatenate([one["observations"][:-1] for one in episodes])
    actions = np.concatenate([one["actions"] for one in episodes])
    ends = np.concatenate([np.arange(len(one["actions"])) for one in episodes])
    return {
        "observations": seen,
        "actions": actions,
        "terminals": ends == len(episodes[0]["actions"]) - 1,
    }


def test_a_list_of_episodes_is_read_one_after_another():
    episodes = play(2, 7)
    log = read(episodes)
    assert log.last.tolist() == 2 * [*[False] * 7, True]
    assert (log.observations["observation"][8:] == episodes[1]["observations"]).all()
    assert (log.attributes == describe(log.observations["observation"])).all()
    assert (log.actions[:7] == episodes[0]["actions"]).all()


def test_flat_arrays_and_a_file_of_them_say_the_same(tmp_path):
    arrays = flat(play(3, 7))
    np.savez(tmp_path / "log.npz", **arrays)
    for log in (read(arrays), read(tmp_path / "log.npz"), read(str(tmp_path / "log.npz"))):
        assert np.flatnonzero(log.last).tolist() == [6, 13, 20]
        assert (log.actions == arrays["actions"]).all()


def test_a_minari_dataset_is_gone_through_episode_by_episode():
    episodes = [SimpleNamespace(**one) for one in play(2, 7)]
    log = read(SimpleNamespace(iterate_episodes=lambda: iter(episodes)))
    assert np.flatnonzero(log.last).tolist() == [7, 15]


def test_a_replay_buffer_is_read_by_environment_and_from_its_oldest_step():
    env = make_env()
    buffer = DictReplayBuffer(8, env.observation_space, env.action_space, n_envs=2)
    for step in range(6):  # of the four rows two are overwritten
        seen = {key: np.zeros((2, *one.shape)) for key, one in env.observation_space.items()}
        after = {key: part.copy() for key, part in seen.items()}
        seen["observation"][:, 0], after["observation"][:, 0] = step % 5, (step + 1) % 5
        buffer.add(seen, after, np.zeros((2, 1)), np.zeros(2), np.array([step == 3, False]), [{}])
    log = read(buffer)
    hands = log.observations["observation"][:, 0].tolist()
    assert hands == [2, 3, 4, 4, 0, 1, 2, 3, 4, 0, 1]
    assert np.flatnonzero(log.last).tolist() == [2, 5, 10]


def test_attributes_may_stand_in_the_log():
    episodes = [{**one, "attributes": describe(one["observations"])} for one in play(1, 7)]
    assert (read(episodes, None).attributes == read(episodes).attributes).all()
    keyed = [
        {
            "observations": {
                "observation": one["observations"],
                "achieved_goal": one["attributes"],
            },
            "actions": one["actions"],
        }
        for one in episodes
    ]
    assert (read(keyed, None).attributes == read(episodes).attributes).all()


# --- refused ------------------------------------------------------------------------------------


def spoiled(**changes):
    episodes = play(3, 7)
    episodes[1] = {**episodes[1], **changes}
    return episodes


NOT_FINITE = np.where(np.arange(8)[:, None] == 5, np.nan, np.zeros((8, 5)))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (7, "a log is an npz file"),
        ([], "at least one episode"),
        ("nowhere.npz", "there is no file nowhere.npz"),
        ({"observations": np.zeros((3, 5)), "actions": np.zeros(3, int)}, "where its episodes end"),
        ({"actions": np.zeros(3, int)}, "has no 'observations'"),
        ([{"observations": np.zeros((3, 5))}], "episode 0 of the log has no 'actions'"),
        (spoiled(observations=np.zeros((8, 4))), r"episode 1 .* of shape \(4,\); .* \(5,\)"),
        (spoiled(observations=NOT_FINITE), "step 5 of episode 1 .* not finite"),
        (spoiled(actions=np.zeros(4, int)), "episode 1 of the log has 4 actions for 8 states"),
        (spoiled(actions=np.full(7, 1.5)), "step 0 of episode 1 .* action of float64 that int64"),
        (spoiled(actions=np.full(7, 3)), "step 0 of episode 1 of the log has the action 3"),
        (
            spoiled(observations=np.zeros((1, 5)), actions=np.zeros(0, int)),
            "episode 1 of the log has 1 state",
        ),
        (spoiled(observations={"image": np.zeros((8, 5))}), "no observation 'observation'"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_its_place(source, message):
    with pytest.raises(InvalidData, match=message):
        read(source)


def test_a_log_without_attributes_says_how_to_give_them():
    with pytest.raises(InvalidData, match="has no attributes: give them"):
        read(play(1, 7), None)


def test_a_file_with_objects_in_it_is_not_opened(tmp_path):
    np.savez(tmp_path / "log.npz", observations=np.array([{}], object))
    with pytest.raises(InvalidData, match="not an npz file of plain arrays"):
        read(tmp_path / "log.npz")


def test_a_log_in_which_nothing_changes_teaches_nothing():
    still = [{"observations": np.zeros((5, 5)), "actions": np.zeros(4, int)}]
    with pytest.raises(InvalidData, match="no attribute changes"):
        Hops.of(read(still))


@pytest.mark.parametrize("options", [{"hops": "neighbours"}, {"low_level": "dqn"}])
def test_agents_that_cannot_copy_say_so(options):
    agent = AttributePlannerAgent("MultiInputPolicy", make_env(), **options)
    with pytest.raises(InvalidOption, match="learn from logs"):
        agent.learn_from(play(2, 20), describe=describe)


def test_a_wrapper_that_normalises_what_is_seen_is_refused():
    venv = VecNormalize(make_vec_env(make_env, 1), norm_obs_keys=["observation"])
    agent = AttributePlannerAgent("MultiInputPolicy", venv)
    with pytest.raises(InvalidEnvironment, match="VecNormalize normalises those of the agent"):
        agent.learn_from(play(2, 20), describe=describe)


def test_no_update_at_all_is_refused():
    agent = AttributePlannerAgent("MultiInputPolicy", make_env())
    with pytest.raises(InvalidOption, match="n_updates is at least 1; received 0"):
        agent.learn_from(play(2, 20), describe=describe, n_updates=0)


# --- hops ---------------------------------------------------------------------------------------


def test_hops_are_cut_where_attributes_change():
    space = AttributeSpace(["a", "b"])
    vectors = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [0, 0], [0, 1]], np.int8)
    last = np.array([0, 0, 0, 0, 1, 0, 1], bool)  # [1, 1] to [0, 0] is no hop: an episode ended
    log = Log({"observation": np.zeros((7, 1))}, np.zeros(7), vectors, last)
    hops = Hops.of(log)
    assert [space.describe(one) for one in hops.ends] == ["a, not b", "a, b", "not a, b"]
    assert hops.n_steps.tolist() == [2, 2, 1]
    assert hops.step.tolist() == [0, 1, 2, 3, 5]
    assert hops.distance.tolist() == [2, 1, 2, 1, 1]
    assert hops.target.tolist() == [[1, -1], [1, -1], [-1, 1], [-1, 1], [-1, 1]]
    assert hops.came_from.tolist() == [[0, 0], [0, 0], [1, 1], [1, 1], [0, 0]]


def log_of(*episodes):
    """Episodes in which one attribute has these values, one a step."""
    values = np.concatenate([np.array(one) for one in episodes])
    last = np.concatenate([np.arange(len(one)) == len(one) - 1 for one in episodes])
    return Log({}, np.zeros(len(values)), values[:, None].astype(np.int8), last)


def test_what_is_only_passed_through_is_no_end_of_a_hop():
    hops = Hops.of(log_of([0] * 9 + [1] * 2 + [2] * 9 + [1] * 9 + [0] * 8))
    assert hops.starts[:, 0].tolist() == [0, 2, 1]
    assert hops.ends[:, 0].tolist() == [2, 1, 0]
    assert hops.n_steps.tolist() == [11, 9, 9]
    assert hops.step.tolist() == list(range(29))
    assert hops.distance.tolist() == [*range(11, 0, -1), *range(9, 0, -1), *range(9, 0, -1)]
    assert hops.target[:, 0].tolist() == [2] * 11 + [1] * 9 + [0] * 9


def test_what_comes_and_goes_again_at_once_has_not_happened():
    hops = Hops.of(log_of([0] * 9 + [1] * 2 + [0] * 9 + [2] * 9))
    assert (hops.starts[:, 0].tolist(), hops.ends[:, 0].tolist()) == ([0], [2])
    assert hops.n_steps.tolist() == [20]


def test_the_ends_of_an_episode_count_however_short_they_are():
    hops = Hops.of(log_of([1] + [0] * 9 + [2], [2] * 9 + [1] * 9, [0] * 9 + [1]))
    assert hops.starts[:, 0].tolist() == [1, 0, 2, 0]
    assert hops.ends[:, 0].tolist() == [0, 2, 1, 1]
    assert hops.step.tolist() == [*range(10), *range(11, 20), *range(29, 38)]


def test_where_an_episode_ended_is_part_of_it_if_the_log_says_so():
    arrays = flat(play(2, 7))
    ends = np.concatenate([one["observations"][1:] for one in play(2, 7)])
    log = read({**arrays, "next_observations": ends})
    assert np.flatnonzero(log.last).tolist() == [7, 15]
    assert (log.observations["observation"][7] == ends[6]).all()


# --- the agent ----------------------------------------------------------------------------------


SMALL = {"net_arch": [64, 64]}


def learned_from_play(seed):
    agent = AttributePlannerAgent("MultiInputPolicy", make_env(), seed=seed, policy_kwargs=SMALL)
    return agent.learn_from(play(40, 100, seed), describe=describe, n_updates=600)


@pytest.fixture(scope="module")
def cloned():
    return learned_from_play(seed=0)


def solve(agent, goal, seed):
    env = make_env()
    observation, info = env.reset(seed=seed, options={"goal": goal})
    state, over = None, info["is_success"]
    while not over:
        action, state = agent.predict(observation, state, deterministic=True)
        observation, _, terminated, truncated, info = env.step(int(action))
        over = terminated or truncated
    return info["is_success"]


@pytest.mark.learning
def test_an_agent_that_never_took_a_step_reaches_any_lamps(seed):
    agent, rng = learned_from_play(seed), np.random.default_rng(seed)
    goals = [rng.integers(2, size=N_LAMPS) for _ in range(20)]
    assert sum(solve(agent, goal, i) for i, goal in enumerate(goals)) >= 18
    assert agent.num_timesteps == 0


def test_the_log_shows_each_press(cloned):
    assert len(cloned.hop_model) == N_LAMPS
    assert cloned.counts.n_edges > 0


def test_a_plan_goes_through_what_each_press_flips(cloned):
    observation, _ = make_env().reset(seed=0)
    plan = cloned.plan(observation, "lamp 0, not lamp 1, not lamp 2, not lamp 3")
    flips = [(change != -1).sum() for change in plan.changes]
    assert len(plan) == 3
    assert all(n in (2, 3) for n in flips)
    assert 0.9 < plan.success_prob < 1.0


def test_a_goal_may_be_met_in_several_ways(cloned):
    env, goal = make_env(), "lamp 0, not lamp 1, not lamp 2 or lamp 3, lamp 2, lamp 0"
    asked = env.attribute_space.goal_set(goal)
    observation, _ = env.reset(seed=2)
    plan = cloned.plan(observation, goal)
    assert asked.matches(plan.vectors[-1])
    state, n_steps = None, 0
    while not asked.matches(observation["achieved_goal"]) and n_steps < 100:
        action, state = cloned.predict(observation, state, deterministic=True, goal=goal)
        if n_steps == 0:
            assert state.targets[0].tolist() == plan.changes[0].tolist()
        observation, _, _, _, _ = env.step(int(action))
        n_steps += 1
    assert asked.matches(observation["achieved_goal"])


def test_hops_are_explained(cloned):
    (line,) = [one for one in cloned.explain_hop("lamp 0, lamp 1") if "lamp 2" not in one]
    assert line == "changes: lamp 0, lamp 1; needs nothing; works 1.00"


def test_a_saved_agent_plans_as_before(cloned, tmp_path):
    cloned.save(tmp_path / "lamps")
    loaded = AttributePlannerAgent.load(tmp_path / "lamps")
    observation, _ = make_env().reset(seed=3, options={"goal": "lamp 3, not lamp 2"})
    assert loaded.plan(observation).describe() == cloned.plan(observation).describe()
    mine = cloned.predict(observation, deterministic=True)[0]
    assert loaded.predict(observation, deterministic=True)[0] == mine


def test_to_copy_takes_a_larger_network_unless_one_was_given(cloned):
    agent = AttributePlannerAgent("MultiInputPolicy", make_env(), seed=0)
    agent.learn_from(play(2, 50), describe=describe, n_updates=2)
    assert agent.options.policy_kwargs == cloning.POLICY
    assert cloned.options.policy_kwargs == SMALL


def test_a_second_log_adds_to_the_first():
    agent = AttributePlannerAgent("MultiInputPolicy", make_env(), seed=0)
    for seed in (0, 1):
        agent.learn_from(play(2, 50, seed), describe=describe, n_updates=2)
    both = sum(len(Hops.of(read(play(2, 50, seed))).starts) for seed in (0, 1))
    assert agent.hop_model.n_hops.sum() == both


def test_a_log_that_is_refused_leaves_the_agent_as_it_was():
    agent = AttributePlannerAgent("MultiInputPolicy", make_env(), seed=0)
    with pytest.raises(InvalidData):
        agent.learn_from(spoiled(actions=np.full(7, 3)), describe=describe)
    still = [{"observations": np.zeros((5, 5)), "actions": np.zeros(4, int)}]
    with pytest.raises(InvalidData, match="no attribute changes"):
        agent.learn_from(still, describe=describe)
    assert len(agent.hop_model) == 0
    assert not agent.options.policy_kwargs


class Picture(gym.ObservationWrapper):
    """The lamps as an image of so many rows, columns and colours."""

    def __init__(self, shape, env=None):
        super().__init__(env or Lamps())
        self.observation_space = spaces.Box(0, 255, shape, np.uint8)

    def observation(self, observation):
        picture = np.zeros(self.observation_space.shape, np.uint8)
        picture[:5, 0, 0] = observation
        return picture


@pytest.mark.parametrize("shape", [(7, 7, 3), (36, 36, 3)])
def test_pictures_are_copied_from_as_they_were_recorded(shape):
    def read_lamps(env, picture):
        return picture[..., 1:5, 0, 0].astype(int)

    env = AttributeWrapper(Picture(shape), ["a", "b", "c", "d"], read_lamps)
    seen = [
        np.stack([Picture(shape).observation(one) for one in part["observations"]])
        for part in play(2, 30)
    ]
    log = [{**part, "observations": one} for part, one in zip(play(2, 30), seen, strict=True)]
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=0, policy_kwargs=SMALL)
    agent.learn_from(log, describe=lambda pictures: read_lamps(None, pictures), n_updates=3)
    observation, _ = env.reset(seed=0, options={"goal": "a"})
    assert agent.predict(observation, deterministic=True)[0] in range(3)


@pytest.mark.parametrize(
    "space",
    [spaces.MultiBinary(3), spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2, 2), np.float32)],
    ids=lambda space: type(space).__name__,
)
def test_actions_of_every_kind_are_copied(space):
    env = Lamps()
    env.action_space = space
    env = AttributeWrapper(env, [f"lamp {i}" for i in range(N_LAMPS)], lamps_of)
    log = [{**one, "actions": np.stack([space.sample() for _ in range(30)])} for one in play(2, 30)]
    agent = AttributePlannerAgent("MultiInputPolicy", env, seed=0, policy_kwargs=SMALL)
    agent.learn_from(log, describe=describe, n_updates=3)
    observation, _ = env.reset(seed=0, options={"goal": "lamp 0"})
    assert space.contains(agent.predict(observation, deterministic=True)[0])


def test_learning_goes_on_in_the_environment(cloned, tmp_path):
    cloned.save(tmp_path / "lamps")
    agent = AttributePlannerAgent.load(tmp_path / "lamps", env=make_env())
    agent.learn(600)
    assert len(agent.outcomes) > 0
    assert len(agent.hop_model) == N_LAMPS
