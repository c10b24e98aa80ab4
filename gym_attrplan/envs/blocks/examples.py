"""collect: one-step examples of the block environment, a million in about a second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.blocks.frames import split_variants
from gym_attrplan.envs.blocks.rules import Attributes, BlocksRules
from gym_attrplan.error import InvalidData

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OneStepExamples:
    """Results of one random action from random starts, one row for each example.

    Attributes:
        states: ``(n,)`` states before the action.
        actions: ``(n,)`` actions.
        next_states: ``(n,)`` states after it.
        attributes: ``(n, n_attributes)`` int8, before the action.
        next_attributes: ``(n, n_attributes)`` int8, after it.
        frames: ``(n,)`` numbers of images of the states before; :meth:`Frames.take` reads them.
        next_frames: ``(n,)`` numbers of images of the states after; the same if nothing moved.

    Example:
        >>> examples = collect(1000, seed=0)
        >>> changed = (examples.attributes != examples.next_attributes).any(axis=1)
        >>> examples.attributes.shape, 0.7 < changed.mean() < 0.8
        ((1000, 36), np.True_)
    """

    states: Numbers
    actions: Numbers
    next_states: Numbers
    attributes: Attributes
    next_attributes: Attributes
    frames: Numbers
    next_frames: Numbers

    def __len__(self) -> int:
        return len(self.states)


def collect(
    n: int,
    seed: int,
    *,
    rules: BlocksRules | None = None,
    n_variants: int = 5,
    split: str = "train",
) -> OneStepExamples:
    """Collect one-step examples: a random action from each of n random starts.

    Args:
        n: Number of examples.
        seed: Seed of all random draws.
        rules: The rules; four blocks on 3 × 3 cells by default.
        n_variants: Number of images of each state in :class:`Frames`, 1 without jitter.
        split: ``"train"`` or ``"held_out"``: the images to use.

    Raises:
        InvalidData: If n is negative.
    """
    if n < 0:
        raise InvalidData(f"the number of examples must be at least 0; received {n}.")
    rules = rules or BlocksRules()
    rng = np.random.default_rng(seed)
    states = rules.random_starts(n, rng)
    actions = rng.integers(rules.n_actions, size=n)
    next_states = rules.move(states, actions)
    variants = split_variants(split, n_variants)
    before, after = variants[rng.integers(len(variants), size=(2, n))]
    after = np.where(next_states == states, before, after)
    return OneStepExamples(
        states=states,
        actions=actions,
        next_states=next_states,
        attributes=rules.evaluate(states),
        next_attributes=rules.evaluate(next_states),
        frames=before * rules.n_states + states,
        next_frames=after * rules.n_states + next_states,
    )
