"""The batched twins are the MiniGrid environments, step by step, and keep their own promises."""

import gymnasium as gym
import numpy as np
import pytest

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan.envs.grids import HaveItem, SwitchesRules, SwitchesVectorEnv
from gym_attrplan.error import InvalidEnvironment

BOOK = {"recipes": {"paper": ["reed"], "book": ["paper", "hide"]}, "resources": ["reed", "hide"]}
CASES = [
    ("AttrSwitches-v0", {"task": "targets==1"}, 4_000),
    ("AttrSwitches-v0", {"size": 5, "n_switches": 2, "n_colors": 8, "n_walls": 0}, 1_000),
    ("AttrSwitches-v0", {"obs_type": "multi_hot"}, 1_000),
    ("AttrSwitches-v0", {"obs_type": "rgb", "size": 6}, 1_000),
    ("AttrCrafting-v0", {"size": 5, "n_walls": 1, "max_episode_steps": 150}, 4_000),
    ("AttrCrafting-v0", {"size": 6, "goal_sampler": HaveItem((0, 1)), "step_penalty": 0.1}, 1_000),
    ("AttrCrafting-v0", {"size": 5, "n_walls": 0, "consume": True, **BOOK}, 3_000),
    ("AttrCrafting-v0", {"size": 5, "n_walls": 1, "terminate_on_success": False}, 3_000),
    ("AttrCrafting-v0", {"obs_type": "multi_hot"}, 1_000),
    ("AttrCrafting-v0", {"obs_type": "rgb", "size": 5, "n_walls": 0}, 2_000),
]


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        assert one[key].dtype == other[key].dtype
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


@pytest.mark.parametrize(("id_", "options", "n_steps"), CASES)
def test_the_twin_is_the_minigrid_environment(id_, options, n_steps):
    n, rng = 20, np.random.default_rng(0)
    options = {"max_episode_steps": 30, **options}
    twin = gym.make_vec(id_, n, vectorization_mode="vector_entry_point", **options)
    singles = [gym.make(id_, **options) for _ in range(n)]
    observations, _ = twin.reset(seed=7)

    def begin(i):
        goal = observations["desired_goal"][i]
        room = twin.unwrapped.rooms[i]
        first, _ = singles[i].reset(options={"room": room, "goal": goal})
        assert_same(first, {key: part[i] for key, part in observations.items()})

    for i in range(n):
        begin(i)
    changed, n_met, n_truncated = np.zeros(len(twin.attribute_space), np.bool_), 0, 0
    for _ in range(n_steps // n):
        before = observations["achieved_goal"]
        actions = rng.integers(twin.single_action_space.n, size=n)
        observations, rewards, terminated, truncated, info = twin.step(actions)
        done = terminated | truncated
        last = info.get("final_info", info)
        for i, single in enumerate(singles):
            seen, reward, ended, cut, single_info = single.step(actions[i])
            assert (reward, ended, cut) == (rewards[i], terminated[i], truncated[i])
            assert single_info["is_success"] == last["is_success"][i]
            np.testing.assert_array_equal(single_info["attributes"], last["attributes"][i])
            final = info["final_obs"][i] if done[i] else None
            assert_same(seen, final or {key: part[i] for key, part in observations.items()})
            if done[i]:
                begin(i)
        changed |= (last["attributes"] != before).any(axis=0)
        n_met, n_truncated = n_met + last["is_success"].sum(), n_truncated + truncated.sum()
    # A run in which little happens would prove little.
    assert n_truncated
    if n_steps == 4_000:
        assert n_met
        assert changed.all()


@pytest.mark.parametrize("id_", ["AttrSwitches-v0", "AttrCrafting-v0"])
def test_a_seed_gives_each_room_the_world_of_a_single_environment(id_):
    twin = gym.make_vec(id_, 5, vectorization_mode="vector_entry_point")
    for seed, singles in ((40, range(40, 45)), ([9, 3, 3, 8, 0], [9, 3, 3, 8, 0])):
        observations, _ = twin.reset(seed=seed)
        for i, one in enumerate(singles):
            expected, _ = gym.make(id_).reset(seed=one)
            np.testing.assert_array_equal(observations["observation"][i], expected["observation"])


def test_a_seed_makes_later_episodes_repeatable_too():
    def run():
        twin = gym.make_vec("AttrSwitches-v0", 3, max_episode_steps=4)
        twin.reset(seed=5)
        rng = np.random.default_rng(1)
        return [twin.step(rng.integers(5, size=3))[0]["observation"] for _ in range(30)]

    np.testing.assert_array_equal(run(), run())


def test_the_next_world_of_a_single_room_is_another_one():
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=1)
    first, _ = twin.reset(seed=[11])
    second, _ = twin.reset()
    assert not np.array_equal(first, second)


