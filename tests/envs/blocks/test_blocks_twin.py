"""The batched twin is MuJoCo's world: 1,500 random drops each with and without jitter say so."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence as same
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO

from gym_attrplan.agent import VectorEnvAdapter
from gym_attrplan.envs.blocks import BlocksEnv, BlocksRules, BlocksVectorEnv
from gym_attrplan.error import InvalidEnvironment

ID = "AttrBlocks-v0"
RULES = BlocksRules()
N_PAIRS = 500


def random_pairs(rules, n, seed=0):
    """Half of the states evenly from all, half as episodes begin."""
    rng = np.random.default_rng(seed)
    states = rng.integers(rules.n_states, size=n)
    states[::2] = rules.random_starts((n + 1) // 2, rng)
    return states, rng.integers(rules.n_actions, size=n)


def make_twin(n, rules=RULES, **options):
    return BlocksVectorEnv(rules, num_envs=n, **options)


@pytest.mark.parametrize(("n_blocks", "n_pairs"), [(4, N_PAIRS), (5, 100), (6, 100)])
def test_with_jitter_the_twin_has_the_attributes_that_physics_gives(n_blocks, n_pairs):
    rules = BlocksRules(n_blocks)
    states, actions = random_pairs(rules, n_pairs)
    twin = make_twin(n_pairs, rules, obs_type="state")
    twin.reset(options={"states": states})
    before = twin.attributes
    twin.step(actions)
    real = BlocksEnv(rules, obs_type="state")
    real.reset(seed=0)
    for i in range(n_pairs):
        real.reset(options={"state": states[i]})
        np.testing.assert_array_equal(real.attributes, before[i])
        real.step(actions[i])
        np.testing.assert_array_equal(real.attributes, twin.attributes[i])
        assert real.state == twin.states[i]
    if n_pairs == N_PAIRS:  # every attribute was put to the test
        assert (before != twin.attributes).any(axis=0).all()


@pytest.mark.slow
def test_without_jitter_the_twin_shows_the_pictures_that_physics_gives():
    states, actions = random_pairs(RULES, N_PAIRS, seed=1)
    twin = make_twin(N_PAIRS, image_size=32, jitter=0.0)
    twin.reset(options={"states": states})
    frames, *_ = twin.step(actions)
    real = BlocksEnv(RULES, image_size=32, jitter=0.0)
    apart = []
    for i in range(N_PAIRS):
        real.reset(seed=0, options={"state": states[i]})
        picture, *_ = real.step(actions[i])
        apart.append((picture != frames[i]).any(axis=2).mean())
        np.testing.assert_array_equal(real.attributes, twin.attributes[i])
    # Blocks at rest sink into each other by a fraction of a millimetre: a few edge pixels.
    assert np.mean(apart) < 0.001
    assert np.max(apart) < 0.02


def test_with_jitter_a_picture_is_as_far_from_the_exact_one_as_physics_makes_it():
    rules = BlocksRules(2)
    exact = make_twin(90, rules, image_size=32, jitter=0.0)
    turned = make_twin(90, rules, image_size=32)
    real = BlocksEnv(rules, image_size=32)
    plain = exact.reset(options={"states": np.arange(90)})[0].astype(int)
    shown = turned.reset(seed=0, options={"states": np.arange(90)})[0].astype(int)
    drops = np.stack([real.reset(seed=i, options={"state": i})[0] for i in range(90)]).astype(int)
    ours, theirs = np.abs(shown - plain).mean(), np.abs(drops - plain).mean()
    assert theirs > 0.5
    assert ours == pytest.approx(theirs, rel=0.15)


def test_towers_built_and_torn_down_for_whole_episodes_stay_those_of_the_rules():
    rng, real = np.random.default_rng(2), BlocksEnv(RULES, obs_type="state")
    for seed in range(5):
        real.reset(seed=seed)
        state, cells = real.start_states, rng.choice(9, size=2, replace=False)
        for action in rng.integers(4, size=40) * 9 + rng.choice(cells, size=40):
            state = RULES.move(state, action)
            real.step(action)
            np.testing.assert_array_equal(real.attributes, RULES.evaluate(state)[0])


def test_without_jitter_positions_are_those_of_physics():
    states, actions = random_pairs(RULES, 100)
    twin = make_twin(100, obs_type="state", jitter=0.0)
    twin.reset(options={"states": states})
    positions, *_ = twin.step(actions)
    real = BlocksEnv(RULES, obs_type="state", jitter=0.0)
    for i in range(100):
        real.reset(seed=0, options={"state": states[i]})
        np.testing.assert_allclose(real.step(actions[i])[0], positions[i], atol=0.02)


def test_a_seed_begins_where_single_environments_begin():
    twin = make_twin(5, obs_type="state")
    single = BlocksEnv(RULES, obs_type="state")
    for seed, singles in ((40, range(40, 45)), ([9, 3, 3, 8, 0], [9, 3, 3, 8, 0])):
        twin.reset(seed=seed)
        for i, one in enumerate(singles):
            single.reset(seed=one)
            assert twin.states[i] == single.state


def test_a_seed_makes_later_episodes_repeatable_too():
    def run():
        twin = gym.make_vec(ID, 3, obs_type="state", max_episode_steps=4)
        twin.reset(seed=5)
        rng = np.random.default_rng(1)
        return [twin.step(rng.integers(36, size=3))[0] for _ in range(30)]

    assert same(run(), run())


def test_a_seed_counts_when_states_are_given_too():
    twin, states = make_twin(20, obs_type="state"), np.arange(20)
    first, _ = twin.reset(seed=3, options={"states": states})
    again, _ = twin.reset(seed=3, options={"states": states})
    other, _ = twin.reset(seed=4, options={"states": states})
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_only_the_moved_block_changes_its_position():
    twin = make_twin(1, obs_type="state")
    before, _ = twin.reset(seed=0, options={"states": RULES.encode([[0, 2, 6, 8]], [[0] * 4])})
    after, *_ = twin.step(np.array([RULES.action("green", 4)]))
    changed = (before != after).reshape(4, 3).any(axis=1)
    assert changed.tolist() == [False, True, False, False]


def test_a_picture_stays_while_nothing_moves_and_is_drawn_from_the_split_when_it_does():
    states = np.repeat(RULES.encode([[0, 0, 6, 8]], [[0, 1, 0, 0]]), 400)
    for split, variants in (("train", {0, 1, 2, 3}), ("held_out", {4})):
        twin = make_twin(400, obs_type="state", split=split)
        twin.reset(seed=0, options={"states": states})
        before = twin.frame_numbers
        twin.step(np.full(400, RULES.action("red", 4)))  # covered
        np.testing.assert_array_equal(twin.frame_numbers, before)
        twin.step(np.full(400, RULES.action("green", 4)))
        assert set((twin.frame_numbers // RULES.n_states).tolist()) == variants
        np.testing.assert_array_equal(twin.frame_numbers % RULES.n_states, twin.states)


def test_pictures_are_those_of_the_frame_numbers_in_fresh_arrays():
    twin = make_twin(6, BlocksRules(2), image_size=32)
    first, _ = twin.reset(seed=0)
    kept = first.copy()
    np.testing.assert_array_equal(first, twin.frames.take(twin.frame_numbers))
    second, *_ = twin.step(np.arange(6))
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    assert second.flags.writeable


def test_a_mask_resets_the_marked_environments_only():
    twin = make_twin(4, obs_type="state", max_episode_steps=2)
    twin.reset(seed=0)
    twin.step(np.zeros(4, int))
    before = twin.states
    mask = np.array([True, False, False, True])
    twin.reset(options={"reset_mask": mask, "states": np.array([5, 6])})
    assert twin.states.tolist() == [5, before[1], before[2], 6]
    assert twin.start_states.tolist() == [5, 6]
    truncated = twin.step(np.zeros(4, int))[3]
    assert truncated.tolist() == [False, True, True, False]


def test_the_registered_batch_resets_in_the_same_step_and_knows_the_limit():
    envs = gym.make_vec(ID, 2, vectorization_mode="vector_entry_point")
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert envs.unwrapped.max_episode_steps == 40
    assert envs.single_observation_space == gym.make(ID).observation_space


@pytest.mark.parametrize("options", [{"obs_type": "state"}, {"n_blocks": 2, "image_size": 32}])
def test_observations_lie_in_their_space(options):
    envs = gym.make_vec(ID, 50, **options)
    assert envs.reset(seed=0)[0] in envs.observation_space
    for action in range(10):
        assert envs.step(np.full(50, action))[0] in envs.observation_space


@pytest.mark.parametrize("options", [{"obs_type": "state"}, {"n_blocks": 2, "image_size": 32}])
def test_a_pickled_batch_goes_on_where_it_was(options):
    envs = gym.make_vec(ID, 4, max_episode_steps=3, **options)
    envs.reset(seed=0)
    copy = pickle.loads(pickle.dumps(envs))
    for action in (1, 4, 12, 3):
        assert same(envs.step(np.full(4, action))[0], copy.step(np.full(4, action))[0])


def test_ppo_trains_on_batches_of_pictures():
    envs = VectorEnvAdapter(gym.make_vec(ID, 4, n_blocks=2, image_size=48))
    PPO("MultiInputPolicy", envs, n_steps=8, batch_size=16, n_epochs=1).learn(32)


def test_scripted_actions_solve_the_four_stack():
    envs = gym.make_vec(ID, 3, obs_type="state", task="four_stack")
    states = np.repeat(RULES.encode([[0, 2, 6, 8]], [[0] * 4]), 3)
    envs.reset(seed=0, options={"states": states})
    for color in ("blue", "green", "red"):
        _, rewards, terminated, *_ = envs.step(np.full(3, RULES.action(color, 8)))
    assert rewards.tolist() == [1, 1, 1]
    assert terminated.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_blocks": 5}, "Give obs_type='state', or make single environments"),
        ({"split": "test"}, "received 'test'"),
        ({"obs_type": "words"}, "received 'words'"),
        ({"image_size": 2000}, "received 2000"),
        ({"jitter": -1}, "received -1"),
        ({"num_envs": 0}, "num_envs must be at least 1"),
    ],
)
def test_bad_options_are_refused(options, message):
    options = {"num_envs": 2, **options}
    with pytest.raises(InvalidEnvironment, match=message):
        gym.make_vec(ID, **options, vectorization_mode="vector_entry_point")


def test_bad_resets_and_actions_are_refused():
    twin = make_twin(3, obs_type="state")
    with pytest.raises(InvalidEnvironment, match="3 environments need as many seeds"):
        twin.reset(seed=[1, 2])
    with pytest.raises(InvalidEnvironment, match="reset_mask holds 3 booleans"):
        twin.reset(options={"reset_mask": np.ones(2, bool)})
    with pytest.raises(InvalidEnvironment, match="needed: 3 states"):
        twin.reset(options={"states": np.array([0, 1, 11_880])})
    with pytest.raises(gym.error.InvalidAction, match=r"whole numbers of shape \(3,\)"):
        twin.step(np.zeros(2, int))
    with pytest.raises(gym.error.InvalidAction, match="actions are 0 to 35"):
        twin.step(np.array([0, 36, 0]))
