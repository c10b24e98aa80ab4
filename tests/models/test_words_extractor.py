import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO

import gym_attrplan  # noqa: F401  registers the environments
from gym_attrplan import AttributeSpace
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models import WordsExtractor

BOX = AttributeSpace({"lamp": 3, "door": 2}).box
SPACE = spaces.Dict(
    {
        "observation": spaces.Box(0, 10, (4,), np.int16),
        "achieved_goal": BOX,
        "desired_goal": BOX,
    }
)


def batch(words, achieved, desired):
    rows = {"observation": words, "achieved_goal": achieved, "desired_goal": desired}
    return {key: torch.tensor([row], dtype=torch.float32) for key, row in rows.items()}


def test_goal_words_name_the_changes_wanted_and_nothing_else():
    extractor = WordsExtractor(SPACE, n_features=6)

    def words(achieved, desired):
        return extractor.goal_words(batch([0] * 4, achieved, desired)).tolist()[0]

    # The observation's words are 1 to 10, so lamp=0,1,2 are 11, 12, 13 and door=0,1 are 14, 15.
    assert words([0, 1], [2, 0]) == [13, 14]
    assert words([2, 1], [2, 0]) == [0, 14]
    assert words([0, 1], [-1, 1]) == [0, 0]


def test_features_are_the_sum_of_the_words_rows():
    extractor = WordsExtractor(SPACE, n_features=6, pairs=False)
    rows = extractor.bag.weight
    features = extractor(batch([3, 10, 0, 0], [0, 1], [2, 1]))
    expected = torch.relu(rows[3] + rows[10] + rows[13] + extractor.bias)
    torch.testing.assert_close(features[0], expected)


def test_words_are_paired_with_the_attributes_that_must_change():
    extractor = WordsExtractor(SPACE, n_features=6)
    rows, pairs = extractor.bag.weight, extractor.pair_bag.weight
    features = extractor(batch([3, 10, 0, 0], [0, 1], [2, 1]))
    # Only the lamp, attribute 0 of 2, must change: words 3 and 10 with it are pairs 6 and 20.
    words = rows[3] + rows[10] + rows[13]
    expected = torch.relu(words + pairs[6] + pairs[20] + extractor.bias)
    torch.testing.assert_close(features[0], expected)


def test_samples_keep_their_pairs_apart():
    extractor = WordsExtractor(SPACE, n_features=6)
    samples = [
        batch([3, 10, 0, 0], [0, 1], [0, 1]),
        batch([1, 2, 4, 5], [0, 1], [2, 0]),
        batch([7, 0, 0, 0], [0, 1], [-1, 0]),
    ]
    together = {key: torch.cat([one[key] for one in samples]) for key in samples[0]}
    alone = torch.cat([extractor(one) for one in samples])
    torch.testing.assert_close(extractor(together), alone)


def test_padding_says_nothing_and_learns_nothing():
    extractor = WordsExtractor(SPACE, n_features=6)
    features = extractor(batch([0, 0, 0, 0], [0, 1], [0, 1]))
    features.sum().backward()
    assert not features.any()
    assert not extractor.bag.weight.grad.any()
    assert not extractor.pair_bag.weight.grad.any()


@pytest.mark.parametrize("id_", ["AttrSwitches-v0", "AttrCrafting-v0"])
def test_the_policy_sees_the_goal_change_when_nothing_else_does(id_):
    env = gym.make(id_)
    model = PPO(
        "MultiInputPolicy", env, policy_kwargs={"features_extractor_class": WordsExtractor}, seed=0
    )
    observation, _ = env.reset(seed=0)
    other = {**observation, "desired_goal": np.roll(observation["desired_goal"], 1)}
    seen = []
    for one in (observation, other):
        tensors, _ = model.policy.obs_to_tensor(one)
        seen.append(model.policy.extract_features(tensors))
    assert not torch.equal(*seen)


@pytest.mark.parametrize("obs_type", ["multi_hot", "rgb"])
def test_observations_that_hold_no_words_are_refused(obs_type):
    env = gym.make("AttrSwitches-v0", obs_type=obs_type)
    with pytest.raises(InvalidEnvironment, match='obs_type="words"'):
        WordsExtractor(env.observation_space)


def test_a_space_without_goals_is_refused():
    with pytest.raises(InvalidEnvironment, match="achieved_goal and desired_goal"):
        WordsExtractor(spaces.Dict({"observation": SPACE["observation"]}))
