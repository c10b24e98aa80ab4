"""TeamEnv: a ParallelEnv whose agents come and go, as one Gymnasium environment."""

from __future__ import annotations

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env as gymnasium_check
from pettingzoo import ParallelEnv
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check
from testing_env import same

from gym_attrplan import AttributeWrapper, TeamEnv, check_attribute_env
from gym_attrplan.algorithms import UnitPolicy
from gym_attrplan.envs.build_order import parallel_env
from gym_attrplan.error import InvalidEnvironment


class Party(ParallelEnv):
    """Agents that come at ``comes`` and leave at ``leaves``, ``cut`` by truncation.

    Each observes its number, the step and a random number; arguments script other spaces.
    """

    metadata = {"name": "party", "render_modes": ["ansi"], "render_fps": 7}  # noqa: RUF012

    def __init__(
        self,
        leaves,
        comes=None,
        cut=(),
        actions=None,
        seen=None,
        observe=None,
        infos=None,
        render_mode=None,
    ):
        self.possible_agents = list(leaves)
        self.agents = []
        self.leaves, self.comes, self.cut = leaves, comes or {}, cut
        self.actions = actions or {}
        self.seen, self.observe = seen or {}, observe or {}
        self.infos = infos or {}
        self.render_mode = render_mode
        self.rng = np.random.default_rng()
        self.received, self.closed = None, False

    def observation_space(self, agent):
        return self.seen.get(agent, spaces.Box(1.0, 50.0, (3,), np.float32))

    def action_space(self, agent):
        return self.actions.get(agent, spaces.Discrete(2))

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.time, self.options = 0, options
        self.agents = self.present()
        return self.look(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents), "a ParallelEnv takes actions of its agents alone"
        self.received = actions
        self.time += 1
        acted, self.agents = self.agents, self.present()
        gone = [agent for agent in acted if agent not in self.agents]
        shown = [*self.agents, *gone]
        return (
            self.look(shown),
            dict.fromkeys(shown, 0.5),
            {agent: agent in gone and agent not in self.cut for agent in shown},
            {agent: agent in gone and agent in self.cut for agent in shown},
            {agent: dict(self.infos.get(agent, {})) for agent in shown},
        )

    def present(self):
        return [
            agent
            for agent in self.possible_agents
            if self.comes.get(agent, 0) <= self.time < self.leaves[agent]
        ]

    def look(self, agents):
        luck = np.float32(self.rng.integers(1, 50))
        return {agent: self.own(agent, luck) for agent in agents}

    def own(self, agent, luck):
        if agent in self.observe:
            return self.observe[agent]
        number = self.possible_agents.index(agent) + 1
        return np.array([number, self.time + 1, luck], np.float32)

    def render(self):
        return f"step {self.time}"

    def close(self):
        self.closed = True


def rows(observation):
    """Number and step of each agent, without the random number."""
    return observation["units"][:, :2].tolist()


def test_alike_vectors_become_rows_of_units():
    env = TeamEnv(Party({"ann": 3, "bob": 3}))
    observation, info = env.reset(seed=0)
    assert rows(observation) == [[1, 1], [2, 1]]
    assert observation["slot_mask"].tolist() == [1, 1]
    assert observation["action_mask"].tolist() == [[1, 1], [1, 1]]
    assert info == {"infos": {"ann": {}, "bob": {}}}
    assert env.action_space == spaces.MultiDiscrete([2, 2])
    # Agents that are not there observe zeros, which the agents' own bounds exclude.
    assert env.observation_space["units"] == spaces.Box(0.0, 50.0, (2, 3), np.float32)


def test_rows_keep_the_order_of_the_agents_and_not_of_the_alphabet():
    agents = [f"agent_{i}" for i in range(12)]
    observation, _ = TeamEnv(Party(dict.fromkeys(agents, 1))).reset()
    assert observation["units"][:, 0].tolist() == list(range(1, 13))


def test_an_agent_that_leaves_early_shows_zeros_and_its_action_is_ignored():
    party = Party({"ann": 1, "bob": 3}, infos={"ann": {"tired": 1}})
    env = TeamEnv(party)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(np.array([1, 0]))
    assert party.received == {"ann": 1, "bob": 0}
    assert rows(observation) == [[0, 0], [2, 2]]
    assert observation["units"][0].tolist() == [0, 0, 0]
    assert observation["slot_mask"].tolist() == [0, 1]
    assert observation["action_mask"].tolist() == [[0, 0], [1, 1]]
    assert (reward, terminated, truncated) == (1.0, False, False)
    assert info == {"rewards": {"ann": 0.5, "bob": 0.5}, "infos": {"ann": {"tired": 1}, "bob": {}}}
    _, reward, *_ = env.step(np.array([1, 1]))
    assert party.received == {"bob": 1}
    assert reward == 0.5


