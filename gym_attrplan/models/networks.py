"""Feature extractors for SB3 policies, which combine the observation and the desired change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import get_flattened_obs_dim, is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, NatureCNN
from torch import nn

from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers.observation import NATURE_CNN_MIN

Observations = dict[str, torch.Tensor]


class GoalFusion(nn.Module):
    """Encoder of goals as one-hot words: current values, wanted values, and those that *differ*.

    Comparing two vectors is hard for a small network and trivial here. A policy that gets the
    desired change learns more than twice as many hops in the same number of steps. Free
    attributes are zeros.

    Args:
        sizes: Number of values of each attribute.

    Attributes:
        n_words: Number of values of all attributes.
        n_features: Number of outputs: a block of words for each of the three.
        blocks: Number of outputs of each block.
    """

    _offsets: torch.Tensor

    def __init__(self, sizes: np.ndarray[Any, np.dtype[Any]]) -> None:
        super().__init__()
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.register_buffer("_offsets", torch.as_tensor(offsets, dtype=torch.long))
        self.n_words = int(np.sum(sizes))
        self.n_features = 3 * self.n_words
        self.blocks = [self.n_words] * 3

    def forward(self, achieved: torch.Tensor, desired: torch.Tensor) -> torch.Tensor:
        """``(n, n_attributes)`` twice → ``(n, 3 * sum of sizes)``."""
        wanted = desired >= 0
        changed = wanted & (desired != achieved)
        rows = [(achieved, torch.ones_like(wanted)), (desired, wanted), (desired, changed)]
        return torch.cat([self._one_hot(values, where) for values, where in rows], dim=1)

    def _one_hot(self, values: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        words = values.new_zeros((len(values), self.n_words), dtype=torch.float32)
        positions = values.long().clamp(min=0) + self._offsets
        return words.scatter_(1, positions, where.float())


class SmallImageNet(nn.Module):
    """Encoder of a small image of pixels or symbols, ``(n, height, width, channels)``.

    Every value is looked up in a table of its channel: symbols have no order that a convolution
    over raw numbers could use.

    Args:
        shape: ``(height, width, channels)``.
        n_features: Number of outputs.
    """

    N_VALUES = 256
    _offsets: torch.Tensor

    def __init__(self, shape: tuple[int, ...], n_features: int = 128) -> None:
        super().__init__()
        height, width, n_channels = shape
        self._table = nn.Embedding(self.N_VALUES * n_channels, 8)
        self.register_buffer("_offsets", torch.arange(n_channels) * self.N_VALUES)
        self._convolutions = nn.Sequential(
            nn.Conv2d(8 * n_channels, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * height * width, n_features),
            nn.ReLU(),
        )
        self.n_features = n_features

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """``(n, height, width, channels)`` values 0 … 255 → ``(n, n_features)``."""
        symbols = self._table(image.long() + self._offsets)
        features: torch.Tensor = self._convolutions(symbols.flatten(3).permute(0, 3, 1, 2))
        return features


class SymbolView(nn.Module):
    """Encoder of a small grid of symbols, such as MiniGrid's view, for what is asked for.

    A cell is encoded as the sum of table rows, one for each channel's value. What matters in a
    cell depends on what is asked for, so the numbers of its code are multiplied by gains, which
    are sums too: one table row for each part of the names of the values asked for. Where goal and
    view meet only in later layers, these have to learn each pair of a goal and a symbol. One layer
    then reads each cell, and another all cells by position. For a view of 7×7 that takes a
    tenth of the multiplications of :class:`SmallImageNet`, which matters since a policy reads
    every observation several times.

    Args:
        shape: ``(height, width, channels)``.
        n_features: Number of outputs.
        n_parts: Number of parts of names.
        n_codes: Length of a table's row.
    """

    FEW = 64
    N_OF_CELL = 8
    _offsets: torch.Tensor

    def __init__(
        self, shape: tuple[int, ...], n_features: int = 128, *, n_parts: int, n_codes: int = 32
    ) -> None:
        super().__init__()
        height, width, n_channels = shape
        n_values = SmallImageNet.N_VALUES
        self._table = nn.Embedding(n_values * n_channels, n_codes)
        self._gains = nn.Embedding(n_parts, n_codes)
        nn.init.normal_(self._gains.weight, std=1.0 / 3.0)
        self.register_buffer("_offsets", torch.arange(n_channels) * n_values)
        self._cell = nn.Linear(n_codes, self.N_OF_CELL)
        self._cells = nn.Linear(height * width * self.N_OF_CELL, n_features)

    def forward(self, image: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """``(n, height, width, channels)`` of 0 … 255, ``(n, n_parts)`` → ``(n, n_features)``."""
        codes = torch.relu(self._look_up(image.long() + self._offsets))
        gains = 1.0 + asked @ self._gains.weight
        cells = torch.relu(self._cell(codes * gains[:, None, None]))
        return torch.relu(self._cells(cells.flatten(1)))

    def _look_up(self, words: torch.Tensor) -> torch.Tensor:
        """``(…, channels)`` → ``(…, n_codes)``, the sums of the words' rows.

        If there are few different words, a matrix product replaces the look-up. The gradient of a
        look-up adds the rows one by one, which would take a third of the training time.
        """
        seen = torch.bincount(words.flatten(), minlength=len(self._table.weight)) > 0
        used = seen.nonzero()[:, 0]
        if len(used) > self.FEW:
            codes: torch.Tensor = self._table(words).sum(dim=-2)
            return codes
        places = (seen.cumsum(0) - 1)[words]
        there = self._table.weight.new_zeros((*words.shape[:-1], len(used)))
        return there.scatter_(-1, places, 1.0) @ self._table.weight[used]


class FrameStackView(nn.Module):
    """Encoder of stacked images: the frames become channels of one image.

    Small images go through :class:`SymbolView`, large ones through SB3's ``NatureCNN``.

    Args:
        shape: ``(n_frames, height, width, channels)``, as Gymnasium's ``FrameStackObservation``
            has it.
        n_features: Number of outputs.
        n_parts: Number of parts of names.

    Example:
        >>> view = FrameStackView((4, 7, 7, 3), n_features=16, n_parts=2)
        >>> view(torch.zeros(5, 4, 7, 7, 3), torch.zeros(5, 2)).shape
        torch.Size([5, 16])
    """

    def __init__(self, shape: tuple[int, ...], n_features: int = 128, *, n_parts: int) -> None:
        super().__init__()
        n_frames, height, width, n_channels = shape
        n_channels *= n_frames
        self._is_small = min(height, width) < NATURE_CNN_MIN
        self._network: nn.Module
        if self._is_small:
            self._network = SymbolView((height, width, n_channels), n_features, n_parts=n_parts)
        else:
            image = spaces.Box(0, 255, (n_channels, height, width), np.uint8)
            self._network = NatureCNN(image, features_dim=n_features)

    def forward(self, frames: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """``(n, n_frames, height, width, channels)``, ``(n, n_parts)`` → ``(n, n_features)``."""
        image = frames.permute(0, 2, 3, 1, 4).flatten(3)
        features: torch.Tensor
        if self._is_small:
            features = self._network(image, asked)
        else:
            features = self._network(image.permute(0, 3, 1, 2) / 255.0)
        return features


class RunningNorm(nn.Module):
    """Normalises numbers by the running mean and deviation of all training data so far.

    The statistics are updated in training, and saved and loaded with the weights. SB3 copies
    buffers named ``running_`` to its target networks, as for batch norm.

    Args:
        n_numbers: Number of values of an observation.

    Example:
        >>> norm = RunningNorm(1)
        >>> seen = 1_000.0 + 100.0 * torch.randn(512, 1, generator=torch.manual_seed(0))
        >>> numbers = norm(seen)
        >>> bool(numbers.mean().abs() < 0.1), bool((numbers.std() - 1.0).abs() < 0.1)
        (True, True)
    """

    LARGEST = 10.0
    running_mean: torch.Tensor
    running_var: torch.Tensor
    running_count: torch.Tensor

    def __init__(self, n_numbers: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", torch.zeros(n_numbers))
        self.register_buffer("running_var", torch.ones(n_numbers))
        self.register_buffer("running_count", torch.zeros(()))

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """``(n, …)`` → ``(n, n_numbers)``."""
        numbers = numbers.flatten(1)
        if self.training:
            self._gather(numbers.detach())
        scaled = (numbers - self.running_mean) * torch.rsqrt(self.running_var + 1e-8)
        return scaled.clamp(-self.LARGEST, self.LARGEST)

    def _gather(self, numbers: torch.Tensor) -> None:
        """Update mean and variance with a batch, to those of all batches together."""
        total = self.running_count + len(numbers)
        share = len(numbers) / total
        mean, var = numbers.mean(dim=0), numbers.var(dim=0, correction=0)
        apart = mean - self.running_mean
        self.running_var += share * (var - self.running_var + (1.0 - share) * apart**2)
        self.running_mean += share * apart
        self.running_count.copy_(total)


class GoalFusionExtractor(BaseFeaturesExtractor):
    """Features extractor for attribute environments, for any SB3 algorithm.

    ``PPO("MultiInputPolicy", env, policy_kwargs={"features_extractor_class":
    GoalFusionExtractor})``

    Goals go through :class:`GoalFusion`, small images through :class:`SymbolView`, large ones
    through SB3's ``NatureCNN``, stacked ones through :class:`FrameStackView`, numbers through
    :class:`RunningNorm`; everything else is flattened as in SB3.

    Args:
        observation_space: The ``Dict`` space of an attribute environment.
        image_features: Number of features of each image.
        names: Name of each value of each attribute, such as
            :meth:`AttributeSpace.value_names <gym_attrplan.AttributeSpace.value_names>`. What is
            learned for a value helps with values whose names share parts with its own.

    Attributes:
        blocks: Number of features of each part, one after the other.

    Raises:
        InvalidEnvironment: If the space has no goal keys, or not as many values as names.
    """

    _in_names: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Dict,
        image_features: int = 128,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(observation_space, features_dim=1)  # the true size is known below
        goal = observation_space.spaces.get("desired_goal")
        if not isinstance(goal, spaces.Box):
            raise InvalidEnvironment(
                f"GoalFusionExtractor needs achieved_goal and desired_goal; {observation_space} "
                "has none. Wrap the environment in AttributeWrapper."
            )
        self.fusion = GoalFusion(goal.high.astype(np.int64) + 1)
        names = [str(i) for i in range(self.fusion.n_words)] if names is None else names
        if len(names) != self.fusion.n_words:
            raise InvalidEnvironment(
                f"each of the {self.fusion.n_words} values has a name; received {len(names)} names."
            )
        self.register_buffer("_in_names", name_parts(names))
        parts: dict[str, nn.Module] = {}
        self.blocks = list(self.fusion.blocks)
        for key, space in observation_space.spaces.items():
            if key in ("achieved_goal", "desired_goal"):
                continue
            parts[key], size = _part_network(space, image_features, self._in_names.shape[1])
            self.blocks.append(size)
        self.parts = nn.ModuleDict(parts)
        self._features_dim = sum(self.blocks)

    def forward(self, observations: Observations) -> torch.Tensor:
        """Preprocessed observations → ``(n, features_dim)``."""
        goals = self.fusion(observations["achieved_goal"], observations["desired_goal"])
        changed = goals[:, -self.fusion.n_words :]
        features = [
            network(observations[key], changed @ self._in_names)
            if isinstance(network, _READ_GOALS)
            else network(observations[key])
            for key, network in self.parts.items()
        ]
        return torch.cat([goals, *features], dim=1)


class WordsExtractor(BaseFeaturesExtractor):
    """Features extractor for word observations: an embedding bag that also reads the goal.

    ``PPO("MultiInputPolicy", env, policy_kwargs={"features_extractor_class": WordsExtractor})``

    Each word number of the observation has a row in the table, and so has each value of each
    attribute: a goal's value is a word while the attribute differs from it. With ``pairs``, an
    observation's word *together with* an attribute that must change is a word too. The layers above
    then need not learn to combine positions and goals, which they do slowly. The rows of all words
    are summed; no multi-hot vector is built.

    Args:
        observation_space: The ``Dict`` space of an attribute environment whose ``observation``
            holds word numbers, 0 for none; its upper bound is the largest number.
        n_features: Length of a row, and so the number of outputs.
        pairs: Whether words are also paired with the attributes that must change.

    Raises:
        InvalidEnvironment: If there are no goal keys, or the observation holds no words.
    """

    def __init__(
        self, observation_space: spaces.Dict, n_features: int = 128, *, pairs: bool = True
    ) -> None:
        super().__init__(observation_space, features_dim=n_features)
        self.blocks = [n_features]  # more attributes need no more features
        words = observation_space.spaces.get("observation")
        goal = observation_space.spaces.get("desired_goal")
        if not isinstance(goal, spaces.Box) or not holds_words(words):
            raise InvalidEnvironment(
                "WordsExtractor needs an observation of word numbers beside achieved_goal and "
                f"desired_goal; received {observation_space}. Make the environment with "
                'obs_type="words", or use GoalFusionExtractor.'
            )
        assert isinstance(words, spaces.Box)
        n_words = int(words.high.max())
        sizes = goal.high.astype(np.int64) + 1
        first = 1 + n_words + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.register_buffer("_first", torch.as_tensor(first, dtype=torch.int32))
        self.register_buffer("_columns", torch.arange(len(sizes), dtype=torch.int32))
        # The variance of the sum of all rows stays near one.
        scale = (words.shape[0] + len(sizes)) ** -0.5
        self.bag = _bag(1 + n_words + int(sizes.sum()), n_features, scale, padding_idx=0)
        self.pair_bag = _bag((1 + n_words) * len(sizes), n_features, scale) if pairs else None
        self.bias = nn.Parameter(torch.zeros(n_features))

    def forward(self, observations: Observations) -> torch.Tensor:
        """Preprocessed observations → ``(n, n_features)``."""
        # SB3 turns integers into floats; up to 2 ** 24 they convert back exactly.
        words, changes = observations["observation"].int(), self.goal_words(observations)
        features: torch.Tensor = self.bag(torch.cat([words, changes], dim=1)) + self.bias
        if self.pair_bag is not None:
            features = features + self.pair_bag(*self._pairs(words, changes))
        return torch.relu(features)

    def _pairs(
        self, words: torch.Tensor, changes: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the numbers of all pairs, sample by sample, and the offsets of samples."""
        said = (words > 0).unsqueeze(2) & (changes > 0).unsqueeze(1)
        numbers = words.unsqueeze(2) * len(self._columns) + self._columns  # type: ignore[arg-type]
        n_pairs = said.sum((1, 2), dtype=torch.int32)
        return numbers[said], torch.cumsum(n_pairs, 0, dtype=torch.int32) - n_pairs

    def goal_words(self, observations: Observations) -> torch.Tensor:
        """Return ``(n, n_attributes)`` words of attributes that must change, 0 for the others."""
        achieved = observations["achieved_goal"].int()
        desired = observations["desired_goal"].int()
        changes = (desired >= 0) & (desired != achieved)
        return torch.where(changes, desired + self._first, 0)  # type: ignore[operator]


