"""Step 2, exploring: what a policy is paid for a transition, or random actions."""

from __future__ import annotations

from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus, normalized_count_bonus

EXPLORATIONS: dict[str, BonusFormula | None] = {
    "bonus": normalized_count_bonus,
    "count_bonus": count_bonus,
    "random": None,
    "surprise": None,
}
"""How to explore: paid (N/t + 0.001)^-0.5 a transition, paid N^-0.5, not paid at all, or led by a
forward model to what is rare (``low_level="inverse"`` only)."""
