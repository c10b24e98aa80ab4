import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeVectorWrapper, AttributeWrapper, TerminalHerReplayBuffer
from gym_attrplan.agent.vec_env import VectorEnvAdapter
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models import WordsExtractor

ID = "AttrSwitches-v0"
TINY = {"size": 4, "n_switches": 1, "n_colors": 2, "n_walls": 0}


def make_batch(n=4, **options):
    return gym.make_vec(ID, n, vectorization_mode="vector_entry_point", **options)


def make_sync(n=4, **options):
    mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    return gym.make_vec(ID, n, vectorization_mode="sync", vector_kwargs=mode, **options)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


def test_it_does_what_dummy_vec_env_does_over_many_episodes():
    options = {**TINY, "max_episode_steps": 9}
    ours = VectorEnvAdapter(make_sync(**options))
    theirs = DummyVecEnv([lambda: Monitor(gym.make(ID, **options)) for _ in range(4)])
    ours.seed(5), theirs.seed(5)
    assert_same(ours.reset(), theirs.reset())
    rng, n_met, n_cut = np.random.default_rng(0), 0, 0
    for _ in range(200):
        actions = rng.integers(5, size=4)
        (observations, rewards, dones, infos) = ours.step(actions)
        expected, their_rewards, their_dones, their_infos = theirs.step(actions)
        assert_same(observations, expected)
        np.testing.assert_array_equal(rewards, their_rewards)
        np.testing.assert_array_equal(dones, their_dones)
        assert (rewards.dtype, dones.dtype) == (their_rewards.dtype, their_dones.dtype)
        for i in np.flatnonzero(dones):
            assert_same(infos[i]["terminal_observation"], their_infos[i]["terminal_observation"])
            for key in ("TimeLimit.truncated", "is_success", "env_terminated"):
                assert infos[i][key] == their_infos[i][key]
            for key in "rl":
                assert infos[i]["episode"][key] == their_infos[i]["episode"][key]
            n_met += infos[i]["is_success"]
            n_cut += infos[i]["TimeLimit.truncated"]
    assert min(n_met, n_cut) > 5


def test_the_batched_twin_begins_in_the_worlds_of_dummy_vec_env():
    ours = VectorEnvAdapter(make_batch(max_episode_steps=20))
    theirs = DummyVecEnv([lambda: gym.make(ID, max_episode_steps=20) for _ in range(4)])
    goals = [{"goal": f"switch {i + 1}=red"} for i in range(4)]
    for envs in (ours, theirs):
        envs.seed(3)
        envs.set_options(goals)
    assert_same(ours.reset(), theirs.reset())
    rng, running = np.random.default_rng(0), np.ones(4, bool)
    for _ in range(20):
        actions = rng.integers(5, size=4)
        observations, rewards, dones, infos = ours.step(actions)
        expected, their_rewards, their_dones, their_infos = theirs.step(actions)
        np.testing.assert_array_equal(dones[running], their_dones[running])
        np.testing.assert_array_equal(rewards[running], their_rewards[running])
        for i in np.flatnonzero(running & dones):
            assert_same(infos[i]["terminal_observation"], their_infos[i]["terminal_observation"])
        running &= ~dones
        for key in observations:
            np.testing.assert_array_equal(observations[key][running], expected[key][running])
    assert not running.any()


def test_a_running_episode_says_nothing_and_an_ended_one_everything():
    envs = VectorEnvAdapter(make_batch(2, max_episode_steps=3, step_penalty=0.5))
    envs.seed(0)
    envs.reset()
    assert envs.step(np.array([0, 1]))[3] == [{}, {}]
    envs.step(np.array([0, 1]))
    observations, _, dones, infos = envs.step(np.array([0, 1]))
    assert dones.tolist() == [True, True]
    assert infos[0]["TimeLimit.truncated"] is True
    assert infos[0]["is_success"] is False
    assert (infos[0]["episode"]["r"], infos[0]["episode"]["l"]) == (-1.5, 3)
    assert not np.array_equal(
        infos[0]["terminal_observation"]["observation"], observations["observation"][0]
    )
    assert envs.step(np.array([0, 1]))[3] == [{}, {}]


