"""The SB3 algorithms inside the agent: choice, defaults and supported action spaces."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.actors import RandomExplorer
from gym_attrplan.agent.buffers import ExampleBuffer
from gym_attrplan.agent.curious import CuriousExplorer
from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.hindsight import ChangeReplayBuffer
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.agent.learners import (
    ALGORITHMS,
    Algorithm,
    find_algorithm,
    find_policy,
    is_masked,
    is_ppo,
    is_recurrent,
)
from gym_attrplan.agent.neighbours import ExploreVecEnv
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.algorithms import Reinforce, TerminalHerReplayBuffer, UnitPolicy
from gym_attrplan.algorithms.unit_policy import UnitExtractor
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.error import InvalidEnvironment, InvalidOption, did_you_mean
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.models import GoalFusionExtractor, WordsExtractor
from gym_attrplan.models.fitting import FitSettings
from gym_attrplan.models.networks import holds_words
from gym_attrplan.wrappers.masks import ACTION_MASK, mask_sizes

_POSITIONAL = ("self", "policy", "env", "venv", "space", "examples")
"""Positional arguments of algorithms, which options cannot change."""

_ROLLOUT = 16_384
"""Number of steps between two updates with many environments: large batches make SB3 fast."""

_ADAM = {"eps": 1e-5, "fused": True}
"""Arguments of SB3's Adam for actors and critics; ``fused`` is faster (torch from 2.4)."""

LSTM_SIZE = 128
"""Size of a recurrent policy's hidden state, by default."""

_PRACTICE = 4_096
"""Number of steps between two updates if hops ask for changes, practised from the first step."""


def build_low_level(
    options: AgentOptions,
    hops: VecEnv,
    space: AttributeSpace,
    *,
    examples: ExampleBuffer | None,
    action_choices: int,
) -> BaseAlgorithm | InverseLearner:
    """Build the algorithm that learns to hop.

    Args:
        options: The algorithm and its settings.
        hops: The environments that run hops.
        space: Their attributes.
        examples: Buffer of the effects of actions, for an inverse learner.
        action_choices: Number of choice scores at the front of an action.
    """
    algorithm = find_algorithm(options.low_level)
    if not issubclass(algorithm, InverseLearner):
        kwargs = {
            **hop_defaults(algorithm, hops.action_space, hops=options.hops),
            **(change_defaults(algorithm, hops) if options.asks_for_changes else {}),
            **_both(options, options.low_level_kwargs),
        }
        common = _common(options)
        names = _lasting_names(space, n_added=len(options.questions))
        return build(
            algorithm, options.policy, hops, kwargs, anneal=options.anneal, names=names, **common
        )
    assert examples is not None
    known = [*_arguments(algorithm), *(one.name for one in fields(FitSettings))]
    _check_names(options.low_level_kwargs, known, "the inverse learner")
    return algorithm(
        hops,
        space,
        examples,
        **{
            **options.low_level_kwargs,
            "action_choices": action_choices,
            "seed": options.seed,
            "device": options.device,
        },
    )


def build_explorer(
    options: AgentOptions,
    venv: VecEnv,
    counts: TransitionCounts,
    low_level: Any,
    *,
    examples: ExampleBuffer | None,
    rng: np.random.Generator,
) -> BaseAlgorithm | RandomExplorer:
    """Build the algorithm that explores before hops to neighbours are learned.

    Args:
        options: How to explore.
        venv: The environments.
        counts: The table of transitions.
        low_level: The algorithm that hops; curiosity uses its forward model.
        examples: Buffer of the effects of actions.
        rng: Generator of random actions.
    """
    formula = EXPLORATIONS[options.exploration]
    explore_venv = ExploreVecEnv(
        venv, counts, formula, scale=options.bonus_scale, examples=examples
    )
    if options.exploration == "surprise":
        return CuriousExplorer(explore_venv, low_level, rng=rng)
    if formula is None:
        return RandomExplorer(explore_venv, rng=rng)
    kwargs = {
        **hop_defaults(PPO, venv.action_space),
        **_both(options, options.exploration_kwargs),
    }
    names = counts.space.value_names()
    common = _common(options)
    return build(PPO, options.policy, explore_venv, kwargs, anneal=False, names=names, **common)


