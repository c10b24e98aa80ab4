"""Networks for more attributes: the weights stay, and new inputs begin without an effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from gym_attrplan.error import InvalidOption

Tensors = Mapping[str, torch.Tensor]

_OF_ATTRIBUTES = ("_offsets", "_first", "_columns", "_scales", "_in_names")
"""Buffers that follow from the attributes alone."""

_PAIRS = "pair_bag.weight"
"""Table with a row for each word and attribute, the attributes of a word one after the other."""


def grow_weights(
    old: Tensors, new: Tensors, old_blocks: Sequence[int], new_blocks: Sequence[int]
) -> dict[str, torch.Tensor]:
    """Return the weights of a network for more attributes, which computes what the old one did.

    Args:
        old: The weights of the old network.
        new: Those of the new one, untrained. Its attributes are the old ones and some behind them.
        old_blocks: Number of inputs of each block of features, of which attributes are the last.
        new_blocks: The same of the new network.

    Raises:
        InvalidOption: If the networks differ in more than the attributes.

    Example:
        >>> old = {"weight": torch.tensor([[1.0, 2.0, 3.0]])}
        >>> new = {"weight": torch.zeros(1, 5)}
        >>> grow_weights(old, new, [1, 2], [2, 3])["weight"]
        tensor([[1., 0., 2., 3., 0.]])
    """
    if set(old) != set(new):
        raise InvalidOption("the network has other parts with more attributes; it cannot grow.")
    grown = {}
    for name, values in new.items():
        before = old[name]
        if before.shape == values.shape:
            grown[name] = before
        elif name.rpartition(".")[2] in _OF_ATTRIBUTES:
            grown[name] = values
        elif name.endswith(_PAIRS):
            grown[name] = _grow_pairs(before, values, len(old[name.replace(_PAIRS, "_columns")]))
        elif before.ndim == 2 and before.shape[1] == values.shape[1]:
            grown[name] = _grow_rows(before, values)
        elif before.ndim == 2 and before.shape[0] == values.shape[0]:
            grown[name] = _grow_columns(before, values, old_blocks, new_blocks)
        else:
            raise InvalidOption(
                f"{name} has shape {tuple(before.shape)}, and {tuple(values.shape)} with more "
                "attributes: this network cannot grow."
            )
    return grown


def _grow_rows(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    grown = torch.zeros_like(new)
    grown[: len(old)] = old
    return grown


def _grow_pairs(old: torch.Tensor, new: torch.Tensor, n_attributes: int) -> torch.Tensor:
    n_words, n_features = len(old) // n_attributes, old.shape[1]
    grown = torch.zeros_like(new).view(n_words, -1, n_features)
    grown[:, :n_attributes] = old.view(n_words, n_attributes, n_features)
    return grown.view(new.shape)


def _grow_columns(
    old: torch.Tensor, new: torch.Tensor, old_blocks: Sequence[int], new_blocks: Sequence[int]
) -> torch.Tensor:
    """Place each block of columns at the front of its new one; columns after all blocks stay."""
    rest = old.shape[1] - sum(old_blocks)
    if rest < 0 or new.shape[1] - sum(new_blocks) != rest:
        raise InvalidOption("the first layer reads other features; this network cannot grow.")
    grown = torch.zeros_like(new)
    here = there = 0
    for before, after in zip([*old_blocks, rest], [*new_blocks, rest], strict=True):
        grown[:, there : there + before] = old[:, here : here + before]
        here, there = here + before, there + after
    return grown


def input_blocks(policy: nn.Module) -> list[int]:
    """Return the sizes of the blocks of a policy's features, in which attributes come last.

    Raises:
        InvalidOption: If its features extractor is none of this library.
    """
    found = [one for one in policy.modules() if isinstance(one, BaseFeaturesExtractor)]
    blocks: list[int] | None = getattr(found[0], "blocks", None) if found else None
    if blocks is None:
        names = sorted({type(one).__name__ for one in found})
        raise InvalidOption(
            "a network grows if its features extractor is one of this library's; received "
            f"{', '.join(names) or 'none'}. Train an agent without features_extractor_class."
        )
    return blocks