def test_an_agent_that_comes_late_gets_its_row():
    party = Party({"ann": 3, "bob": 3}, comes={"bob": 1})
    env = TeamEnv(party)
    observation, _ = env.reset()
    assert rows(observation) == [[1, 1], [0, 0]]
    observation, *_ = env.step(np.array([0, 1]))
    assert party.received == {"ann": 0}
    assert rows(observation) == [[1, 2], [2, 2]]


def test_a_gap_without_agents_ends_the_episode():
    env = TeamEnv(Party({"ann": 1, "bob": 3}, comes={"bob": 2}))
    env.reset()
    assert env.step(np.array([0, 0]))[2:4] == (True, False)


@pytest.mark.parametrize(
    ("leaves", "cut", "ends"),
    [
        ({"ann": 2, "bob": 2}, (), (True, False)),
        ({"ann": 2, "bob": 2}, ("ann", "bob"), (False, True)),
        ({"ann": 2, "bob": 2}, ("bob",), (False, True)),
        ({"ann": 1, "bob": 2}, ("bob",), (False, True)),
        ({"ann": 1, "bob": 2}, ("ann",), (True, False)),
    ],
    ids=["all ended", "all cut", "one cut", "last one cut", "last one ended"],
)
def test_the_agents_that_act_last_decide_how_the_episode_ends(leaves, cut, ends):
    env = TeamEnv(Party(leaves, cut=cut))
    env.reset()
    assert env.step(np.array([0, 0]))[2:4] == (False, False)
    observation, *_, terminated, truncated, _ = env.step(np.array([0, 0]))
    assert (terminated, truncated) == ends
    # The last state is shown: attributes and the values of truncated states are read from it.
    assert rows(observation) == [[1, 3] if leaves["ann"] == 2 else [0, 0], [2, 3]]


def test_an_agent_that_stays_listed_after_its_end_has_ended():
    class Careless(Party):
        def step(self, actions):
            answer = super().step(actions)
            self.agents = list(self.possible_agents)
            return answer

    env = TeamEnv(Careless({"ann": 1, "bob": 1}))
    env.reset()
    assert env.step(np.array([0, 0]))[2:4] == (True, False)


def test_a_step_without_an_episode_asks_for_a_reset():
    env = TeamEnv(Party({"ann": 1}))
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        env.step(np.array([0]))
    env.reset()
    env.step(np.array([0]))
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        env.step(np.array([0]))


def test_unlike_observations_have_a_key_for_each_part():
    pair = spaces.Dict({"place": spaces.Discrete(3, start=5), "speed": spaces.Box(1.0, 2.0, ())})
    env = TeamEnv(
        Party(
            {"ann": 2, "bob": 1},
            seen={"bob": pair},
            observe={"bob": {"place": 7, "speed": 1.5}},
        )
    )
    observation, _ = env.reset()
    assert set(observation) == {"ann", "bob_place", "bob_speed", "slot_mask", "action_mask"}
    assert observation["ann"][:2].tolist() == [1, 1]
    assert observation["bob_place"] == 2
    assert observation["bob_speed"].tolist() == [1.5]
    observation, *_ = env.step(np.array([0, 0]))
    assert observation["ann"][:2].tolist() == [1, 2]
    assert (observation["bob_place"], observation["bob_speed"].tolist()) == (0, [0.0])
    assert env.observation_space.contains(observation)


def test_images_stay_images():
    image = spaces.Box(0, 255, (40, 40, 3), np.uint8)
    env = TeamEnv(
        Party(
            {"ann": 1, "bob": 1},
            seen=dict.fromkeys(["ann", "bob"], image),
            observe=dict.fromkeys(["ann", "bob"], np.full(image.shape, 9, np.uint8)),
        )
    )
    assert env.reset()[0]["bob"].shape == (40, 40, 3)


def test_masks_come_from_the_observations():
    masked = spaces.Dict(
        {
            "observation": spaces.Box(0.0, 9.0, (1,), np.float32),
            "action_mask": spaces.MultiBinary(2),
        }
    )
    party = Party(
        {"ann": 1, "bob": 1},
        seen=dict.fromkeys(["ann", "bob"], masked),
        observe={
            "ann": {"observation": np.ones(1, np.float32), "action_mask": np.array([1, 0])},
            "bob": {"observation": np.zeros(1, np.float32), "action_mask": np.array([0, 1])},
        },
    )
    observation, _ = TeamEnv(party).reset()
    assert observation["action_mask"].tolist() == [[1, 0], [0, 1]]
    assert observation["units"].tolist() == [[1], [0]]


def test_masks_come_from_the_infos_and_agents_may_have_fewer_actions():
    party = Party(
        {"ann": 2, "bob": 2},
        actions={"bob": spaces.Discrete(4, start=10)},
        infos={"bob": {"action_mask": np.array([0, 1, 1, 0])}},
    )
    env = TeamEnv(party)
    assert env.reset()[0]["action_mask"].tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    observation, *_ = env.step(np.array([1, 3]))
    assert observation["action_mask"].tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]
    assert party.received == {"ann": 1, "bob": 13}
    assert env.action_space == spaces.MultiDiscrete([2, 4])