def _lasting_names(space: AttributeSpace, *, n_added: int) -> list[str]:
    """Return names of values that stay when the attributes that refine added get other names."""
    names = space.value_names()
    n_own = len(names) - int(space.sizes[len(space) - n_added :].sum())
    return [*names[:n_own], *map(str, range(n_own, len(names)))]


def _both(options: AgentOptions, own: dict[str, Any]) -> dict[str, Any]:
    """Merge the arguments of all algorithms with an algorithm's own, which take precedence."""
    shared = {"learning_rate": options.learning_rate, "gamma": options.gamma}
    given = {name: value for name, value in shared.items() if value is not None}
    if options.policy_kwargs:
        policy_kwargs = {**options.policy_kwargs, **own.get("policy_kwargs", {})}
        own = {**own, "policy_kwargs": policy_kwargs}
    return {**given, **own}


def _common(options: AgentOptions) -> dict[str, Any]:
    return {"seed": options.seed, "device": options.device, "verbose": 0}


def build(
    algorithm: type[BaseAlgorithm],
    policy: str | type[BasePolicy],
    venv: VecEnv,
    kwargs: dict[str, Any],
    *,
    anneal: bool,
    names: list[str],
    **common: Any,
) -> BaseAlgorithm:
    """Build an algorithm on the environments, with our defaults for arguments not in ``kwargs``.

    Defaults that its constructor does not take are left out. With ``anneal`` the learning rate
    falls to a tenth during training, unless it is a function. ``names`` are the attributes'
    :meth:`~gym_attrplan.AttributeSpace.value_names`.

    Raises:
        InvalidEnvironment: If the algorithm does not support the action space.
        InvalidOption: If it does not take an argument of ``kwargs``, has no such policy, or needs
            action masks that the environments do not have.
    """
    known = _arguments(algorithm)
    _check_names(kwargs, known, algorithm.__name__)
    rate = known.get("learning_rate")
    usual = {"learning_rate": rate} if isinstance(rate, float) else {}
    options = {**usual, **defaults(algorithm, venv), **kwargs, **common}
    options = {name: value for name, value in options.items() if name in known}
    policy = find_policy(policy, algorithm)
    if is_masked(algorithm):
        _check_masks(venv, algorithm)
    usual = policy_defaults(venv.observation_space, names, policy)
    options["policy_kwargs"] = {
        **({"lstm_hidden_size": LSTM_SIZE} if is_recurrent(algorithm) else {}),
        **_with_extractor(usual, kwargs.get("policy_kwargs", {})),
    }
    takes_adam = issubclass(algorithm, PPO) or is_ppo(algorithm)
    if takes_adam and "optimizer_class" not in options["policy_kwargs"]:
        options["policy_kwargs"].setdefault("optimizer_kwargs", dict(_ADAM))
    if "learning_rate" in options and not callable(options["learning_rate"]):
        rate = _checked_rate(options["learning_rate"])
        options["learning_rate"] = LinearSchedule(rate, 0.1 * rate, 1.0) if anneal else rate
    model = _construct(algorithm, policy, venv, options)
    # SB3 would store VecNormalize's original observations, whose goal is not the goal of the hop.
    model._vec_normalize_env = None
    if is_recurrent(algorithm):
        from gym_attrplan.algorithms.memory_policy import remember_whole_episodes

        remember_whole_episodes(model)  # type: ignore[arg-type]
    return model


