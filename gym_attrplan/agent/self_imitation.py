"""SelfImitation: learning from changes that happened by chance, with goals set in hindsight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.utils import obs_as_tensor

from gym_attrplan.agent.hop_judge import BoolArray, Observations
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.algorithms.memory import HIDDEN, pack_states
from gym_attrplan.attributes.space import IntArray

FloatArray = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

N_STEPS = 131_072
"""Maximum number of steps that are remembered, over all environments."""

MAX_BYTES = 2**28
"""Maximum size of the remembered steps, in bytes."""

HORIZON = 16
"""Maximum number of steps before a change that are examples of how to make it."""

WEIGHT = 2.0
"""Weight of this loss, beside the algorithm's own."""

NEAR = 0.8
"""Factor on the probability of drawing a step, for each further step from the change."""

LEARNED = 0.5
"""Success rate above which a change needs no imitation: examples also include luck."""

BATCH_SIZE = 512
"""Number of examples in a batch, and number of steps for which one batch is learned."""


class SelfImitation(BaseCallback):
    """Callback that learns from all changes that the policy has made, whatever its goal was.

    The actions before a change are an example of how to make it. A policy gradient only learns from
    them if that change happened to be the goal. A change that ends the episode is even avoided by
    all other hops, and then never made when it is the goal. So examples are remembered, and the
    policy imitates those that went better than it expects: the loss is ``-max(R - V, 0) log π(a)``
    (self-imitation learning, Oh et al., 2018), with the goal replaced in hindsight. Every change
    that is not learned yet has the same share of the examples, less its success rate. An example
    for a recurrent policy includes what the policy remembered at the time.

    Args:
        practice: The environments that the model learns in.
        rng: Generator of the examples.
    """

    def __init__(self, practice: PracticeVecEnv, *, rng: np.random.Generator) -> None:
        super().__init__()
        self._practice = practice
        self._rng = rng
        self._past: Past | None = None
        self._n_unused = 0

    def _on_step(self) -> bool:
        model, practice = self._on_policy(), self._practice
        seen, actions = model._last_obs, self.locals["actions"]
        assert isinstance(seen, dict)
        states = getattr(model, "_last_lstm_states", None)
        if states is not None:
            seen = {**seen, HIDDEN: pack_states((*states.pi, *states.vf)).cpu().numpy()}
        if self._past is None:
            self._past = Past(seen, actions)
        self._past.add(seen, actions, practice.ends, over=practice.over, ended=practice.ended)
        self._n_unused += practice.num_envs
        return True

    def _on_rollout_start(self) -> None:
        """Imitate, after the algorithm has learned from the last rollout."""
        n_batches, self._n_unused = divmod(self._n_unused, BATCH_SIZE)
        if self._past is None or not n_batches:
            return
        examples = self._past.examples()
        if not len(examples.step):
            return
        weights, rewards, need = self._weigh(examples)
        ends = np.cumsum(weights)
        if not need:
            return
        losses = []
        for _ in range(n_batches):
            luck = self._rng.random(BATCH_SIZE) * ends[-1]
            drawn = np.minimum(np.searchsorted(ends, luck), len(ends) - 1)
            losses.append(self._imitate(examples.take(drawn), rewards[drawn], WEIGHT * need))
        self.logger.record("train/imitation_loss", float(np.mean(losses)))

    def _weigh(self, examples: Examples) -> tuple[FloatArray, FloatArray, float]:
        """Return sampling weights, the rewards of examples, and the mean need of practice."""
        outcomes = self._practice.outcomes
        n_values = int(outcomes.space.sizes.max())
        faded: FloatArray = np.power(self._on_policy().gamma, examples.distance - 1.0)
        number = examples.column * n_values + examples.value
        near = np.power(NEAR, examples.distance - 1.0)
        total = np.bincount(number, near, minlength=len(outcomes.space) * n_values)
        made = np.flatnonzero(total)
        changes = outcomes.singles(made // n_values, made % n_values)
        need, paid_if_ended = np.zeros((2, len(total)))
        tried, succeeded = outcomes.attempts_at(changes)
        need[made] = np.maximum(1.0 - succeeded / (tried + 1.0) / LEARNED, 0.0)
        every = np.ones(len(made), np.bool_)
        paid_if_ended[made] = outcomes.pay(changes, made=every, over=every)
        rewards: FloatArray = faded * np.where(examples.ended, paid_if_ended[number], 1.0)
        weights = near * (need / np.maximum(total, 1e-12))[number]
        return weights, rewards, float(need[made].mean())

    def _imitate(self, examples: Examples, rewards: FloatArray, weight: float) -> float:
        """Make one update and return its loss."""
        assert self._past is not None
        model = self._on_policy()
        seen, actions = self._past.at(examples.step, examples.env)
        goals = self._practice.outcomes.singles(examples.column, examples.value)
        observations = obs_as_tensor({**seen, "desired_goal": goals}, model.device)
        policy = model.policy
        policy.set_training_mode(False)  # batch statistics must not come from examples
        done = torch.as_tensor(actions, device=model.device)
        values, log_probs, _ = policy.evaluate_actions(observations, done)
        wanted = torch.as_tensor(rewards, dtype=values.dtype, device=model.device)
        better = (wanted - values.detach().flatten()).clamp(min=0.0)
        loss = -weight * (better * log_probs).mean()
        policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
        policy.optimizer.step()
        return float(loss.detach())

    def _on_policy(self) -> OnPolicyAlgorithm:
        assert isinstance(self.model, OnPolicyAlgorithm)
        return self.model


class Examples(NamedTuple):
    """Steps shortly before an attribute changed.

    Attributes:
        step: ``(n,)`` index of the step.
        env: Index of the environment.
        column: Index of the attribute.
        value: Its new value.
        distance: Number of steps until the change.
        ended: Whether the change ended the episode.
    """

    step: Places
    env: Places
    column: Places
    value: IntArray
    distance: Places
    ended: BoolArray

    def take(self, rows: Places) -> Examples:
        """Return some of the examples."""
        parts: list[Any] = [part[rows] for part in self]
        return Examples(*parts)


class Past:
    """Ring buffer of recent steps of several environments.

    Args:
        observations: ``{key: (num_envs, …)}`` of the kind that will be added.
        actions: ``(num_envs, …)`` of the kind that will be added.
    """

    def __init__(self, observations: Observations, actions: npt.NDArray[Any]) -> None:
        parts = [part for key, part in observations.items() if key != "desired_goal"]
        n_bytes = sum(part.nbytes for part in [*parts, actions])
        n_envs = len(actions)
        self._size = max(HORIZON, min(N_STEPS // n_envs, MAX_BYTES // n_bytes))
        self._seen = {
            key: np.zeros((self._size, *part.shape), part.dtype)
            for key, part in observations.items()
            if key != "desired_goal"
        }
        self._actions = np.zeros((self._size, *actions.shape), actions.dtype)
        self._after = np.zeros_like(self._seen["achieved_goal"])
        self._over, self._ended = np.zeros((2, self._size, n_envs), np.bool_)
        self._n_added = 0

    def add(
        self,
        observations: Observations,
        actions: npt.NDArray[Any],
        ends: IntArray,
        *,
        over: BoolArray,
        ended: BoolArray,
    ) -> None:
        """Add a step of every environment, in place of the oldest.

        Args:
            observations: ``{key: (num_envs, …)}`` before the step.
            actions: ``(num_envs, …)`` the policy's actions.
            ends: ``(num_envs, n_attributes)`` descriptions after the step, before automatic resets.
            over: ``(num_envs,)`` whether the episode was over.
            ended: ``(num_envs,)`` whether it ended without a time limit.
        """
        k = self._n_added % self._size
        for key, part in self._seen.items():
            part[k] = observations[key]
        self._actions[k], self._after[k] = actions, ends
        self._over[k], self._ended[k] = over, ended
        self._n_added += 1

    def at(self, steps: Places, envs: Places) -> tuple[Observations, npt.NDArray[Any]]:
        """Return the observations before steps, and the actions."""
        seen = {key: part[steps, envs] for key, part in self._seen.items()}
        return seen, self._actions[steps, envs]

    def examples(self) -> Examples:
        """Return every step that a change of an attribute soon followed in the same episode."""
        n = min(self._n_added, self._size)
        order = np.arange(self._n_added - n, self._n_added) % self._size
        before, after = self._seen["achieved_goal"][order], self._after[order]
        now = np.arange(n)
        change = next_time(before != after)
        over = next_time(self._over[order])
        soon = (change <= over[:, :, None]) & (change < now[:, None, None] + HORIZON) & (change < n)
        step, env, column = np.nonzero(soon)
        then = change[step, env, column]
        return Examples(
            step=order[step],
            env=env,
            column=column,
            value=after[then, env, column],
            distance=then - step + 1,
            ended=self._ended[order[then], env],
        )


def next_time(happens: BoolArray) -> Places:
    """Return when something happens next, including now; past the end for never.

    Example:
        >>> next_time(np.array([False, True, False]))
        array([1, 1, 3])
    """
    n = len(happens)
    times = np.arange(n).reshape(n, *(1,) * (happens.ndim - 1))
    found: Places = np.minimum.accumulate(np.where(happens, times, n)[::-1])[::-1]
    return found
