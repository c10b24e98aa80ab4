"""Algorithms and policies by name, and the unsupported ones."""

from __future__ import annotations

from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy

from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.algorithms import Reinforce, UnitPolicy
from gym_attrplan.error import InvalidOption

Algorithm = type[BaseAlgorithm] | type[InverseLearner]

ALGORITHMS: dict[str, Algorithm] = {
    "a2c": A2C,
    "ddpg": DDPG,
    "dqn": DQN,
    "inverse": InverseLearner,
    "ppo": PPO,
    "reinforce": Reinforce,
    "sac": SAC,
    "td3": TD3,
}

UNSUPPORTED = {
    "MaskablePPO": "its action masks would be ignored",
    "RecurrentPPO": "hops keep no memory between steps",
}
"""Unsupported algorithms by class name (also of derived classes), with the reason."""

POLICIES: dict[str, type[BasePolicy]] = {"UnitPolicy": UnitPolicy}
"""Policies that SB3 does not know by name."""


def find_algorithm(algorithm: str | type[BaseAlgorithm]) -> Algorithm:
    """Return an SB3 algorithm by class or by name, or the inverse learner by its name.

    Raises:
        InvalidOption: If there is none of that name, or it is not supported.
    """
    if isinstance(algorithm, str) and algorithm.lower() in ALGORITHMS:
        return ALGORITHMS[algorithm.lower()]
    if isinstance(algorithm, type) and issubclass(algorithm, BaseAlgorithm):
        for ancestor in algorithm.__mro__:
            if ancestor.__name__ in UNSUPPORTED:
                raise InvalidOption(
                    f"{ancestor.__name__} is not supported yet: {UNSUPPORTED[ancestor.__name__]}. "
                    f"Use one of {sorted(ALGORITHMS)}, or another algorithm of SB3."
                )
        return algorithm
    raise InvalidOption(
        f"low_level is an SB3 algorithm class or one of {sorted(ALGORITHMS)}; "
        f"received {algorithm!r}."
    )
