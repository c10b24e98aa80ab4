"""Crafter with Gymnasium's interface: a survival game with 22 achievements.

Nothing here imports the package ``crafter``: :mod:`~gym_attrplan.envs.crafter.factories` loads it
when an environment is made.
"""

from gym_attrplan.envs.crafter.score import crafter_score

__all__ = ["crafter_score"]