def test_continuous_actions_are_joined_to_one_vector():
    wide = spaces.Box(-2.0, 2.0, (2, 2), np.float32)
    party = Party({"ann": 2, "bob": 2}, actions={"ann": spaces.Box(0.0, 1.0, (1,)), "bob": wide})
    env = TeamEnv(party)
    observation, _ = env.reset()
    assert env.action_space.low.tolist() == [0, -2, -2, -2, -2]
    assert env.action_space.high.tolist() == [1, 2, 2, 2, 2]
    assert "action_mask" not in observation
    env.step(np.arange(5, dtype=np.float32))
    assert party.received["ann"].tolist() == [0]
    assert party.received["bob"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("other", [spaces.Box(0.0, 1.0, (1,)), spaces.MultiBinary(2)])
def test_actions_of_two_kinds_are_refused(other):
    with pytest.raises(InvalidEnvironment, match=r"all of them a Box; received .*'bob'"):
        TeamEnv(Party({"ann": 1, "bob": 1}, actions={"bob": other}))


def test_an_action_of_the_wrong_shape_is_refused():
    env = TeamEnv(Party({"ann": 1, "bob": 1}))
    env.reset()
    with pytest.raises(gym.error.InvalidAction, match=r"shape \(2,\)"):
        env.step(np.array([1]))


def test_what_is_no_parallel_env_is_refused():
    from pettingzoo.utils import parallel_to_aec

    for other in (gym.make("CartPole-v1"), parallel_to_aec(Party({"ann": 1})), Party({})):
        with pytest.raises(InvalidEnvironment, match="aec_to_parallel"):
            TeamEnv(other)


def test_a_seed_repeats_an_episode_and_options_reach_the_agents():
    env = TeamEnv(Party({"ann": 2, "bob": 2}))
    lucky = [env.reset(seed=5)[0]["units"][0, 2] for _ in range(2)]
    other = [env.reset()[0]["units"][0, 2] for _ in range(5)]
    assert lucky[0] == lucky[1]
    assert len(set(other)) > 1
    env.reset(options={"music": "loud"})
    assert env.parallel_env.options == {"music": "loud"}


def test_rendering_closing_and_metadata_are_the_agents_own():
    party = Party({"ann": 2}, render_mode="ansi")
    env = TeamEnv(party)
    env.reset()
    assert env.render() == "step 0"
    assert (env.render_mode, env.metadata["render_fps"]) == ("ansi", 7)
    env.close()
    assert party.closed


def test_a_copy_is_a_team_of_its_own():
    env = TeamEnv(Party({"ann": 9, "bob": 9}))
    other = copy.deepcopy(env)
    assert same(env.reset(seed=3)[0], other.reset(seed=3)[0])
    env.step(np.array([0, 0]))
    assert (env.parallel_env.time, other.parallel_env.time) == (1, 0)


def parties(env, observation):
    """Which agents are there, and whether the step is even."""
    return [*observation["slot_mask"], env.unwrapped.parallel_env.time % 2]


@pytest.mark.parametrize("actions", [None, spaces.Box(-1.0, 1.0, (2,))], ids=["discrete", "box"])
def test_all_checkers_accept_a_team(actions):
    def make():
        party = Party(
            {"ann": 2, "bob": 5, "eve": 4},
            comes={"eve": 1},
            actions=actions and dict.fromkeys(["ann", "bob", "eve"], actions),
        )
        return TeamEnv(party)

    gymnasium_check(make(), skip_render_check=True)
    env = AttributeWrapper(make(), ["ann", "bob", "eve", "even"], parties)
    gymnasium_check(env, skip_render_check=True)
    sb3_check(env, warn=False)
    check_attribute_env(env)


def test_a_unit_policy_learns_from_a_team():
    env = AttributeWrapper(TeamEnv(Party({"ann": 2, "bob": 5})), ["ann", "bob", "even"], parties)
    model = PPO(UnitPolicy, env, n_steps=32, batch_size=32, device="cpu").learn(32)
    observation, _ = env.reset(seed=0)
    assert model.predict(observation)[0].shape == (2,)


def test_the_economy_of_units_is_a_team_with_an_agent_for_each_unit():
    env = TeamEnv(parallel_env("small"))
    observation, _ = env.reset(seed=0)
    names = env.parallel_env.possible_agents
    there = [name for name, one in zip(names, observation["slot_mask"], strict=True) if one]
    assert there == env.parallel_env.agents
    assert observation["action_mask"].shape == (14, 10)
    assert np.array_equal(
        observation["action_mask"][0], env.parallel_env.economy.legal(0).astype(np.int8)
    )
    assert not observation["scv_9_unit"].any()
    observation, *_ = env.step(env.action_space.sample(mask=legal(observation)))
    assert env.observation_space.contains(observation)


def legal(observation):
    """Gymnasium's masks of a joint action; an agent that is not there may do anything."""
    return tuple(np.where(row.any(), row, 1).astype(np.int8) for row in observation["action_mask"])