def _check_masks(venv: VecEnv, algorithm: type[BaseAlgorithm]) -> None:
    """Check that observations say which actions are allowed.

    Raises:
        InvalidOption: If they do not.
    """
    seen, n = venv.observation_space, sum(mask_sizes(venv.action_space))
    assert isinstance(seen, spaces.Dict)  # attribute environments have one
    found = seen.spaces.get(ACTION_MASK)
    if n and (found is None or math.prod(found.shape or ()) != n):
        raise InvalidOption(
            f"{algorithm.__name__} needs action masks: a method action_masks() of the environment "
            f"inside AttributeWrapper, or an observation {ACTION_MASK!r}, with {n} numbers for "
            f"{venv.action_space}; the observations have {sorted(seen.spaces)}, with "
            f"{ACTION_MASK}={found}. Without masks, use low_level='ppo'."
        )


def _construct(
    algorithm: type[BaseAlgorithm],
    policy: str | type[BasePolicy],
    venv: VecEnv,
    options: dict[str, Any],
) -> BaseAlgorithm:
    """Construct the algorithm; SB3's errors about policy or action space get a remedy."""
    try:
        return algorithm(policy, venv, **options)
    except ValueError as error:
        if str(policy) not in str(error):
            raise
        raise InvalidOption(
            f"{algorithm.__name__} cannot use the policy {policy!r}: {error}. Observations have "
            'several parts, which "MultiInputPolicy" reads; an algorithm without it cannot hop.'
        ) from error
    except AssertionError as error:
        if "action" not in str(error).lower():
            raise
        able = [name for name, other in ALGORITHMS.items() if _takes(other, venv.action_space)]
        raise InvalidEnvironment(
            f"{algorithm.__name__} cannot take the action space {venv.action_space}; "
            f"these can: {', '.join(able)}."
        ) from error


def _arguments(algorithm: Algorithm) -> dict[str, Any]:
    """Return the constructor's arguments with defaults, except for policy and environments."""
    found: dict[str, Any] = {}
    for kind in algorithm.__mro__:
        parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
        named = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
        found = {one.name: one.default for one in named if one.name not in _POSITIONAL} | found
        if len(named) == len(parameters):
            break  # otherwise it passes the rest on to its base class
    return found


def _check_names(kwargs: dict[str, Any], known: Iterable[str], who: str) -> None:
    for name in kwargs:
        if name not in known:
            raise InvalidOption(f"{who} takes no {name!r}. {did_you_mean(name, known)}")


def _checked_rate(rate: Any) -> float:
    """Check that a learning rate can be saved and annealed."""
    if not isinstance(rate, (int, float)) or not 0.0 < rate < math.inf:
        raise InvalidOption(
            f"learning_rate is a number above 0; received {rate!r}. With anneal=True it falls to a "
            "tenth while hops are learned."
        )
    return float(rate)


