"""AttributeWrapper over scripted and real environments."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence
from testing_env import GenericTestEnv, spread, three_bits

from gym_attrplan import AttributeSpace, AttributeWrapper
from gym_attrplan.error import InvalidAttributes, InvalidEnvironment, InvalidGoal

BITS = ["four", "two", "one"]
IMAGE = spaces.Box(0, 255, (7, 7, 3), np.uint8)


def make(**options) -> AttributeWrapper:
    return AttributeWrapper(GenericTestEnv(), BITS, three_bits, **options)


def cell(env, observation):
    return [observation % 4, observation // 4]


def always_three(achieved, rng):
    return ["two, one, not four"] * len(achieved)


def test_reset_takes_a_goal_in_every_form():
    env = make()
    for goal in ({"four": 1, "one": 0}, [1, -1, 0], np.array([1, -1, 0]), "four, not one"):
        observation, info = env.reset(options={"goal": goal})
        assert observation["desired_goal"].tolist() == [1, -1, 0]
        assert observation["achieved_goal"].tolist() == [0, 0, 0]
        assert info["is_success"] is False


def test_reward_is_one_on_the_step_that_reaches_the_goal_and_ends_the_episode():
    env = make()
    env.reset(options={"goal": "two"})
    _, reward, terminated, _, info = env.step(1)
    assert (reward, terminated, info["is_success"]) == (0.0, False, False)
    _, reward, terminated, _, info = env.step(1)
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
    assert info["env_reward"] == 5.0
    assert info["attributes"].tolist() == [0, 1, 0]
    assert info["from"] == "step"


def test_a_goal_may_be_changed_within_an_episode():
    env = make()
    env.reset(options={"goal": "four"})
    env.set_goal("one")
    with pytest.raises(InvalidGoal):
        env.set_goal("won")
    observation, reward, terminated, _, _ = env.step(1)
    assert observation["desired_goal"].tolist() == [-1, -1, 1]
    assert (reward, terminated) == (1.0, True)


def test_step_penalty_and_going_on_after_success():
    env = make(step_penalty=0.25, terminate_on_success=False)
    env.reset(options={"goal": "one"})
    assert env.step(1)[1:3] == (0.75, False)
    assert env.step(1)[1:3] == (-0.25, False)


def test_a_goal_that_leaves_everything_free_is_done_at_once():
    env = make()
    _, info = env.reset(options={"goal": {}})
    assert info["is_success"] is True
    assert env.step(0)[1:3] == (1.0, True)


def test_the_inner_end_ends_the_episode_and_compute_terminated_knows():
    env = AttributeWrapper(GenericTestEnv(ends_at=1), BITS, three_bits)
    env.reset(options={"goal": "four"})
    observation, reward, terminated, _, info = env.step(1)
    assert (reward, terminated) == (0.0, True)
    goals = observation["achieved_goal"], observation["desired_goal"]
    assert env.compute_terminated(*goals, info)
    assert not env.compute_terminated(*goals, {})


def test_attributes_are_computed_once_a_step():
    calls = []

    def counted(env, observation):
        calls.append(observation)
        return three_bits(env, observation)

    env = AttributeWrapper(GenericTestEnv(), BITS, counted)
    env.reset()
    env.step(1)
    assert calls == [0, 1]


def test_the_default_sampler_draws_vectors_seen_so_far():
    env = make()
    observation, _ = env.reset(seed=0)
    assert observation["desired_goal"].tolist() == [0, 0, 0]  # all that it has seen
    env.reset(options={"goal": "four"})
    for _ in range(3):
        env.step(1)
    goals = {tuple(env.reset()[0]["desired_goal"].tolist()) for _ in range(60)}
    assert goals == {(0, 0, 1), (0, 1, 0), (0, 1, 1)}  # the current 0 is left out


def test_a_sampler_may_return_goals_in_any_form_and_be_named_as_text():
    env = make(goal_sampler="wrappers.test_attribute_wrapper:always_three")
    assert env.reset()[0]["desired_goal"].tolist() == [0, 1, 1]


def test_compute_reward_is_batched_and_pure():
    env = make(step_penalty=0.5)
    achieved = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 0]], np.int8)
    desired = np.array([[1, -1, -1], [1, 1, 1], [-1, -1, -1]], np.int8)
    rewards = env.compute_reward(achieved, desired, [{}] * 3)
    assert isinstance(rewards, np.ndarray)
    assert rewards.dtype == np.float32
    assert rewards.tolist() == [0.5, -0.5, 0.5]
    single = env.compute_reward(achieved[0], desired[0], {})
    assert isinstance(single, np.ndarray)
    assert single.shape == ()
    ends = env.compute_terminated(achieved, desired, [{}, {"env_terminated": True}, {}])
    assert ends.tolist() == [True, True, True]
    assert env.compute_truncated(achieved, desired, [{}] * 3).tolist() == [False] * 3


def test_functions_may_reuse_their_buffer():
    buffer = np.zeros(3, np.int8)

    def reusing(env, observation):
        buffer[:] = three_bits(env, observation)
        return buffer

    env = AttributeWrapper(GenericTestEnv(), BITS, reusing)
    first, _ = env.reset()
    env.step(1)
    assert first["achieved_goal"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("space", "observe", "keys"),
    [
        (spaces.Discrete(8, start=3), lambda n: np.int64(n + 3), {"observation"}),
        (spaces.Box(0, 8, (), np.float32), lambda n: np.float32(n), {"observation"}),
        (spaces.MultiBinary((2, 2)), lambda n: np.ones((2, 2), np.int8), {"observation"}),
        (
            spaces.MultiDiscrete([[3, 4]], start=[[1, 1]]),
            lambda n: np.array([[1, 2]]),
            {"observation"},
        ),
        (IMAGE, lambda n: np.full((7, 7, 3), n, np.uint8), {"observation"}),
        (
            spaces.Tuple([spaces.Discrete(8), spaces.Box(0, 9, (2,))]),
            lambda n: (np.int64(n), np.full(2, n, np.float32)),
            {"observation_0", "observation_1"},
        ),
        (
            spaces.Dict(
                {
                    "image": IMAGE,
                    "mission": spaces.Text(20),
                    "pose": spaces.Dict({"x.y": spaces.Box(0, 9, (1,))}),
                    "desired_goal": spaces.Discrete(2),
                }
            ),
            lambda n: {
                "image": np.full((7, 7, 3), n, np.uint8),
                "mission": "go",
                "pose": {"x.y": np.full(1, n, np.float32)},
                "desired_goal": np.int64(1),
            },
            {"image", "pose_x_y", "env_desired_goal"},
        ),
    ],
)
def test_every_observation_kind_becomes_one_flat_legal_level(space, observe, keys):
    env = AttributeWrapper(GenericTestEnv(space, observe), BITS, three_bits)
    observation, _ = env.reset(seed=0)
    assert set(observation) == keys | {"achieved_goal", "desired_goal"}
    assert env.observation_space.contains(observation)
    assert env.observation_space.contains(env.step(1)[0])


def test_text_is_kept_as_bytes_when_asked_for():
    space = spaces.Dict({"mission": spaces.Text(20)})
    inner = GenericTestEnv(space, lambda n: {"mission": "go"})
    env = AttributeWrapper(inner, BITS, three_bits, text=4)
    assert env.reset()[0]["mission"].tolist() == [*b"go", 0, 0]
    with pytest.raises(InvalidEnvironment, match="text="):
        AttributeWrapper(inner, BITS, three_bits)


def test_observations_without_a_fixed_shape_are_refused():
    inner = GenericTestEnv(spaces.Sequence(spaces.Discrete(2)), lambda n: (0,))
    with pytest.raises(InvalidEnvironment, match="Sequence, which has no fixed shape"):
        AttributeWrapper(inner, BITS, three_bits)


def test_other_options_reach_the_inner_environment():
    inner = GenericTestEnv()
    env = AttributeWrapper(inner, BITS, three_bits)
    env.reset(options={"goal": "one", "level": 3})
    assert inner.last_options == {"level": 3}
    env.reset(options={"goal": "one"})
    assert inner.last_options is None


def test_the_spec_rebuilds_the_environment_and_goes_through_json():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    function = "wrappers.test_attribute_wrapper:cell"
    env = AttributeWrapper(env, {"x": 4, "y": 4}, function, step_penalty=0.1)
    text = env.spec.to_json()
    again = gym.make(gym.envs.registration.EnvSpec.from_json(text))
    assert again.get_wrapper_attr("attribute_space") == env.attribute_space
    assert again.get_wrapper_attr("step_penalty") == 0.1
    assert data_equivalence(again.reset(seed=3)[0], env.reset(seed=3)[0])
    assert data_equivalence(gym.make(env.spec).reset(seed=3)[0], env.reset(seed=3)[0])


def test_pickling_keeps_the_state():
    env = make()
    env.reset(options={"goal": "four"})
    env.step(1)
    again = pickle.loads(pickle.dumps(env))
    for one, other in zip(env.step(1), again.step(1), strict=True):
        assert data_equivalence(one, other)


def test_a_seed_makes_worlds_and_goals_reproducible():
    def rollout():
        env = AttributeWrapper(gym.make("CartPole-v1"), ["a", "b", "c"], spread)
        seen = [env.reset(seed=7)[0]]
        env.action_space.seed(7)
        for _ in range(200):
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            seen.append(observation)
            if terminated or truncated:
                seen.append(env.reset()[0])
        return seen

    assert all(data_equivalence(a, b) for a, b in zip(rollout(), rollout(), strict=True))


def test_goals_are_drawn_from_another_stream_than_worlds_with_the_same_seed():
    class Drawn(GenericTestEnv):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.count = int(self.np_random.integers(8))
            return self.count, {}

    def draw(achieved, rng):
        return [three_bits_of(int(rng.integers(8)))]

    env = AttributeWrapper(Drawn(), BITS, three_bits, goal_sampler=draw)
    met = [env.reset(seed=seed)[1]["is_success"] for seed in range(400)]
    assert 0.05 < np.mean(met) < 0.25  # one in eight, were they independent


def three_bits_of(count):
    return [count >> 2 & 1, count >> 1 & 1, count & 1]


def test_gymnasium_accepts_the_wrapped_environment():
    check_env(make(), skip_render_check=True)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0, 1], r"3 values.*received shape \(2,\)"),
        ([0, 1, 2], "'one' the value 2"),
        ([0, 1, -1], "the value -1"),
        ([0.0, 1.0, 0.0], "whole numbers"),
        ([0, 1, float("nan")], "whole numbers"),
        ([[0, 1, 1]], r"received shape \(1, 3\)"),
        ({"four": 1, "two": 1}, r"\['one'\] not given"),
        ({"four": 1, "two": 1, "on": 1}, "Did you mean 'one'"),
        (None, "whole numbers"),
    ],
)
def test_a_wrong_attribute_function_is_named(answer, message):
    env = AttributeWrapper(GenericTestEnv(), BITS, lambda env, observation: answer)
    with pytest.raises(InvalidAttributes, match=message):
        env.reset()


def test_a_bad_goal_is_refused_before_anything_changes():
    inner = GenericTestEnv()
    env = AttributeWrapper(inner, BITS, three_bits)
    env.reset(options={"goal": "one"})
    env.step(1)
    with pytest.raises(InvalidGoal, match="Did you mean"):
        env.reset(options={"goal": "ones"})
    assert inner.count == 1
    assert env.step(0)[0]["desired_goal"].tolist() == [-1, -1, 1]


@pytest.mark.parametrize("function", ["nowhere", "math:pi", "math:nothing", "no_such_module:f", 3])
def test_a_function_that_cannot_be_called_is_refused(function):
    with pytest.raises(InvalidAttributes):
        AttributeWrapper(GenericTestEnv(), BITS, function)


@pytest.mark.parametrize(
    "options",
    [{"function": lambda observation: [0, 0, 0]}, {"goal_sampler": lambda rng, *, n: [[0, 0, 1]]}],
)
def test_a_function_of_other_arguments_is_refused_when_wrapping(options):
    with pytest.raises(InvalidAttributes, match=r"is called with .* cannot be"):
        AttributeWrapper(GenericTestEnv(), BITS, **{"function": three_bits, **options})


def test_a_negative_step_penalty_is_refused():
    with pytest.raises(InvalidGoal, match="at least 0"):
        make(step_penalty=-1.0)


def test_a_space_is_taken_as_it_is():
    space = AttributeSpace(BITS)
    assert AttributeWrapper(GenericTestEnv(), space, three_bits).attribute_space == space


def test_an_episode_can_be_told_to_end_with_its_next_step():
    env = make()
    env.reset(options={"goal": "four"})
    env.truncate_episode()
    assert env.step(0)[2:4] == (False, True)
    env.reset(options={"goal": "four"})
    assert env.step(0)[2:4] == (False, False)
