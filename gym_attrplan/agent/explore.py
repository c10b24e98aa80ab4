"""Exploration: how transitions are rewarded, or random actions."""

from __future__ import annotations

from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus, normalized_count_bonus

EXPLORATIONS: dict[str, BonusFormula | None] = {
    "bonus": normalized_count_bonus,
    "count_bonus": count_bonus,
    "random": None,
    "surprise": None,
}
"""Ways to explore: bonus (N/t + 0.001)^-0.5, bonus N^-0.5, none (random actions), or a forward
model that leads to rare values (``low_level="inverse"`` only)."""
