"""PracticeVecEnv: segments that hop or explore follow each other; outcomes are counted."""

import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan.agent.change_drawer import ChangeDrawer
from gym_attrplan.agent.hop_judge import endless_goals
from gym_attrplan.agent.hop_lengths import HopLengths
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers import AttributeWrapper

SPACE = AttributeSpace(["four", "two", "one"])
ONE, TWO = [-1, -1, 1], [-1, 1, -1]


def practice(n=1, seed=0, ends_at=None, cut_at=1_000, limit=None, **settings):
    """Counters in practice; the count is seen as three bits."""

    def make():
        env = TimeLimit(GenericTestEnv(ends_at=ends_at), cut_at)
        return AttributeWrapper(env, SPACE, three_bits)

    venv = DummyVecEnv([make] * n)
    if limit is not None:
        settings["first_limit"] = limit
    return PracticeVecEnv(
        venv,
        TransitionCounts(SPACE),
        HopOutcomes(SPACE),
        settings=PracticeSettings(**settings),
        rng=np.random.default_rng(seed),
    )


def ask(env, change):
    """Have the first environment's running hop ask for a change."""
    env._goals[0] = change
    env._explores[0] = False
    env._limits[0] = env.lengths.limit


def test_a_hop_ends_when_its_change_holds_whatever_else_changed():
    env = practice(explore_share=0.0)
    env.reset()
    ask(env, TWO)
    _, rewards, dones, _ = env.step(np.array([1]))  # 001: another bit, and the hop goes on
    assert (rewards.tolist(), dones.tolist()) == ([0.0], [False])
    observations, rewards, dones, infos = env.step(np.array([1]))  # 010
    assert (rewards.tolist(), dones.tolist()) == ([1.0], [True])
    assert infos[0]["terminal_observation"]["desired_goal"].tolist() == TWO
    assert infos[0]["TimeLimit.truncated"] is False
    assert infos[0]["episode"]["l"] == 2
    assert observations["achieved_goal"].tolist() == [[0, 1, 0]]
    table = env.outcomes.table()
    assert (table.attempts.tolist(), table.successes.tolist()) == ([1.0], [1.0])
    assert env.outcomes.index.vectors(table.end_node).tolist() == [[0, 1, 0]]
    assert env.outcomes.index.vectors(table.node).tolist() == [[0, 0, 0]]


def test_a_hop_whose_time_is_up_failed_where_it_stands_and_is_truncated():
    env = practice(explore_share=0.0, limit=2)
    env.reset()
    ask(env, TWO)
    for action in (1, 0):
        _, rewards, dones, infos = env.step(np.array([action]))
    assert (rewards.tolist(), dones.tolist()) == ([0.0], [True])
    assert infos[0]["TimeLimit.truncated"] is True
    table = env.outcomes.table()
    assert (table.attempts.tolist(), table.successes.tolist()) == ([1.0], [0.0])
    assert env.outcomes.index.vectors(table.end_node).tolist() == [[0, 0, 1]]


def test_a_hop_that_the_episode_did_not_survive_costs_something_and_nothing_follows():
    env = practice(explore_share=0.0, ends_at=1, end_cost=0.25)
    env.reset()
    ask(env, TWO)
    observations, rewards, dones, infos = env.step(np.array([1]))
    assert (rewards.tolist(), dones.tolist()) == ([-0.25], [True])
    assert infos[0]["episode"]["r"] == -0.25
    assert infos[0]["TimeLimit.truncated"] is False
    assert infos[0]["terminal_observation"]["achieved_goal"].tolist() == [0, 0, 1]
    assert observations["achieved_goal"].tolist() == [[0, 0, 0]]
    assert env.outcomes.table().end_over.tolist() == [True]


def test_a_change_made_with_the_episodes_last_step_counts():
    env = practice(explore_share=0.0, ends_at=1)
    env.reset()
    ask(env, ONE)
    _, rewards, _, infos = env.step(np.array([1]))
    assert rewards.tolist() == [1.0]
    assert infos[0]["is_success"]
    assert env.outcomes.table().successes.tolist() == [1.0]


