"""AttributeLogits: one softmax for each attribute, of any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from gym_attrplan.error import InvalidAttributes

MAX_PLACES = 2**24
"""Maximum number of attributes times their largest size: the size of a table of all values."""


class AttributeLogits(nn.Module):
    """Arranges rows of logits as ``(attribute, value)``; missing values are ``-inf``.

    Args:
        sizes: ``(n_attributes,)`` numbers of values.

    Raises:
        InvalidAttributes: If there are more than :data:`MAX_PLACES`.

    Example:
        >>> layout = AttributeLogits(np.array([2, 3]))
        >>> layout(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]]))
        tensor([[[1., 2., -inf],
                 [3., 4., 5.]]])
    """

    _places: torch.Tensor
    _first: torch.Tensor
    _there: torch.Tensor

    def __init__(self, sizes: npt.NDArray[np.integer[Any]]) -> None:
        super().__init__()
        sizes = np.asarray(sizes, np.int64)
        if len(sizes) * int(sizes.max()) > MAX_PLACES:
            raise InvalidAttributes(
                f"the number of attributes times their largest size is at most {MAX_PLACES:,}; "
                f"received {len(sizes):,} times {sizes.max():,}. Split the largest attribute."
            )
        first = np.cumsum(sizes) - sizes
        values = np.arange(sizes.max())
        # Missing values point at one additional logit, which is -inf.
        places = np.where(values < sizes[:, None], first[:, None] + values, sizes.sum())
        self.n_logits = int(sizes.sum())
        self.register_buffer("_places", torch.from_numpy(places), persistent=False)
        self.register_buffer("_first", torch.from_numpy(first), persistent=False)
        there = np.flatnonzero(values < sizes[:, None])
        self.register_buffer("_there", torch.from_numpy(there), persistent=False)

    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        """``(…, n_logits)`` → ``(…, n_attributes, largest size)``."""
        padded = functional.pad(logits, (0, 1), value=-torch.inf)
        return padded[..., self._places.to(logits.device)]

    def flat(self, blocks: torch.Tensor) -> torch.Tensor:
        """``(…, n_attributes, largest size)`` → ``(…, n_logits)``; inverse of :meth:`forward`."""
        return blocks.flatten(-2)[..., self._there.to(blocks.device)]

    def loss(self, logits: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Return the cross entropy of vectors ``(n, n_attributes)``: sum over attributes, mean."""
        blocks = self(logits)
        total = functional.cross_entropy(
            blocks.flatten(0, 1), vectors.long().flatten(), reduction="sum"
        )
        return total / len(vectors)

    def one_hot(self, vectors: torch.Tensor) -> torch.Tensor:
        """Encode vectors ``(…, n_attributes)`` as one-hot ``(…, n_logits)``; -1 is all zeros."""
        words = torch.zeros((*vectors.shape[:-1], self.n_logits + 1), device=vectors.device)
        places = vectors.long() + self._first.to(vectors.device)
        places = torch.where(vectors >= 0, places, self.n_logits)
        return words.scatter_(-1, places, 1.0)[..., :-1]
