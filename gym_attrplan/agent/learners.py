"""Algorithms and policies by name or class."""

from __future__ import annotations

from typing import Any

from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy

from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.algorithms import Reinforce, UnitPolicy
from gym_attrplan.error import DependencyNotInstalled, InvalidOption

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

CONTRIB = {"maskable_ppo": "MaskablePPO", "recurrent_ppo": "RecurrentPPO"}
"""Algorithms of sb3-contrib, an extra, with the names of their classes."""

POLICIES: dict[str, type[BasePolicy]] = {"UnitPolicy": UnitPolicy}
"""Policies that SB3 does not know by name."""


def find_algorithm(algorithm: str | type[BaseAlgorithm]) -> Algorithm:
    """Return an SB3 algorithm by class or by name, or the inverse learner by its name.

    Raises:
        InvalidOption: If there is none of that name.
        DependencyNotInstalled: If it belongs to sb3-contrib, which is missing.
    """
    if isinstance(algorithm, str) and algorithm.lower() in ALGORITHMS:
        return ALGORITHMS[algorithm.lower()]
    if isinstance(algorithm, str) and algorithm.lower() in CONTRIB:
        return _from_contrib(algorithm.lower())
    if isinstance(algorithm, type) and issubclass(algorithm, BaseAlgorithm):
        return algorithm
    raise InvalidOption(
        f"low_level is an SB3 algorithm class or one of {sorted({*ALGORITHMS, *CONTRIB})}; "
        f"received {algorithm!r}."
    )


def _from_contrib(name: str) -> Algorithm:
    try:
        import sb3_contrib
    except ModuleNotFoundError as error:
        raise DependencyNotInstalled(
            f'low_level={name!r} needs sb3-contrib: pip install "gym_attrplan[contrib]".'
        ) from error
    found: type[BaseAlgorithm] = getattr(sb3_contrib, CONTRIB[name])
    return found


def named(algorithm: str | type[BaseAlgorithm]) -> str | type[BaseAlgorithm]:
    """Return the name of an algorithm of sb3-contrib given by class, and any other as it is.

    A file names it in the same way, and can be loaded before sb3-contrib is imported.
    """
    for name, kind in CONTRIB.items():
        if isinstance(algorithm, type) and algorithm.__name__ == kind:
            return name if algorithm.__module__.startswith("sb3_contrib.") else algorithm
    return algorithm


def is_recurrent(algorithm: type[Any]) -> bool:
    """Return whether an algorithm's policy has a memory."""
    return _derives_from(algorithm, "RecurrentPPO")


def is_masked(algorithm: type[Any]) -> bool:
    """Return whether an algorithm only takes actions that a mask allows."""
    return _derives_from(algorithm, "MaskablePPO")


def is_ppo(algorithm: type[Any]) -> bool:
    """Return whether an algorithm is PPO itself, or one of its two variants in sb3-contrib."""
    return algorithm is PPO or named(algorithm) in CONTRIB


def _derives_from(algorithm: type[Any], kind: str) -> bool:
    """Return whether a class of sb3-contrib is an ancestor, without importing it."""
    return any(
        one.__name__ == kind and one.__module__.startswith("sb3_contrib.")
        for one in algorithm.__mro__
    )


def find_policy(policy: str | type[BasePolicy], algorithm: type[BaseAlgorithm]) -> Any:
    """Return the policy by class, or by a name that SB3 knows.

    Raises:
        InvalidOption: If an algorithm of sb3-contrib cannot use it in hops.
    """
    if not (is_recurrent(algorithm) or is_masked(algorithm)):
        return POLICIES.get(policy, policy) if isinstance(policy, str) else policy
    ours: type[BasePolicy]
    if is_recurrent(algorithm):
        from gym_attrplan.algorithms.memory_policy import MemoryPolicy

        ours = MemoryPolicy
    else:
        from gym_attrplan.algorithms.mask_policy import MaskPolicy

        ours = MaskPolicy
    if policy in ("MultiInputPolicy", "MultiInputLstmPolicy"):
        return ours
    if isinstance(policy, type) and issubclass(policy, ours):
        return policy
    raise InvalidOption(
        f'{algorithm.__name__} uses "MultiInputPolicy", or a class derived from '
        f"{ours.__module__}.{ours.__name__}; received {policy!r}."
    )
