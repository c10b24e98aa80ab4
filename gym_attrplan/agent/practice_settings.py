"""PracticeSettings: shares, lengths and rewards of practice, the same for every environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.error import InvalidOption

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PracticeSettings:
    """Shares, lengths and rewards of practice.

    Attributes:
        explore_share: Share of the segments that explore.
        explore_steps: Number of steps of an exploration segment.
        bonus_scale: Factor on the bonus of a transition in exploration; a hop pays 1.
        familiar: Number of visits from which a transition earns no bonus. Without this, exploration
            would repeat what earns next to nothing, since PPO normalises advantages.
        end_cost: Cost of a segment that ends the episode without making its change. Before hops
            succeed, nothing else teaches the agent to keep a pole up or to stay on its feet.
        first_limit: Step limit of hops until their usual length is known.
        limits: Minimum and maximum of that limit afterwards.
        floor: Minimum weight with which a change is drawn, added to p (1 - p) for a change with
            success probability p.
        near: Extra weight, times (1 - p), of a change that was seen to follow from the current
            description: it can be learned, however often it has failed.
        aim_share: Probability that an environment without an aim gets one when a hop begins, times
            the share of all hops towards the aim's change that fail, and less if many hops begin
            where it can be practised.
    """

    explore_share: float = 0.25
    explore_steps: int = 50
    bonus_scale: float = 0.3
    familiar: int = 100
    end_cost: float = 0.1
    first_limit: int = 100
    limits: tuple[int, int] = (16, 200)
    floor: float = 0.02
    near: float = 0.25
    aim_share: float = 0.5

    @classmethod
    def given(cls, *, max_hop_steps: int | None = None, **settings: Any) -> PracticeSettings:
        """Create settings; ``max_hop_steps`` fixes the limit of all hops, unless it is None."""
        if max_hop_steps is not None:
            settings |= {"first_limit": max_hop_steps, "limits": (max_hop_steps, max_hop_steps)}
        return cls(**settings)

    def need(self, chances: FloatArray, follows: BoolArray | bool = True) -> FloatArray:
        """Return how much changes need practice.

        Args:
            chances: Their success probabilities.
            follows: Whether each was seen to follow from where it would be practised.
        """
        needs: FloatArray = (1.0 - chances) * (chances + self.near * np.asarray(follows))
        return needs

    def __post_init__(self) -> None:
        for name, low, high in (
            ("explore_share", 0.0, 1.0),
            ("explore_steps", 1, np.inf),
            ("bonus_scale", 0.0, np.inf),
            ("familiar", 1, np.inf),
            ("end_cost", 0.0, 1.0),
            ("first_limit", 1, np.inf),
            ("floor", 0.0, 1.0),
            ("near", 0.0, 1.0),
            ("aim_share", 0.0, 1.0),
        ):
            if not low <= (value := getattr(self, name)) <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        if not 1 <= self.limits[0] <= self.limits[1]:
            raise InvalidOption(f"limits are two ascending numbers; received {self.limits!r}.")
