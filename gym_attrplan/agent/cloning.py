"""Learning from logs: hops are cut at changes, counted, and imitated by the hop policy."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from gym_attrplan.agent.bridge import make_progress_bar
from gym_attrplan.agent.logs import Describe, Log
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.trail import CAME_FROM
from gym_attrplan.algorithms.memory import BEGUN
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.error import InvalidData, InvalidEnvironment, InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.hop_model import HopModel

Places = npt.NDArray[np.int64]

PASSING = 1 / 3
"""Maximum duration of a passing description, as a share of how long others last."""

NEAR = 25.0
"""Number of steps over which the weight of a step falls with its distance from the change."""

FAR = 0.05
"""Minimum weight of a step, however far it is from the change."""

N_EPOCHS = 15
MIN_UPDATES = 2_000
BATCH_SIZE = 256
LEARNING_RATE = 2e-3
SPREAD = 0.1
"""Weight of the loss of the standard deviation, beside that of the mean."""

LOG_INTERVAL = 200

POLICY = {"net_arch": [384, 384, 384], "activation_fn": nn.GELU}
"""Policy arguments of an agent that starts from a log: imitation needs a larger network."""


class Hops(NamedTuple):
    """Hops of a log: from one lasting description to the next.

    A description that lasts much less than others is only passed through, such as a drawer that is
    ajar while it is opened.

    Attributes:
        starts: ``(n_hops, n_attributes)`` descriptions at the start of each hop.
        ends: ``(n_hops, n_attributes)`` descriptions at the end of each hop.
        n_steps: ``(n_hops,)`` lengths in steps.
        step: ``(n_steps,)`` the states of the log that lie on a hop.
        distance: ``(n_steps,)`` number of steps until the change.
        target: ``(n_steps, n_attributes)`` the new values; -1 for attributes that did not change.
        came_from: ``(n_steps, n_attributes)`` the previous description, as
            :class:`~gym_attrplan.agent.trail.Trail` gives it.
    """

    starts: IntArray
    ends: IntArray
    n_steps: Places
    step: Places
    distance: Places
    target: IntArray
    came_from: IntArray

    @classmethod
    def of(cls, log: Log) -> Hops:
        """Cut a log into hops.

        Raises:
            InvalidData: If no attribute ever changes in it.
        """
        attributes = log.attributes
        moved = np.zeros(len(log), np.bool_)
        moved[:-1] = (attributes[1:] != attributes[:-1]).any(axis=1) & ~log.last[:-1]
        begins = _lasting(log, moved)
        hop = np.flatnonzero(~log.last[begins[1:] - 1])  # an episode's start ends no hop
        if not len(hop):
            raise InvalidData(
                f"no attribute changes in the log's {len(log)} states: there is no hop to learn. "
                "Choose attributes that change."
            )
        first, after = begins[hop], begins[hop + 1]
        starts, ends, n_steps = attributes[first], attributes[after], after - first
        which = np.repeat(np.arange(len(hop)), n_steps)
        step = np.arange(n_steps.sum()) - np.repeat(np.cumsum(n_steps) - n_steps - first, n_steps)
        return cls(
            starts=starts,
            ends=ends,
            n_steps=n_steps,
            step=step,
            distance=after[which] - step,
            target=np.where(starts != ends, ends, FREE).astype(attributes.dtype)[which],
            came_from=_came_from(log, moved)[step],
        )


def _lasting(log: Log, moved: npt.NDArray[np.bool_]) -> Places:
    """Return the steps at which a lasting description begins that differs from the one before."""
    begins = np.flatnonzero(np.roll(moved | log.last, 1))  # the last state of a log ends it
    lengths = np.diff(begins, append=len(log))
    # The true duration of the first and the last description of an episode is unknown.
    cut = log.last[begins - 1] | log.last[begins + lengths - 1]
    begins = begins[cut | (lengths >= PASSING * np.median(lengths))]
    there = log.attributes[begins]
    another: npt.NDArray[np.bool_] = (there != np.roll(there, 1, axis=0)).any(axis=1)
    chosen: Places = begins[another | log.last[begins - 1]]
    return chosen


def _came_from(log: Log, moved: npt.NDArray[np.bool_]) -> IntArray:
    """Return ``(n, n_attributes)`` previous descriptions: values from 1, 0 for none."""
    times = np.arange(len(log))
    latest = np.maximum.accumulate(np.where(np.roll(moved, 1), times - 1, -1))
    begun = np.maximum.accumulate(np.where(np.roll(log.last, 1) | (times == 0), times, -1))
    known = latest >= begun
    return np.where(known[:, None], log.attributes[latest].astype(np.int64) + 1, 0)


class Cloning:
    """Trains a policy to imitate the actions on the hops of a log, given the next change.

    A step weighs more the nearer the change is. For continuous actions the loss is the absolute
    error, which is robust to outliers; the standard deviation is fitted with a smaller weight.

    Args:
        policy: The policy to train.
        log: The recorded episodes.
        hops: Their hops.
        n_updates: Number of batches; None for :data:`N_EPOCHS` passes over all steps.
        rng: Generator of the batches.
    """

    def __init__(
        self,
        policy: ActorCriticPolicy,
        log: Log,
        hops: Hops,
        *,
        n_updates: int | None = None,
        rng: np.random.Generator,
    ) -> None:
        self._policy = policy
        self._log, self._hops = log, hops
        self._rng = rng
        self._weights = np.exp(-(hops.distance - 1.0) / NEAR) + FAR
        if n_updates is None:
            n_updates = max(MIN_UPDATES, N_EPOCHS * len(hops.step) // BATCH_SIZE)
        self.n_updates = n_updates
        self._optimizer = torch.optim.AdamW(policy.parameters(), lr=LEARNING_RATE)
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimizer, LEARNING_RATE, total_steps=n_updates
        )

    def update(self) -> float:
        """Train on one batch and return its loss."""
        rows = self._rng.integers(len(self._hops.step), size=BATCH_SIZE)
        device = self._policy.device
        weights = torch.as_tensor(self._weights[rows], dtype=torch.float32, device=device)
        self._policy.set_training_mode(True)
        errors = self._errors(*self._batch(rows))
        loss = (weights * errors).sum() / weights.sum()
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._policy.parameters(), 1.0)
        self._optimizer.step()
        self._schedule.step()
        self._policy.set_training_mode(False)
        return float(loss.detach())

    def _batch(self, rows: Places) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        steps = self._hops.step[rows]
        seen: dict[str, Any] = {key: part[steps] for key, part in self._log.observations.items()}
        seen["achieved_goal"] = self._log.attributes[steps]
        seen["desired_goal"] = self._hops.target[rows]
        assert isinstance(self._policy.observation_space, spaces.Dict)
        if CAME_FROM in self._policy.observation_space.spaces:
            seen[CAME_FROM] = self._hops.came_from[rows]
        observations, _ = self._policy.obs_to_tensor(seen)  # images as the policy has them
        assert isinstance(observations, dict)
        actions = torch.as_tensor(self._log.actions[steps], device=self._policy.device)
        return observations, actions

    def _errors(self, seen: dict[str, torch.Tensor], actions: torch.Tensor) -> torch.Tensor:
        """Return ``(n,)`` losses between the policy's and the recorded actions."""
        chosen = self._policy.get_distribution(seen)
        if not isinstance(self._policy.action_space, spaces.Box):
            if isinstance(self._policy.action_space, spaces.MultiBinary):
                actions = actions.float()
            errors: torch.Tensor = -chosen.log_prob(actions)
            return errors
        actions = actions.flatten(1)
        normal: Any = chosen.distribution
        spread = torch.distributions.Normal(normal.mean.detach(), normal.scale)
        likely: torch.Tensor = spread.log_prob(actions)  # type: ignore[no-untyped-call]
        apart: torch.Tensor = (normal.mean - actions).abs()
        return (apart - SPREAD * likely).mean(dim=1)