def defaults(algorithm: type[BaseAlgorithm], venv: VecEnv) -> dict[str, Any]:
    """Return hyper-parameters for short hops with 0/1 rewards, by the number of environments."""
    n_envs, space = venv.num_envs, venv.action_space
    # The entropies of simultaneous actions add up, and so would their bonus. The entropy of a
    # Gaussian whose actions are clipped grows without bound.
    n_actions = len(space.nvec) if isinstance(space, spaces.MultiDiscrete) else 1
    ent_coef = 0.0 if isinstance(space, spaces.Box) else 0.01 / n_actions
    if issubclass(algorithm, OffPolicyAlgorithm):
        options: dict[str, Any] = {"gamma": 0.97, "learning_starts": max(1_000, 10 * n_envs)}
        options |= {"replay_buffer_class": TerminalHerReplayBuffer, "batch_size": 256}
        options |= {"train_freq": (max(1, 64 // n_envs), "step"), "gradient_steps": 16}
        if algorithm is DQN:
            options |= {"target_update_interval": max(500, n_envs), "exploration_fraction": 0.3}
        return options | {"learning_rate": 1e-3}
    if is_ppo(algorithm):
        n_steps = max(8, min(512, _ROLLOUT // n_envs)) if n_envs > 1 else 2_048
        batch_size = max(64, n_steps * n_envs // 8)
        options = {"n_steps": n_steps, "batch_size": batch_size, "n_epochs": 4}
        return options | {"learning_rate": 2e-3, "gamma": 0.97, "ent_coef": ent_coef}
    if algorithm is Reinforce:
        return {
            "n_steps": max(8, min(512, _ROLLOUT // n_envs)),
            "gamma": 0.97,
            "ent_coef": ent_coef,
        }
    return {"gamma": 0.97, "ent_coef": ent_coef}


def change_defaults(algorithm: type[BaseAlgorithm], venv: VecEnv) -> dict[str, Any]:
    """Return defaults for hops that ask for changes, chosen once for many environments."""
    if not is_ppo(algorithm):
        return {}
    n_steps = max(16, min(512, _PRACTICE // venv.num_envs))
    batch_size = min(512, n_steps * venv.num_envs)
    options: dict[str, Any] = {"n_steps": n_steps, "batch_size": batch_size, "n_epochs": 4}
    return options | {"learning_rate": 1e-3, "gamma": 0.99}


def hop_defaults(
    algorithm: type[BaseAlgorithm], space: spaces.Space[Any], *, hops: str = "neighbours"
) -> dict[str, Any]:
    """Return further defaults for hops: suitable hindsight, and noise that lasts several steps.

    In a hop to a neighbour, attributes change only in the last step, so there is no other goal to
    relabel to. If hops ask for changes, the change that happened is such a goal. Independent
    noise in every step of a continuous environment averages out. SAC's initial entropy weight of 1
    exceeds a reward of at most 1 for thousands of updates.
    """
    options: dict[str, Any] = {}
    if issubclass(algorithm, OffPolicyAlgorithm):
        options = {"replay_buffer_kwargs": {"goal_selection_strategy": "final"}}
        options |= {"gradient_steps": 4}
        if hops == "changes":
            options |= {"replay_buffer_class": ChangeReplayBuffer}
    if algorithm is SAC:
        options |= {"ent_coef": 0.01}
    has_noise = algorithm is SAC or (is_ppo(algorithm) and not is_masked(algorithm))
    if has_noise and isinstance(space, spaces.Box):
        options |= {"use_sde": True, "sde_sample_freq": 16}
    return options


def policy_defaults(
    observation_space: spaces.Space[Any],
    names: list[str],
    policy: str | type[BasePolicy] = "MultiInputPolicy",
) -> dict[str, Any]:
    """Return arguments for a policy that embeds words and sees the requested change.

    Args:
        observation_space: The observation space.
        names: The attributes' :meth:`~gym_attrplan.AttributeSpace.value_names`.
        policy: The policy.
    """
    if isinstance(policy, type) and issubclass(policy, UnitPolicy):
        return {"features_extractor_class": UnitExtractor}
    words = isinstance(observation_space, spaces.Dict) and holds_words(
        observation_space.spaces.get("observation")
    )
    if words:
        return {"features_extractor_class": WordsExtractor, "net_arch": [128, 128]}
    return {
        "features_extractor_class": GoalFusionExtractor,
        "features_extractor_kwargs": {"names": names},
        "net_arch": [128, 128],
    }


def _with_extractor(usual: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Merge a policy's arguments; our extractor keeps those of its own that are not given."""
    key = "features_extractor_kwargs"
    ours = {} if "features_extractor_class" in given else usual.get(key, {})
    merged = {**usual, **given, key: {**ours, **given.get(key, {})}}
    return merged if merged[key] else {name: merged[name] for name in merged if name != key}


def _takes(algorithm: Algorithm, space: spaces.Space[Any]) -> bool:
    if issubclass(algorithm, InverseLearner):
        return isinstance(space, (spaces.Discrete, spaces.Box))
    if issubclass(algorithm, DQN):
        return isinstance(space, spaces.Discrete)
    if issubclass(algorithm, OffPolicyAlgorithm):
        return isinstance(space, spaces.Box)
    return True  # as_vec_env has checked it