def test_a_batch_that_resets_in_the_next_step_is_refused_with_the_remedy():
    with pytest.raises(InvalidEnvironment, match=r"NEXT_STEP.*SAME_STEP"):
        VectorEnvAdapter(gym.make_vec("CartPole-v1", 2, vectorization_mode="sync"))


def test_methods_are_called_once_for_the_batch():
    envs = VectorEnvAdapter(make_batch())
    achieved = np.zeros((7, 4), np.int8)
    (rewards,) = envs.env_method("compute_reward", achieved, achieved, [{}] * 7, indices=[0])
    (ended,) = envs.env_method("compute_terminated", achieved, achieved, [{}] * 7, indices=[0])
    assert rewards.tolist() == [1.0] * 7
    assert ended.tolist() == [True] * 7


def test_a_method_meant_for_one_environment_reaches_no_other():
    def make():
        bits = ["four", "two", "one"]
        return AttributeWrapper(GenericTestEnv(), bits, three_bits, terminate_on_success=False)

    envs = SyncVectorEnv([make] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    venv = VectorEnvAdapter(envs)
    venv.reset()
    venv.env_method("truncate_episode", indices=[1])
    assert venv.step(np.array([0, 0, 0]))[2].tolist() == [False, True, False]
    assert venv.get_attr("terminate_on_success", indices=[2]) == [False]


def test_attributes_are_found_in_every_layer_and_set_for_all():
    envs = VectorEnvAdapter(make_batch())
    assert [space.names[0] for space in envs.get_attr("attribute_space", [0, 1])] == [
        "switch 1",
        "switch 1",
    ]
    assert envs.get_attr("rules")[3].n_switches == 4
    assert envs.has_attr("max_episode_steps")
    assert not envs.has_attr("no_such_thing")
    envs.set_attr("max_episode_steps", 7)
    assert envs.envs.unwrapped.max_episode_steps == 7
    with pytest.raises(InvalidEnvironment, match="set 'max_episode_steps' for all"):
        envs.set_attr("max_episode_steps", 7, indices=[0])


def test_wrappers_are_known():
    envs = VectorEnvAdapter(make_batch())
    assert envs.env_is_wrapped(AttributeVectorWrapper, [0]) == [True]
    assert envs.env_is_wrapped(Monitor, [0]) == [True]
    assert envs.env_is_wrapped(gym.wrappers.TimeLimit, [0]) == [False]


def test_options_last_for_one_reset():
    envs = VectorEnvAdapter(make_batch())
    envs.set_options({"goal": "switch 1=blue"})
    assert envs.reset()["desired_goal"].tolist() == [[2, -1, -1, -1]] * 4
    assert (envs.reset()["desired_goal"] >= 0).all()
    with pytest.raises(InvalidEnvironment, match="4 options with the same keys"):
        envs.set_options([{"goal": "switch 1=blue"}, {}, {}, {}])


def test_pictures_are_tiled():
    envs = VectorEnvAdapter(make_batch(4, size=4, n_switches=2, n_walls=0, render_mode="rgb_array"))
    envs.reset()
    assert envs.render("rgb_array").shape == (256, 256, 3)


def test_hindsight_works_on_a_batch():
    model = DQN(
        "MultiInputPolicy",
        VectorEnvAdapter(make_batch(4, **TINY, max_episode_steps=8)),
        replay_buffer_class=TerminalHerReplayBuffer,
        learning_starts=64,
        policy_kwargs={"features_extractor_class": WordsExtractor},
    )
    model.learn(200)
    assert model.num_timesteps >= 200


@pytest.mark.learning
def test_ppo_learns_to_walk_to_the_switch_and_toggle_it(seed):
    envs = VectorEnvAdapter(make_batch(64, **TINY, max_episode_steps=12, step_penalty=0.05))
    model = PPO(
        "MultiInputPolicy",
        envs,
        n_steps=16,
        batch_size=512,
        n_epochs=4,
        learning_rate=5e-3,
        gamma=0.9,
        policy_kwargs={"features_extractor_class": WordsExtractor, "net_arch": [32]},
        seed=seed,
    )
    model.learn(24_000)
    assert np.mean(model.ep_success_buffer) > 0.95
    # At best an episode pays 1 on its last step and takes 2 to 3: never less than 0.85.
    reward, _ = evaluate_policy(model, envs, n_eval_episodes=100)
    assert reward > 0.8
