"""Encoders of the parts of any observation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import preprocess_obs
from stable_baselines3.common.torch_layers import create_mlp
from torch import nn

from gym_attrplan.models.fitting import Inputs
from gym_attrplan.models.networks import SmallImageNet
from gym_attrplan.wrappers.observation import GOAL_KEYS, FlatObservation

MAX_SYMBOLS = 256
"""Maximum number of symbols: integers below it are symbols at a position, above it words."""

_MIN_IMAGE_SIDE = 36
_SCALE_ROWS = 1 << 17  # rows from which mean and deviation are estimated


class ImageEncoder(nn.Module):
    """Encoder of a large image: convolutions with batch norm and ELU, halving the sides to about 4.

    Args:
        shape: ``(height, width)`` or with channels, first or last: the shortest axis.
        n_features: Number of outputs.
        scale: Divisor of the pixel values.
    """

    def __init__(self, shape: tuple[int, ...], n_features: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self._scale = scale
        axis = int(np.argmin(shape)) if len(shape) == 3 else None
        self._channel_axis = None if axis is None else axis + 1
        sides = [side for i, side in enumerate(shape) if i != axis]
        n_stages = max(3, round(math.log2(min(sides) / 4)))
        widths = [1 if axis is None else shape[axis], 32, 64, 64, *[128] * n_stages][: n_stages + 1]
        layers: list[nn.Module] = []
        for n_in, n_out in itertools.pairwise(widths):
            layers += [nn.Conv2d(n_in, n_out, 3, stride=2, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(n_out), nn.ELU()]
        sides = [-(-side // 2**n_stages) for side in sides]
        self._layers = nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(widths[-1] * math.prod(sides), n_features), nn.ELU()
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """``(n, …)`` pixels → ``(n, n_features)``."""
        pixels = image.float() / self._scale
        axis = self._channel_axis
        pixels = pixels[:, None] if axis is None else pixels.movedim(axis, 1)
        features: torch.Tensor = self._layers(pixels)
        return features


class WordBag(nn.Module):
    """Encoder of word numbers in any order, 0 for none: the rows of a table are summed.

    With ``by_place`` every position has a table of its own, for symbols: bytes, RAM, small counts.

    Args:
        n_places: Number of words.
        n_words: Largest word number, plus 1.
        n_features: Number of outputs.
        by_place: Whether the meaning of a word depends on its position.
    """

    _offsets: torch.Tensor

    def __init__(
        self, n_places: int, n_words: int, n_features: int, *, by_place: bool = False
    ) -> None:
        super().__init__()
        self._by_place = by_place
        self._table = nn.EmbeddingBag(
            n_words * (n_places if by_place else 1),
            n_features,
            mode="sum",
            padding_idx=None if by_place else 0,
        )
        with torch.no_grad():  # the variance of the sum of n_places rows stays near one
            self._table.weight.mul_(n_places**-0.5)
        self.register_buffer("_offsets", torch.arange(n_places) * n_words)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """``(n, …)`` word numbers → ``(n, n_features)``."""
        words = words.flatten(1).long()
        features: torch.Tensor = self._table(words + self._offsets if self._by_place else words)
        return torch.relu(features)


class Standardizer(nn.Module):
    """Standardises numbers by the mean and deviation of the training data, clipped to ±10."""

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, n_values: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_values))
        self.register_buffer("deviation", torch.ones(n_values))

    def learn_scale(self, values: torch.Tensor) -> None:
        """Compute mean and deviation from ``(n, …)`` training data."""
        sample = values[torch.arange(min(len(values), _SCALE_ROWS))]
        deviation, mean = torch.std_mean(sample.flatten(1).float(), dim=0, correction=0)
        self.mean.copy_(mean)
        # A value that never changed carries no information, and must not be scaled up later.
        self.deviation.copy_(torch.where(deviation > 1e-8, deviation, 1.0))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """``(n, …)`` → ``(n, n_values)``."""
        return ((values.flatten(1).float() - self.mean) / self.deviation).clamp(-10.0, 10.0)


def observation_parts(space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
    """Return key → space of the observation without goals, for any observation space."""
    if isinstance(space, spaces.Dict) and set(GOAL_KEYS) <= set(space.spaces):
        return {key: part for key, part in space.spaces.items() if key not in GOAL_KEYS}
    return FlatObservation(space).spaces


class ObservationEncoder(nn.Module):
    """Encoder of all parts of an observation, whose features are concatenated.

    Args:
        parts: Key → space, as from :class:`~gym_attrplan.wrappers.observation.FlatObservation`.
        part_features: Number of features of a part that is not plain numbers.
    """

    def __init__(self, parts: Mapping[str, spaces.Space[Any]], part_features: int) -> None:
        super().__init__()
        encoders, self.n_features = {}, 0
        for key, space in parts.items():
            encoders[key], length = _encoder(space, part_features)
            self.n_features += length
        self.encoders = nn.ModuleDict(encoders)

    def learn_scale(self, inputs: Inputs) -> None:
        """Compute the scale of parts of plain numbers from the training data."""
        for key, encoder in self.encoders.items():
            if isinstance(encoder, Standardizer):
                encoder.learn_scale(inputs[key])

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """``{key: (n, …)}`` → ``(n, n_features)``; other keys are ignored."""
        features = [encoder(inputs[key]) for key, encoder in self.encoders.items()]
        return torch.cat(features, dim=1)


class ObservationNetwork(nn.Module):
    """Network from an observation to logits: an :class:`ObservationEncoder` and a perceptron.

    Args:
        parts: Key → space.
        n_outputs: Number of logits.
        net_arch: Sizes of the hidden layers; the first is also that of each part's features.
    """

    def __init__(
        self, parts: Mapping[str, spaces.Space[Any]], n_outputs: int, net_arch: Sequence[int]
    ) -> None:
        super().__init__()
        self.encoder = ObservationEncoder(parts, net_arch[0] if net_arch else 256)
        layers = create_mlp(self.encoder.n_features, n_outputs, list(net_arch), nn.ELU)
        self.head = nn.Sequential(*layers)

    def forward(self, inputs: Inputs) -> torch.Tensor:
        """``{key: (n, …)}`` → ``(n, n_outputs)``."""
        logits: torch.Tensor = self.head(self.encoder(inputs))
        return logits


class _OneHot(nn.Module):
    """One-hot encoder of Discrete, MultiDiscrete and MultiBinary values, as in SB3's policies."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        super().__init__()
        self._space = space

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        seen = preprocess_obs(values, self._space)
        assert isinstance(seen, torch.Tensor)
        return seen.flatten(1)


def _encoder(space: spaces.Space[Any], n_features: int) -> tuple[nn.Module, int]:
    """Return the network for a part, and its number of outputs."""
    if not isinstance(space, spaces.Box):
        return _OneHot(space), spaces.flatdim(space)
    if _is_image(space):
        scale = 255.0 if space.dtype == np.uint8 else 1.0
        return ImageEncoder(space.shape, n_features, scale=scale), n_features
    n_values = math.prod(space.shape)
    if space.dtype.kind not in "iu" or space.low.min() < 0 or space.high.max() > 2**20:
        return Standardizer(n_values), n_values
    n_words = int(space.high.max()) + 1
    if len(space.shape) == 3 and space.dtype == np.int16 and n_words <= SmallImageNet.N_VALUES:
        return SmallImageNet(space.shape, n_features), n_features
    if n_words == 2:
        return _OneHot(spaces.MultiBinary(n_values)), n_values
    by_place = n_words <= MAX_SYMBOLS
    return WordBag(n_values, n_words, n_features, by_place=by_place), n_features


def _is_image(box: spaces.Box) -> bool:
    return len(box.shape) in (2, 3) and sorted(box.shape)[-2] >= _MIN_IMAGE_SIDE
