"""The networks: what they compute, on values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper, GoalFusionExtractor
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models import GoalFusion, SmallImageNet

BITS = ["four", "two", "one"]


def test_goal_fusion_shows_current_wanted_and_changed():
    fusion = GoalFusion(np.array([2, 3]))
    achieved = torch.tensor([[0.0, 2.0], [1.0, 1.0]])
    desired = torch.tensor([[1.0, 2.0], [-1.0, 0.0]])
    current = [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    wanted = [[0, 1, 0, 0, 1], [0, 0, 1, 0, 0]]
    changed = [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    expected = np.concatenate([current, wanted, changed], axis=1)
    assert fusion(achieved, desired).tolist() == expected.tolist()
    assert fusion.n_features == 15


def test_a_small_image_is_read_by_symbol_and_channel():
    torch.manual_seed(0)
    network = SmallImageNet((3, 3, 2), n_features=4)
    image = torch.zeros(3, 3, 3, 2)
    image[1, 0, 0, 0] = 5  # the same symbol in another channel is another symbol
    image[2, 0, 0, 1] = 5
    features = network(image)
    assert features.shape == (3, 4)
    assert len({tuple(row) for row in features.detach().numpy().round(6).tolist()}) == 3


@pytest.mark.parametrize("side", [7, 20, 64])
def test_ppo_trains_on_images_of_every_size(side):
    space = spaces.Box(0, 255, (side, side, 3), np.uint8)
    inner = GenericTestEnv(space, lambda n: np.full((side, side, 3), n, np.uint8))
    env = AttributeWrapper(inner, BITS, three_bits)
    kwargs = {"features_extractor_class": GoalFusionExtractor}
    for policy_kwargs in ({}, kwargs):
        PPO("MultiInputPolicy", env, n_steps=16, policy_kwargs=policy_kwargs).learn(16)


def test_the_extractor_sees_a_change_of_the_goal_alone():
    env = AttributeWrapper(GenericTestEnv(), BITS, three_bits)
    extractor = GoalFusionExtractor(env.observation_space)
    parts = {"observation": torch.zeros(2, 8), "achieved_goal": torch.zeros(2, 3)}
    goals = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    one, other = extractor({**parts, "desired_goal": goals})
    assert not torch.equal(one, other)
    assert extractor.features_dim == len(one)


def test_the_extractor_needs_goals():
    with pytest.raises(InvalidEnvironment, match="Wrap the environment"):
        GoalFusionExtractor(spaces.Dict({"observation": spaces.Discrete(2)}))
