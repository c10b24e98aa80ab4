"""Getting out of circles: where the likeliest action did not help, another one is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy

from gym_attrplan.agent.actors import RandomExplorer, random_actions
from gym_attrplan.agent.inverse import InverseLearner
from gym_attrplan.agent.navigator import Journey
from gym_attrplan.graph import EpisodeMemory

Observations = dict[str, npt.NDArray[Any]]

PUSH_STEPS = 16
"""So many steps sampled actions keep their noise: new noise in every step adds up to nothing."""


def searching_actions(
    model: BaseAlgorithm | InverseLearner,
    observations: Observations,
    journey: Journey,
    envs: npt.NDArray[np.int64],
) -> npt.NDArray[Any]:
    """The likeliest actions, and others where those did not help earlier in the episode.

    Args:
        model: What hops.
        observations: ``{key: (n, …)}``, the hop's target as ``desired_goal``.
        journey: What the episodes have tried.
        envs: ``(n,)`` which environment of the journey each row is.
    """
    if knows_action_probs(model):
        return least_tried_actions(model, observations, journey.tries, envs)
    actions = np.asarray(model.predict(observations, deterministic=True)[0])
    if isinstance(model, InverseLearner) or not isinstance(model.action_space, spaces.Box):
        return actions
    again = journey.memory.failures(envs, *journey.edges[envs].T) > 0
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
    """Where no plan leads on: the explorer's actions, varied from step to step but reproducible.

    Args:
        explorer: What explores.
        observations: ``{key: (n, …)}``.
        journey: What the episodes have tried.
        envs: ``(n,)`` which environment of the journey each row is.
    """
    if isinstance(explorer, RandomExplorer):
        seeds = np.stack([_fingerprints(observations), journey.n_steps[envs]], axis=1)
        space = explorer.action_space
        draws = [random_actions(space, 1, np.random.default_rng(seed)) for seed in seeds]
        return np.concatenate(draws)
    if knows_action_probs(explorer):
        return least_tried_actions(explorer, observations, journey.tries, envs)
    journey.n_pushes += 1
    return _pushed_actions(explorer, observations, journey.n_pushes // PUSH_STEPS)


def knows_action_probs(model: BaseAlgorithm | InverseLearner) -> bool:
    """Whether the policy gives each of a few actions a probability."""
    if not isinstance(model.action_space, spaces.Discrete):
        return False
    return isinstance(model, InverseLearner) or isinstance(model.policy, ActorCriticPolicy)


def least_tried_actions(
    model: BaseAlgorithm | InverseLearner,
    observations: Observations,
    memory: EpisodeMemory,
    envs: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """The likeliest action of each row, less what having tried it there before costs.

    A policy that is followed deterministically and errs does so for ever: it comes back to where
    it was and does the same again. Counting its tries makes it search instead.

    Args:
        model: A model that :func:`knows_action_probs`.
        observations: ``{key: (n, …)}``, the hop's target as ``desired_goal``.
        memory: Counts the tries of each environment's episode; ``fail_cost`` is what one costs.
        envs: ``(n,)`` which environment each row is; ``0 … n-1`` by default.
    """
    if isinstance(model, InverseLearner):
        scores = model.log_probs(observations)
    else:
        scores = _log_probs(model, observations)
    n, n_actions = scores.shape
    envs = np.arange(n) if envs is None else envs
    situation = _fingerprints(observations)
    rows, actions = np.divmod(np.arange(n * n_actions), n_actions)
    tried = memory.extra_cost(envs[rows], situation[rows], actions).reshape(n, n_actions)
    chosen: npt.NDArray[np.int64] = (scores - tried).argmax(axis=1)
    memory.fail(envs, situation, chosen)
    return chosen


def _pushed_actions(
    model: BaseAlgorithm, observations: Observations, seed: int
) -> npt.NDArray[Any]:
    """Actions of a policy with noise, the same for the same seed; other draws are left alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if getattr(model, "use_sde", False):
            model.policy.reset_noise()  # type: ignore[operator]
        return np.asarray(model.predict(observations, deterministic=False)[0])


def _log_probs(model: BaseAlgorithm, observations: Observations) -> npt.NDArray[np.float64]:
    policy = model.policy
    assert isinstance(policy, ActorCriticPolicy)
    policy.set_training_mode(False)
    with torch.no_grad():
        distribution = policy.get_distribution(policy.obs_to_tensor(observations)[0])
    assert isinstance(distribution, CategoricalDistribution)
    log_probs: npt.NDArray[np.float64] = distribution.distribution.logits.double().cpu().numpy()
    return log_probs


def _fingerprints(observations: Observations) -> npt.NDArray[np.int64]:
    """A number for each row that equal rows share; that others share it is next to impossible."""
    total = np.zeros(len(observations["achieved_goal"]), np.uint64)
    for i, (_, rows) in enumerate(sorted(observations.items())):
        raw = np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.uint8)
        words = np.zeros((len(raw), -(-raw.shape[1] // 8) * 8), np.uint8)
        words[:, : raw.shape[1]] = raw
        factors = np.random.default_rng(i).integers(2**63, size=words.shape[1] // 8) * 2 + 1
        total += (words.view(np.uint64) * factors.astype(np.uint64)).sum(axis=1, dtype=np.uint64)
    return (total >> np.uint64(1)).astype(np.int64)
