"""The networks: what they compute, on values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import DQN, PPO
from testing_env import GenericTestEnv, three_bits

from gym_attrplan import AttributeWrapper, GoalFusionExtractor
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.models import GoalFusion, SmallImageNet
from gym_attrplan.models.networks import RunningNorm, SymbolView

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


def test_numbers_are_normalised_by_all_that_was_seen_in_training():
    norm = RunningNorm(6)
    seen = torch.randn(300, 2, 3, generator=torch.manual_seed(0)) * 40.0 + 1_000.0
    for part in seen.split([100, 150, 50]):
        norm(part)
    flat = seen.flatten(1)
    torch.testing.assert_close(norm.running_mean, flat.mean(dim=0))
    torch.testing.assert_close(norm.running_var, flat.var(dim=0, correction=0))
    norm.eval()
    wanted = (flat - flat.mean(dim=0)) / flat.std(dim=0, correction=0)
    torch.testing.assert_close(norm(seen), wanted, atol=1e-3, rtol=1e-3)
    assert norm(torch.full((1, 2, 3), 1e9)).tolist() == [[10.0] * 6]  # and nothing was gathered
    torch.testing.assert_close(norm.running_mean, flat.mean(dim=0))


def test_a_number_that_never_changes_says_nothing():
    norm = RunningNorm(1)
    assert norm(torch.full((4, 1), 7.0)).tolist() == [[0.0]] * 4


def test_statistics_belong_to_the_weights_and_target_networks_follow_them():
    space = spaces.Box(-1e6, 1e6, (2,), np.float32)
    inner = GenericTestEnv(space, lambda n: np.array([1e5 * n, 0.0], np.float32))
    env = AttributeWrapper(inner, BITS, three_bits)
    kwargs = {"features_extractor_class": GoalFusionExtractor}
    model = DQN("MultiInputPolicy", env, learning_starts=10, policy_kwargs=kwargs, seed=0)
    model.learn(200)
    names = [name for name in model.q_net.state_dict() if "running_" in name]
    assert len(names) == 3
    model.target_update_interval = 1
    model._on_step()
    for name in names:
        mine, target = model.q_net.state_dict()[name], model.q_net_target.state_dict()[name]
        assert mine.tolist() == target.tolist()
    assert model.q_net.state_dict()[names[0]][0] > 1e4


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


@pytest.mark.parametrize("n_values", [8, 250])
def test_few_symbols_and_many_are_looked_up_alike(n_values):
    """Few by a product of matrices, many in the table: the same sums and the same derivatives."""
    view = SymbolView((7, 7, 3), n_features=5, n_parts=2)
    symbols = torch.randint(n_values, (40, 7, 7, 3), generator=torch.manual_seed(0))
    words = symbols + view._offsets
    assert (len(words.unique()) > SymbolView.FEW) == (n_values == 250)
    slopes = torch.randn(40, 7, 7, 32, generator=torch.manual_seed(1))
    found = []
    for codes in (view._look_up(words), view._table(words).sum(dim=3)):
        view.zero_grad()
        codes.backward(slopes)
        found.append((codes.detach(), view._table.weight.grad.clone()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_what_matters_in_a_view_depends_on_what_is_asked_for():
    view = SymbolView((7, 7, 3), n_features=64, n_parts=2)
    symbols = torch.randint(8, (2, 7, 7, 3), generator=torch.manual_seed(0))
    nothing, one, other = (torch.tensor([parts] * 2) for parts in ([0.0, 0], [1.0, 0], [0, 1.0]))
    with torch.no_grad():
        read = [view(symbols, asked) for asked in (nothing, one, other)]
        assert not any(torch.allclose(read[i], read[j]) for i, j in ((0, 1), (0, 2), (1, 2)))
        view._gains.weight[0] = -1.0  # then nothing in any cell matters
        blank = view(symbols, one)
    torch.testing.assert_close(blank[0], blank[1])


def test_values_whose_names_share_parts_share_what_is_learned():
    goal = spaces.Box(-1, 2, (1,), np.int8)
    space = spaces.Dict(
        {
            "achieved_goal": goal,
            "desired_goal": goal,
            "image": spaces.Box(0, 255, (7, 7, 3), np.int16),
        }
    )
    names = ["facing=nothing", "facing=red ball", "facing=red_key"]
    extractor = GoalFusionExtractor(space, names=names)
    seen = {
        "achieved_goal": torch.zeros(1, 1),
        "desired_goal": torch.ones(1, 1),
        "image": torch.randint(8, (1, 7, 7, 3), generator=torch.manual_seed(0)),
    }
    extractor(seen).sum().backward()
    learns = extractor.parts["image"]._gains.weight.grad.abs().sum(dim=1) > 0
    # facing=nothing, facing, nothing, facing=red ball, red, ball, facing=red_key, key
    assert learns.tolist() == [False, True, False, True, True, True, False, False]


def test_the_extractor_needs_a_name_for_each_value():
    goal = spaces.Box(-1, 2, (1,), np.int8)
    space = spaces.Dict({"achieved_goal": goal, "desired_goal": goal})
    with pytest.raises(InvalidEnvironment, match="each of the 3 values has a name; received 1"):
        GoalFusionExtractor(space, names=["red"])
