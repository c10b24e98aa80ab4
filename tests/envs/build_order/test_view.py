"""The Gymnasium view, alone and in batches: slots, masks, seeds, tasks, pictures, errors."""

import pickle
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
import scripted
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_checker import data_equivalence as same
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from gym_attrplan import check_attribute_env
from gym_attrplan.envs.build_order import EconomyRules, EconomyVectorEnv, Starts
from gym_attrplan.envs.build_order.drawing import PIXELS, draw
from gym_attrplan.error import DependencyNotInstalled, InvalidEnvironment

IDS = ["AttrBuildOrder-v0", "AttrBuildOrderLarge-v0"]
TRAIN = EconomyRules().actions.index("train scv")
DEPOT = EconomyRules().actions.index("build depot")


@pytest.fixture(autouse=True)
def _no_display(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.filterwarnings("ignore:.*has an unconventional shape")
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("id_", IDS)
def test_all_three_checkers_pass(id_):
    check_env(gym.make(id_), skip_render_check=True)
    check_attribute_env(gym.make(id_), n_steps=50)
    sb3_check_env(gym.make(id_, max_episode_steps=-1).env.env)


def test_an_action_for_every_slot_and_a_row_of_features_for_every_unit():
    env = gym.make("AttrBuildOrderLarge-v0")
    observation, _ = env.reset(seed=0)
    assert env.action_space.nvec.tolist() == [12] * 14
    assert observation["slot_mask"].tolist() == [1] * 4 + [0] * 6 + [1] + [0] * 3
    assert not observation["units"][observation["slot_mask"] == 0].any()
    assert observation["action_mask"][5].tolist() == [1] + [0] * 11
    assert observation["action_mask"][10].tolist() == [1] + [0] * 5 + [1] + [0] * 5


def test_only_the_first_unit_of_a_kind_that_takes_orders_is_marked():
    env = gym.make("AttrBuildOrder-v0")
    env.reset(seed=0)
    env.unwrapped.economy.ore = 100
    actions = np.zeros(14, np.int64)
    observation, *_ = env.step(actions)
    assert observation["units"][:, -5].tolist() == [1] + [0] * 9 + [1] + [0] * 3
    actions[0] = DEPOT
    observation, *_ = env.step(actions)
    assert observation["units"][:, -5].tolist() == [0, 1] + [0] * 8 + [1] + [0] * 3


def test_orders_that_are_not_legal_and_orders_to_empty_slots_do_nothing():
    env = gym.make("AttrBuildOrder-v0")
    env.reset(seed=0)
    before = env.unwrapped.state()
    observation, *_ = env.step(np.full(14, env.unwrapped.rules.actions.index("build barracks")))
    assert same(vars(env.unwrapped.state()), vars(before))
    assert observation["achieved_goal"].tolist() == [2, 4, 0, 0, 0]


def test_a_unit_too_many_cannot_be_undone():
    env = gym.make("AttrBuildOrder-v0")
    observation, _ = env.reset(seed=0, options={"goal": "scv=4, depot=1"})
    actions = np.zeros(14, np.int64)
    actions[10] = TRAIN
    observation, reward, terminated, _, _ = env.step(actions)
    assert observation["achieved_goal"][1] == 5
    assert (reward, terminated) == (0.0, False)


@pytest.mark.parametrize("id_", [IDS[0], pytest.param(IDS[1], marks=pytest.mark.slow)])
def test_a_scripted_order_reaches_every_task_within_the_limit(id_):
    """All goals at once, a world for each; so every task can be solved."""
    rules = gym.make(id_).unwrapped.rules
    goals = rules.sampler("counts").goals
    envs = gym.make_vec(
        id_, len(goals), vectorization_mode="vector_entry_point", terminate_on_success=False
    )
    observations, _ = envs.reset(seed=0, options={"goal": goals})
    met = np.zeros(len(goals), np.bool_)
    when = np.zeros(len(goals), np.int64)
    for step in range(1, 500):
        rows = [{key: part[i] for key, part in observations.items()} for i in range(len(goals))]
        actions = [scripted.orders(rules, row) for row in rows]
        observations, _, _, _, info = envs.step(np.stack(actions))
        when[info["is_success"] & ~met] = step
        met |= info["is_success"]
        if met.all():
            break
    assert met.all()
    if id_ == "AttrBuildOrder-v0":
        assert 300 <= when.max() <= 450
        assert when[-1] == when.max()  # the hardest: 3 depots, 2 barracks, 4 marines


def test_random_actions_solve_less_than_a_tenth_of_the_tasks():
    envs = gym.make_vec("AttrBuildOrder-v0", 100, vectorization_mode="vector_entry_point")
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    n_ended = n_met = 0
    for _ in range(500):
        _, _, terminated, truncated, _ = envs.step(rng.integers(10, size=(100, 14)))
        n_met += terminated.sum()
        n_ended += (terminated | truncated).sum()
    assert n_ended >= 100
    assert n_met / n_ended < 0.1


def test_a_seed_gives_each_economy_the_start_of_a_single_one():
    twin = gym.make_vec("AttrBuildOrder-v0", 4, vectorization_mode="vector_entry_point")
    for seed, singles in ((40, range(40, 44)), ([9, 3, 3, 8], [9, 3, 3, 8])):
        observations, _ = twin.reset(seed=seed)
        for i, one in enumerate(singles):
            expected, _ = gym.make("AttrBuildOrder-v0").reset(seed=one)
            np.testing.assert_array_equal(observations["units"][i], expected["units"])


def test_a_seed_makes_later_episodes_repeatable_too():
    def run():
        twin = gym.make_vec("AttrBuildOrder-v0", 3, max_episode_steps=4)
        twin.reset(seed=5)
        rng = np.random.default_rng(1)
        steps = [twin.step(rng.integers(10, size=(3, 14)))[0] for _ in range(20)]
        return [(step["units"], step["desired_goal"]) for step in steps]

    assert same(run(), run())


def test_a_mask_resets_the_marked_economies_only():
    twin = EconomyVectorEnv(EconomyRules(), num_envs=3, max_episode_steps=3)
    twin.reset(seed=0)
    actions = np.zeros((3, 14), np.int64)
    actions[:, 10] = TRAIN
    twin.step(actions)
    twin.reset(options={"reset_mask": np.array([False, True, False])})
    assert twin.attributes[:, 1].tolist() == [5, 4, 5]
    for _ in range(2):
        *_, truncated, _ = twin.step(np.zeros((3, 14), np.int64))
    assert truncated.tolist() == [True, False, True]


def test_given_starts_are_taken():
    starts = Starts(np.array([0, 1, 2]), np.full((3, 4, 2), 9, np.int16))
    twin = EconomyVectorEnv(EconomyRules(), num_envs=3)
    twin.reset(options={"starts": starts})
    assert same(vars(twin.starts), vars(starts))
    assert (twin.state(1).cells[0, :4] == 9).all()
    single = gym.make("AttrBuildOrder-v0")
    single.reset(options={"start": starts[2]})
    assert same(vars(single.unwrapped.state()), vars(twin.state(2)))


def test_what_a_step_returns_is_not_changed_by_the_next():
    twin = gym.make_vec("AttrBuildOrder-v0", 8, max_episode_steps=3)
    twin.reset(seed=0)
    rng = np.random.default_rng(0)
    first = twin.step(rng.integers(10, size=(8, 14)))[0]
    kept = {key: part.copy() for key, part in first.items()}
    for _ in range(8):
        twin.step(rng.integers(10, size=(8, 14)))
    assert same(first, kept)


def test_an_environment_is_made_again_from_its_spec_as_json():
    def play(env):
        env.action_space.seed(0)
        return [env.reset(seed=3)] + [env.step(env.action_space.sample()) for _ in range(30)]

    env = gym.make("AttrBuildOrder-v0", frames_per_step=24, task="counts<=2", step_penalty=0.1)
    expected = play(env)
    assert same(play(gym.make(EnvSpec.from_json(env.spec.to_json()))), expected)


def test_pickled_environments_go_on_where_they_were():
    rng = np.random.default_rng(0)
    env, envs = gym.make("AttrBuildOrder-v0"), gym.make_vec("AttrBuildOrder-v0", 2)
    env.reset(seed=0)
    envs.reset(seed=0)
    copy, copies = pickle.loads(pickle.dumps((env, envs)))
    for _ in range(20):
        actions = rng.integers(10, size=(2, 14))
        assert same(env.step(actions[0]), copy.step(actions[0]))
        assert same(envs.step(actions)[0], copies.step(actions)[0])


def test_the_picture_shows_how_far_the_goal_is_met():
    env = gym.make("AttrBuildOrder-v0", render_mode="rgb_array")
    env.reset(seed=0, options={"goal": "scv=5"})
    before = env.render()
    actions = np.zeros(14, np.int64)
    actions[10] = TRAIN
    env.step(actions)
    after = env.render()
    assert before.shape[0] == 32 * PIXELS
    green, orange = (205, 238, 208), (252, 226, 200)
    assert (before == orange).all(axis=2).any()
    assert not (before == green).all(axis=2).any()
    assert (after == green).all(axis=2).any()
    assert not (after == orange).all(axis=2).any()


def test_a_building_under_construction_fills_up():
    twin = EconomyVectorEnv(EconomyRules(), num_envs=1, render_mode="rgb_array")
    starts = Starts(np.array([0]), np.full((1, 4, 2), 16, np.int16))
    twin.reset(options={"starts": starts})
    state = twin.state(0)
    state.sites[0, 0], state.site[0, 0], state.making[0, 0] = 2, 0, 2
    red = []
    for left in (100, 50, 1):
        state.left[0, 0] = left
        red.append(int((draw(twin.rules, state) == (178, 92, 84)).all(axis=2).sum()))
    assert red[0] < red[1] < red[2]
    assert twin.render()[0].shape == draw(twin.rules, state).shape


def test_human_rendering_opens_a_window():
    env = gym.make("AttrBuildOrder-v0", render_mode="human")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env.reset(seed=0)
        env.step(np.zeros(14, np.int64))
    env.close()


def test_without_pygame_the_error_names_the_remedy_and_the_rest_works(monkeypatch):
    monkeypatch.delitem(sys.modules, "gym_attrplan.envs.build_order.drawing", raising=False)
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = gym.make("AttrBuildOrder-v0", render_mode="rgb_array", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(DependencyNotInstalled, match="pip install pygame"):
        env.render()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": [1, 2]}, "3 environments need as many seeds, or one; received 2"),
        ({"options": {"reset_mask": [True, False]}}, "reset_mask holds 3 booleans"),
        ({"options": {"starts": Starts.draw(2, np.random.default_rng(0))}}, "needed: 3 starts"),
    ],
)
def test_resets_that_do_not_fit_are_refused(options, words):
    twin = EconomyVectorEnv(EconomyRules(), num_envs=3)
    with pytest.raises(InvalidEnvironment, match=words):
        twin.reset(**options)


@pytest.mark.parametrize("actions", [np.zeros((2, 14)), np.full((2, 14), 10), np.zeros(2, int)])
def test_actions_that_do_not_fit_are_refused(actions):
    with pytest.raises(gym.error.InvalidAction):
        EconomyVectorEnv(EconomyRules(), num_envs=2).step(actions)
    with pytest.raises(gym.error.InvalidAction, match="14 unit slots"):
        gym.make("AttrBuildOrder-v0", disable_env_checker=True).unwrapped.step(actions[0])


def test_other_wrong_options_are_refused():
    with pytest.raises(InvalidEnvironment, match="num_envs must be at least 1"):
        EconomyVectorEnv(EconomyRules(), num_envs=0)
    with pytest.raises(InvalidEnvironment, match="needed: 1 start"):
        gym.make("AttrBuildOrder-v0").reset(
            options={"start": Starts.draw(2, np.random.default_rng(0))}
        )
    with pytest.raises(InvalidEnvironment, match="render_mode is None or one of"):
        EconomyVectorEnv(EconomyRules(), num_envs=1, render_mode="ansi")