def test_it_notes_how_long_episodes_are_that_a_time_limit_cuts():
    for ends_at, longest in ((None, 8), (2, 0)):
        env = practice(ends_at=ends_at, cut_at=8)
        with endless_goals(env.venv):
            env.reset()
            for _ in range(20):
                env.step(np.array([1]))
        assert env.episode_steps == longest
        again = practice()
        again.restore(env.to_arrays())
        assert again.episode_steps == longest


def test_exploring_has_no_goal_and_pays_for_transitions_the_rarer_the_more():
    env = practice(explore_share=1.0, bonus_scale=0.5, end_cost=0.0)  # its own goal ends an episode
    observations = env.reset()
    paid = []
    for _ in range(9):
        assert observations["desired_goal"].tolist() == [[-1, -1, -1]]
        observations, rewards, _, _ = env.step(np.array([1]))
        paid.append(round(float(rewards[0]), 3))
    assert paid == [0.5] * 8 + [0.354]  # 0.5 / sqrt(2): once round the counter
    assert len(env.outcomes) == 0


def test_exploring_pays_less_for_a_transition_that_the_episode_did_not_survive():
    env = practice(explore_share=1.0, ends_at=1, bonus_scale=0.5, end_cost=0.25)
    env.reset()
    assert env.step(np.array([1]))[1].tolist() == [0.25]


def test_exploring_pays_nothing_for_familiar_transitions():
    env = practice(explore_share=1.0, bonus_scale=0.5, familiar=2, end_cost=0.0)
    env.reset()
    paid = [round(float(env.step(np.array([1]))[1][0]), 3) for _ in range(10)]
    assert paid == [0.5] * 8 + [0.0] * 2
    assert env.counts.visits([0, 0, 0], [0, 0, 1]).tolist() == [2.0]


def test_segments_follow_each_other_within_an_episode():
    env = practice(explore_share=1.0, explore_steps=3)
    env.reset()
    dones = [env.step(np.array([1]))[2].tolist()[0] for _ in range(6)]
    assert dones == [False, False, True] * 2
    assert env.venv.envs[0].unwrapped.count == 6


def test_transitions_of_hops_are_counted_too():
    env = practice(explore_share=0.0)
    env.reset()
    env.step(np.array([1]))
    assert env.counts.visits([0, 0, 0], [0, 0, 1]).tolist() == [1.0]


def test_changes_are_drawn_by_need_and_never_ask_for_what_holds():
    outcomes = HopOutcomes(SPACE)
    for change, made in ((ONE, True), (TWO, False)):  # sure, and hopeless
        outcomes.record([[0, 0, 0]] * 200, [change] * 200, [[0, 0, 0]] * 200, made=made, n_steps=1)
    settings = PracticeSettings(floor=0.0)
    drawer = ChangeDrawer(outcomes, TransitionCounts(SPACE), settings, np.random.default_rng(0))
    drawer.see(np.array([[0, 0, 0], [1, 1, 1]]))
    drawn = drawer.draw(np.zeros((400, 3), np.int8))
    assert (drawn == 0).sum() == 0
    assert ((drawn == [1, -1, -1]).all(axis=1)).mean() > 0.95


def test_what_was_seen_to_follow_from_here_is_practised_however_often_it_failed():
    outcomes, counts = HopOutcomes(SPACE), TransitionCounts(SPACE)
    counts.record([0, 0, 0], [0, 0, 1])
    for change in (ONE, TWO, [1, -1, -1]):
        outcomes.record([[0, 0, 0]] * 200, [change] * 200, [[0, 0, 0]] * 200, made=False, n_steps=1)
    settings = PracticeSettings(floor=0.0, near=0.5)
    drawer = ChangeDrawer(outcomes, counts, settings, np.random.default_rng(0))
    drawer.see(np.array([[0, 0, 0], [1, 1, 1]]))
    drawn = drawer.draw(np.zeros((400, 3), np.int8))
    assert (drawn == ONE).all(axis=1).mean() > 0.95


