"""Alternative actions for situations in which the most probable action did not help."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from gym_attrplan.agent.actors import RandomExplorer, random_actions
from gym_attrplan.agent.fingerprints import fingerprints
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.agent.journey import Journey
from gym_attrplan.algorithms.memory import HIDDEN
from gym_attrplan.graph import EpisodeMemory

Observations = dict[str, npt.NDArray[Any]]

PATIENCE = 4
"""Number of returns to a situation before actions are sampled from a flatter distribution."""

PUSH_STEPS = 16
"""Number of steps for which sampled noise is kept: independent noise averages out."""


def searching_actions(
    model: BaseAlgorithm | InverseLearner,
    observations: Observations,
    journey: Journey,
    envs: npt.NDArray[np.int64],
    *,
    draw: bool = False,
    patience: float = PATIENCE,
) -> npt.NDArray[Any]:
    """Return the most probable actions, and others where those failed earlier in the episode.

    Args:
        model: The policy that hops.
        observations: ``{key: (n, …)}``, with the hop's target as ``desired_goal``.
        journey: The record of the episodes.
        envs: ``(n,)`` the environment of each row.
        draw: Whether another action is sampled from the policy, instead of the least tried one.
        patience: Number of returns before samples are drawn from a flatter distribution.
    """
    if draw and knows_action_probs(model):
        return redrawn_actions(model, observations, journey.tries, envs, patience)
    if knows_action_probs(model):
        return least_tried_actions(model, observations, journey.tries, envs)
    actions = np.asarray(model.predict(observations, deterministic=True)[0])
    if isinstance(model, InverseLearner) or not isinstance(model.action_space, spaces.Box):
        return actions
    # With hops that ask for changes, the memory also counts the request itself.
    again = journey.memory.failures(envs, *journey.edges[envs].T) > draw
    if again.any():
        retried = {key: part[again] for key, part in observations.items()}
        actions[again] = _pushed_actions(model, retried, journey.n_pushes // PUSH_STEPS)
        journey.n_pushes += 1
    return actions


def wandering_actions(
    explorer: BaseAlgorithm | RandomExplorer,
    observations: Observations,
    journey: Journey,
    envs: npt.NDArray[np.int64],
) -> npt.NDArray[Any]:
    """Return the explorer's actions for rows without a plan: random, but reproducible.

    Args:
        explorer: The policy that explores.
        observations: ``{key: (n, …)}``.
        journey: The record of the episodes.
        envs: ``(n,)`` the environment of each row.
    """
    journey.n_pushes += 1
    # A learner of action values has no probabilities to sample from.
    values_alone = isinstance(explorer, OffPolicyAlgorithm) and not isinstance(
        explorer.action_space, spaces.Box
    )
    if isinstance(explorer, RandomExplorer) or values_alone:
        space, now = explorer.action_space, journey.n_pushes
        seeds = [(seen, now) for seen in _situations(observations).tolist()]
        draws = [random_actions(space, 1, np.random.default_rng(seed)) for seed in seeds]
        return np.concatenate(draws)
    if knows_action_probs(explorer):
        return least_tried_actions(explorer, observations, journey.tries, envs)
    return _pushed_actions(explorer, observations, journey.n_pushes // PUSH_STEPS)


def knows_action_probs(model: BaseAlgorithm | InverseLearner) -> bool:
    """Return whether the policy gives each of a few actions a probability."""
    if not isinstance(model.action_space, spaces.Discrete):
        return False
    return isinstance(model, InverseLearner) or hasattr(model.policy, "get_distribution")


def least_tried_actions(
    model: BaseAlgorithm | InverseLearner,
    observations: Observations,
    memory: EpisodeMemory,
    envs: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the best action of each row by log probability minus the cost of earlier tries.

    A deterministic policy that errs does so for ever: it returns to the same situation and does the
    same again. Counting its tries makes it search instead.

    Args:
        model: A model that :func:`knows_action_probs`.
        observations: ``{key: (n, …)}``, with the hop's target as ``desired_goal``.
        memory: Counts the tries within each episode; ``fail_cost`` is the cost of one.
        envs: ``(n,)`` the environment of each row; ``0 … n-1`` by default.
    """
    scores = _scores(model, observations)
    n, n_actions = scores.shape
    envs = np.arange(n) if envs is None else envs
    situation = _situations(observations)
    rows, actions = np.divmod(np.arange(n * n_actions), n_actions)
    tried = memory.extra_cost(envs[rows], situation[rows], actions).reshape(n, n_actions)
    chosen: npt.NDArray[np.int64] = (scores - tried).argmax(axis=1)
    memory.fail(envs, situation, chosen)
    return chosen


def redrawn_actions(
    model: BaseAlgorithm | InverseLearner,
    observations: Observations,
    memory: EpisodeMemory,
    envs: npt.NDArray[np.int64],
    patience: float = PATIENCE,
) -> npt.NDArray[np.int64]:
    """Return the most probable action of each row, or a sampled one if the observation recurs.

    An agent that returns to an observation may be going in circles, or chance has led it back and
    the most probable action is still the best. Sampling serves both cases. After some
    returns the distribution becomes flatter. The same returns give the same samples.

    Args:
        model: A model that :func:`knows_action_probs`.
        observations: ``{key: (n, …)}``, with the hop's target as ``desired_goal``.
        memory: Counts the returns within each episode.
        envs: ``(n,)`` the environment of each row.
        patience: Number of returns before the distribution becomes flatter.
    """
    scores, situation = _scores(model, observations), _situations(observations)
    here = np.zeros(len(envs), np.int64)
    n_returns = memory.failures(envs, situation, here)
    memory.fail(envs, situation, here)
    chosen: npt.NDArray[np.int64] = scores.argmax(axis=1)
    for i in np.flatnonzero(n_returns > 0).tolist():
        rng = np.random.default_rng([int(situation[i]), int(n_returns[i])])
        flattened = scores[i] / max(1.0, n_returns[i] / patience)
        chosen[i] = (flattened + rng.gumbel(size=scores.shape[1])).argmax()
    return chosen


def _situations(observations: Observations) -> npt.NDArray[np.int64]:
    """Return a number for each row, equal if everything is but what a policy remembers."""
    return fingerprints({key: part for key, part in observations.items() if key != HIDDEN})


def _scores(
    model: BaseAlgorithm | InverseLearner, observations: Observations
) -> npt.NDArray[np.float64]:
    """Return ``(n, n_actions)`` log probabilities of actions, up to a constant."""
    if isinstance(model, InverseLearner):
        return model.log_probs(observations)
    return _log_probs(model, observations)


def _pushed_actions(
    model: BaseAlgorithm, observations: Observations, seed: int
) -> npt.NDArray[Any]:
    """Return actions sampled with a seed, without changing other generators."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if getattr(model, "use_sde", False):
            model.policy.reset_noise()  # type: ignore[operator]
        return np.asarray(model.predict(observations, deterministic=False)[0])


def _log_probs(model: BaseAlgorithm, observations: Observations) -> npt.NDArray[np.float64]:
    policy: Any = model.policy
    policy.set_training_mode(False)
    with torch.no_grad():
        found = policy.get_distribution(policy.obs_to_tensor(observations)[0])
    distribution = found[0] if isinstance(found, tuple) else found  # with a new hidden state
    log_probs: npt.NDArray[np.float64] = distribution.distribution.logits.double().cpu().numpy()
    return log_probs
