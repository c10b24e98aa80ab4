"""PracticeSettings: how practice is divided up and paid, the same for every environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gym_attrplan.error import InvalidOption


@dataclass(frozen=True)
class PracticeSettings:
    """How practice is divided up and paid.

    Attributes:
        explore_share: Share of the segments that explore.
        explore_steps: Length of a segment that explores.
        bonus_scale: Factor on the bonus of a transition while exploring; a hop pays 1.
        first_limit: Longest hop while it is not known how long hops take.
        limits: Shortest and longest such limit later on.
        floor: Chance to be drawn that a change has which needs no practice, beside p (1 - p) of
            one that works with probability p.
        near: For a change that was seen to follow from here by chance, (1 - p) times so much is
            added: it can be learned, however often it has failed.
    """

    explore_share: float = 0.25
    explore_steps: int = 50
    bonus_scale: float = 0.3
    first_limit: int = 100
    limits: tuple[int, int] = (16, 200)
    floor: float = 0.02
    near: float = 0.25

    @classmethod
    def given(cls, *, max_hop_steps: int | None = None, **settings: Any) -> PracticeSettings:
        """Settings with one length for all hops, unless it is None."""
        if max_hop_steps is not None:
            settings |= {"first_limit": max_hop_steps, "limits": (max_hop_steps, max_hop_steps)}
        return cls(**settings)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("explore_share", 0.0, 1.0),
            ("explore_steps", 1, np.inf),
            ("bonus_scale", 0.0, np.inf),
            ("first_limit", 1, np.inf),
            ("floor", 0.0, 1.0),
            ("near", 0.0, 1.0),
        ):
            if not low <= (value := getattr(self, name)) <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        if not 1 <= self.limits[0] <= self.limits[1]:
            raise InvalidOption(f"limits are two ascending numbers; received {self.limits!r}.")
