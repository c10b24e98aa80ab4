"""Networks that grow: what is refused, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidOption
from gym_attrplan.models import GoalFusionExtractor, WordsExtractor
from gym_attrplan.models.growing import grow_weights, input_blocks


def observed(names, part):
    goals = dict.fromkeys(("achieved_goal", "desired_goal"), AttributeSpace(names).box)
    return spaces.Dict({**goals, "observation": part})


@pytest.mark.parametrize(
    ("extractor", "part"),
    [
        (GoalFusionExtractor, spaces.Box(-1, 1, (3,), np.float32)),
        (GoalFusionExtractor, spaces.Box(0, 255, (7, 7, 3), np.int16)),
        (WordsExtractor, spaces.Box(0, 20, (5,), np.int16)),
    ],
)
def test_features_are_as_before_whatever_the_new_attribute_is(extractor, part):
    torch.manual_seed(0)
    small, large = observed(["a", "b"], part), observed(["a", "b", "c"], part)
    old, new = extractor(small).eval(), extractor(large).eval()
    layers = [torch.nn.Linear(one.features_dim, 4) for one in (old, new)]
    before = {**old.state_dict(), "layer": layers[0].weight}
    after = {**new.state_dict(), "layer": layers[1].weight}
    grown = grow_weights(before, after, old.blocks, new.blocks)
    layer = grown.pop("layer")
    new.load_state_dict(grown)
    rng = np.random.default_rng(0)
    rows = {key: torch.as_tensor(rng.integers(0, 2, (6, 2))).float() for key in small if "_" in key}
    rows["observation"] = torch.as_tensor(np.stack([part.sample() for _ in range(6)])).float()
    wider = {key: torch.cat([rows[key], torch.zeros(6, 1)], 1) for key in rows if "_" in key}
    wider["achieved_goal"][::2, 2] = 1.0
    wider["desired_goal"][:, 2] = -1.0
    with torch.no_grad():
        expected = old(rows) @ layers[0].weight.T
        found = new({**rows, **wider}) @ layer.T
    torch.testing.assert_close(found, expected)


def test_networks_that_differ_in_more_are_refused():
    weights = {"a": torch.zeros(2, 3)}
    with pytest.raises(InvalidOption, match="has other parts"):
        grow_weights(weights, {"b": torch.zeros(2, 3)}, [3], [4])
    with pytest.raises(InvalidOption, match=r"a has shape \(2, 3\), and \(3, 4\)"):
        grow_weights(weights, {"a": torch.zeros(3, 4)}, [3], [4])
    with pytest.raises(InvalidOption, match="reads other features"):
        grow_weights(weights, {"a": torch.zeros(2, 6)}, [3], [4])


def test_an_extractor_of_somebody_else_is_refused_by_name():
    model = PPO("MlpPolicy", make_vec_env("CartPole-v1"), n_steps=8, batch_size=8)
    with pytest.raises(InvalidOption, match="received FlattenExtractor"):
        input_blocks(model.policy)
