"""The build-order economy: many simultaneous units, integer attributes, equality goals.

Nothing here imports PettingZoo or pygame until :func:`parallel_env` or an image needs it.
"""

from gym_attrplan.envs.build_order.batched import EconomyVectorEnv
from gym_attrplan.envs.build_order.economy import Economy
from gym_attrplan.envs.build_order.env import EconomyEnv
from gym_attrplan.envs.build_order.factories import parallel_env
from gym_attrplan.envs.build_order.rules import EconomyRules, Job, Kind, Product, Starts
from gym_attrplan.envs.build_order.state import State
from gym_attrplan.envs.build_order.tasks import CountTargets

__all__ = [
    "CountTargets",
    "Economy",
    "EconomyEnv",
    "EconomyRules",
    "EconomyVectorEnv",
    "Job",
    "Kind",
    "Product",
    "Starts",
    "State",
    "parallel_env",
]