def test_an_attribute_is_not_drawn_more_often_for_having_more_values():
    space = AttributeSpace({"ore": 41, "barracks": 3})
    rng = np.random.default_rng(0)
    drawer = ChangeDrawer(HopOutcomes(space), TransitionCounts(space), PracticeSettings(), rng)
    drawer.see(np.stack([np.arange(41), np.arange(41) % 3], axis=1))
    drawn = drawer.draw(np.zeros((2_000, 2), np.int8))
    assert (drawn >= 0).sum(axis=1).tolist() == [1] * 2_000
    assert abs((drawn[:, 0] >= 0).mean() - 0.5) < 0.05


def test_only_values_that_are_possible_in_the_episode_are_drawn():
    space = AttributeSpace({"ore": 4, "door": 2})
    rng = np.random.default_rng(0)
    drawer = ChangeDrawer(HopOutcomes(space), TransitionCounts(space), PracticeSettings(), rng)
    drawer.see(np.stack([np.arange(4), np.arange(4) % 2], axis=1))
    possible = np.ones((1_000, 2, 4), np.bool_)
    possible[:, 0, [2, 3]] = False
    drawn = drawer.draw(np.zeros((1_000, 2), np.int8), possible)
    assert set(drawn[:, 0].tolist()) == {-1, 1}
    assert abs((drawn[:, 0] >= 0).mean() - 0.5) < 0.05  # as often as the attribute that is free
    possible[:] = False
    assert (drawer.draw(np.zeros((1_000, 2), np.int8), possible) == -1).all()


def test_an_attribute_function_can_say_what_is_possible():
    def bits(env, observation):
        return three_bits(env, observation)

    bits.possible = lambda env: np.array([[True, False], [True, False], [True, True]])
    venv = DummyVecEnv([lambda: AttributeWrapper(GenericTestEnv(), SPACE, bits)] * 2)
    settings, rng = PracticeSettings(explore_share=0.0), np.random.default_rng(0)
    env = PracticeVecEnv(
        venv, TransitionCounts(SPACE), HopOutcomes(SPACE), settings=settings, rng=rng
    )
    env.see(np.array([[1, 1, 1]]))
    for _ in range(20):
        assert env.reset()["desired_goal"].tolist() == [ONE, ONE]


def test_where_nothing_else_was_ever_seen_there_is_no_change_to_ask_for():
    counts, rng = TransitionCounts(SPACE), np.random.default_rng(0)
    drawer = ChangeDrawer(HopOutcomes(SPACE), counts, PracticeSettings(), rng)
    drawer.see(np.zeros((1, 3), np.int8))
    assert drawer.draw(np.zeros((2, 3), np.int8)).tolist() == [[-1] * 3] * 2


def test_limit_and_discount_follow_the_lengths_of_hops_that_worked():
    lengths = HopLengths(first_limit=50, limits=(16, 200))
    lengths.add(np.full(99, 3))
    assert (lengths.limit, lengths.discount) == (50, 0.99)
    lengths.add(np.full(1, 3))
    assert lengths.limit == 16
    assert lengths.discount == pytest.approx(1 - 1 / 12)
    lengths.add(np.full(4_000, 90))
    assert (lengths.limit, lengths.discount) == (200, 0.99)


def test_returned_arrays_are_not_touched_again():
    env = practice(n=3, explore_steps=2)
    seen = [env.reset()]
    kept = [{key: rows.copy() for key, rows in seen[0].items()}]
    for step in range(12):
        observations, *_ = env.step(np.array([1, 0, step % 2]))
        seen.append(observations)
        kept.append({key: rows.copy() for key, rows in observations.items()})
    for one, copy in zip(seen, kept, strict=True):
        for key, rows in one.items():
            np.testing.assert_array_equal(rows, copy[key])


@pytest.mark.parametrize(
    "wrong",
    [
        {"explore_share": 1.5},
        {"explore_steps": 0},
        {"bonus_scale": -1.0},
        {"end_cost": -0.1},
        {"familiar": 0},
        {"limits": (20, 10)},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidOption, match=next(iter(wrong))):
        PracticeSettings(**wrong)