def test_a_marked_room_takes_its_own_seed():
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=3)
    all_rooms, _ = twin.reset(seed=[5, 6, 7])
    twin.reset(seed=0)
    mask = np.array([False, True, False])
    observations, _ = twin.reset(seed=[5, 6, 7], options={"reset_mask": mask})
    assert np.array_equal(observations[1], all_rooms[1])
    assert not np.array_equal(observations[0], all_rooms[0])


def test_a_mask_resets_the_marked_rooms_only():
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=4, max_episode_steps=3)
    twin.reset(seed=0)
    before, *_ = twin.step(np.zeros(4, np.int64))
    after, _ = twin.reset(options={"reset_mask": np.array([False, True, False, False])})
    assert np.array_equal(before[[0, 2, 3]], after[[0, 2, 3]])
    assert not np.array_equal(before[1], after[1])
    for _ in range(2):
        *_, truncated, _ = twin.step(np.zeros(4, np.int64))
    assert truncated.tolist() == [True, False, True, True]


def test_what_a_step_returns_is_not_changed_by_the_next():
    twin = gym.make_vec("AttrSwitches-v0", 8, max_episode_steps=3)
    twin.reset(seed=0)
    steps = [twin.step(np.full(8, action)) for action in (0, 1, 4, 2, 3, 4)]
    kept = [{key: part.copy() for key, part in step[0].items()} for step in steps[:1]]
    for action in (0, 1, 4, 2):
        twin.step(np.full(8, action))
    assert_same(steps[0][0], kept[0])
    arrays = [step[0]["observation"] for step in steps]
    assert not any(np.shares_memory(arrays[0], other) for other in arrays[1:])


def test_without_a_limit_nothing_is_truncated():
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=2)
    twin.reset(seed=0)
    assert not any(twin.step(np.zeros(2, np.int64))[3].any() for _ in range(400))


def test_pictures_of_every_room_are_rendered():
    twin = gym.make_vec("AttrCrafting-v0", 3, render_mode="rgb_array")
    twin.reset(seed=0)
    single = gym.make("AttrCrafting-v0", render_mode="rgb_array")
    single.reset(seed=1)
    frames = twin.render()
    assert len(frames) == 3
    np.testing.assert_array_equal(frames[1], single.unwrapped.render())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": [1, 2]}, "3 environments need as many seeds, or one; received 2"),
        ({"options": {"reset_mask": [True, False]}}, "reset_mask holds 3 booleans"),
        ({"options": {"reset_mask": [1, 0, 1]}}, "reset_mask holds 3 booleans; received int64"),
    ],
)
def test_resets_that_do_not_fit_are_refused(options, words):
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=3)
    with pytest.raises(InvalidEnvironment, match=words):
        twin.reset(**options)


def test_rooms_that_do_not_fit_are_refused():
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=3)
    with pytest.raises(InvalidEnvironment, match=r"needed: 3 rooms.*received 2"):
        twin.reset(options={"rooms": twin.rooms[[0, 1]]})


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([0, 1], "of shape"),
        ([0, 1, 5], "0 to 4"),
        ([0, -1, 1], "0 to 4"),
        ([0.0] * 3, "float64"),
    ],
)
def test_actions_that_do_not_fit_are_refused(actions, words):
    twin = SwitchesVectorEnv(SwitchesRules(), num_envs=3)
    with pytest.raises(gym.error.InvalidAction, match=words):
        twin.step(np.array(actions))


def test_a_batch_of_none_is_refused():
    with pytest.raises(InvalidEnvironment, match="num_envs must be at least 1"):
        SwitchesVectorEnv(SwitchesRules(), num_envs=0)