def _bag(n_rows: int, n_features: int, scale: float, **options: Any) -> nn.EmbeddingBag:
    bag = nn.EmbeddingBag(n_rows, n_features, mode="sum", **options)
    with torch.no_grad():
        bag.weight.mul_(scale)
    return bag


def holds_words(space: spaces.Space[Any] | None) -> bool:
    """Return whether an observation is a list of word numbers, 0 for none."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 1:
        return False
    return bool(np.issubdtype(space.dtype, np.integer) and (space.low == 0).all())


def name_parts(names: Sequence[str]) -> torch.Tensor:
    """Return ``(n_names, n_parts)``, 1 for the parts of each name: all of it, and its words.

    Parts are in the order of their first name, so that more names only add to them.

    Example:
        >>> name_parts(["facing=red ball", "facing=red key"])
        tensor([[1., 1., 1., 1., 0., 0.],
                [0., 1., 1., 0., 1., 1.]])
    """
    numbers: dict[str, int] = {}
    rows = []
    for name in names:
        parts = [name, *re.findall(r"[^\W_]+", name)]
        rows.append([numbers.setdefault(part, len(numbers)) for part in parts])
    found = torch.zeros(len(names), len(numbers))
    for i, row in enumerate(rows):
        found[i, row] = 1.0
    return found


_READ_GOALS = SymbolView, FrameStackView


def _part_network(
    space: spaces.Space[Any], image_features: int, n_parts: int
) -> tuple[nn.Module, int]:
    if isinstance(space, spaces.Box) and is_image_space(space):
        return NatureCNN(space, features_dim=image_features), image_features
    if isinstance(space, spaces.Box) and len(space.shape) == 3 and space.dtype == np.int16:
        return SymbolView(space.shape, image_features, n_parts=n_parts), image_features
    if isinstance(space, spaces.Box) and len(space.shape) == 4 and space.dtype == np.uint8:
        return FrameStackView(space.shape, image_features, n_parts=n_parts), image_features
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return RunningNorm(get_flattened_obs_dim(space)), get_flattened_obs_dim(space)
    return nn.Flatten(), get_flattened_obs_dim(space)