class CanClone(Protocol):
    """Protocol of an agent that can learn from a log."""

    options: AgentOptions
    observation_space: spaces.Dict
    action_space: spaces.Space[Any]
    attribute_space: AttributeSpace
    counts: TransitionCounts
    hop_model: HopModel
    hops: Any
    low_level: Any
    rng: np.random.Generator

    @property
    def logger(self) -> Logger:
        """The logger."""

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """Return the wrapper that normalises observations, if there is one."""


def read_log(agent: CanClone, source: Any, describe: Describe | None) -> tuple[Log, Hops]:
    """Read recorded episodes that an agent can learn from, and their hops.

    Raises:
        InvalidOption: If the agent cannot learn from logs.
        InvalidEnvironment: If its observations are normalised.
        InvalidData: If the episodes do not fit the agent, or no attribute ever changes.
    """
    policy = getattr(agent.low_level, "policy", None)
    recalls = BEGUN in agent.hops.observation_space.spaces
    clones = isinstance(policy, ActorCriticPolicy) and not recalls
    if not agent.options.asks_for_changes or not clones:
        raise InvalidOption(
            "only agents with hops='changes' and an algorithm with actor and critic, without "
            "memory or masks (ppo, a2c, reinforce), learn from logs; this agent has "
            f"hops={agent.options.hops!r} and low_level={agent.options.low_level!r}."
        )
    if agent.get_vec_normalize_env() is not None:
        raise InvalidEnvironment(
            "a log holds raw observations, and VecNormalize normalises those of the agent. "
            "Leave it out: the agent normalises numbers by itself."
        )
    log = Log.read(
        source,
        observation_space=agent.observation_space,
        action_space=agent.action_space,
        attribute_space=agent.attribute_space,
        describe=describe,
    )
    return log, Hops.of(log)


def learn_from_log(
    agent: CanClone, log: Log, hops: Hops, *, n_updates: int | None, progress_bar: bool
) -> None:
    """Count the hops of a log, and train the agent's policy to imitate them."""
    agent.counts.record(hops.starts, hops.ends)
    agent.hop_model.record(hops.starts, hops.ends, n_steps=hops.n_steps)
    agent.hops.lengths.add(hops.n_steps)
    cloning = Cloning(agent.low_level.policy, log, hops, n_updates=n_updates, rng=agent.rng)
    _clone(cloning, agent.logger, n_kinds=len(agent.hop_model), progress_bar=progress_bar)


def _clone(cloning: Cloning, logger: Logger, *, n_kinds: int, progress_bar: bool) -> None:
    """Run all updates, and log the progress."""
    losses: list[float] = []
    with make_progress_bar(progress_bar) as progress:
        task = progress.add_task("clone", total=cloning.n_updates, figures="") if progress else None
        for i in range(1, cloning.n_updates + 1):
            losses.append(cloning.update())
            if i % LOG_INTERVAL and i < cloning.n_updates:
                continue
            loss = float(np.mean(losses[-LOG_INTERVAL:]))
            if progress is not None and task is not None:
                progress.update(task, completed=i, figures=f"loss {loss:.3f}")
            logger.record("log/loss", loss)
            logger.record("log/kinds", n_kinds)
            logger.dump(i)
