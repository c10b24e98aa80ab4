"""Learning from logs: hops cut at changes, counted, and copied by the hop policy."""

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
from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.error import InvalidData, InvalidEnvironment, InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.hop_model import HopModel

Places = npt.NDArray[np.int64]

PASSING = 1 / 3
"""A description that lasts less than this share of how long others do is only passed through."""

NEAR = 25.0
"""Steps over which a step counts less, the further it is from the change."""

FAR = 0.05
"""What the farthest step still counts."""

N_EPOCHS = 15
MIN_UPDATES = 2_000
BATCH_SIZE = 256
LEARNING_RATE = 2e-3
SPREAD = 0.1
"""What the fit of the spread counts beside that of the mean."""

LOG_INTERVAL = 200

POLICY = {"net_arch": [384, 384, 384], "activation_fn": nn.GELU}
"""Of an agent that begins with a log: to copy takes a larger network than to practise."""


class Hops(NamedTuple):
    """The hops of a log: from one description that lasts to the next.

    What lasts much less than others is on the way: a drawer that is ajar while it is opened.

    Attributes:
        starts: ``(n_hops, n_attributes)`` where they started.
        ends: ``(n_hops, n_attributes)`` where they ended.
        n_steps: ``(n_hops,)`` how long they took.
        step: ``(n_steps,)`` every state of the log that lies on a hop.
        distance: ``(n_steps,)`` after how many steps the change came.
        target: ``(n_steps, n_attributes)`` what changed then; -1 for what did not.
        came_from: ``(n_steps, n_attributes)`` which description came before, as
            :class:`~gym_attrplan.agent.trail.Trail` shows it.
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
        hop = np.flatnonzero(~log.last[begins[1:] - 1])  # to what no episode begins with
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
    """The steps where a description begins that lasts, and is another than the one before."""
    begins = np.flatnonzero(np.roll(moved | log.last, 1))  # the last state of a log ends it
    lengths = np.diff(begins, append=len(log))
    # Nobody knows how long the first and the last of an episode would have lasted.
    cut = log.last[begins - 1] | log.last[begins + lengths - 1]
    begins = begins[cut | (lengths >= PASSING * np.median(lengths))]
    there = log.attributes[begins]
    another: npt.NDArray[np.bool_] = (there != np.roll(there, 1, axis=0)).any(axis=1)
    chosen: Places = begins[another | log.last[begins - 1]]
    return chosen


def _came_from(log: Log, moved: npt.NDArray[np.bool_]) -> IntArray:
    """``(n, n_attributes)`` which description came before each state's: from 1, 0 for none."""
    times = np.arange(len(log))
    latest = np.maximum.accumulate(np.where(np.roll(moved, 1), times - 1, -1))
    begun = np.maximum.accumulate(np.where(np.roll(log.last, 1) | (times == 0), times, -1))
    known = latest >= begun
    return np.where(known[:, None], log.attributes[latest].astype(np.int64) + 1, 0)


class Cloning:
    """Has a policy copy what was done on the hops of a log, told the change that came next.

    A step counts the more, the nearer the change is. Where actions are numbers, their absolute
    error counts, which lets a few odd ones be; the spread is fitted beside it.

    Args:
        policy: What learns.
        log: What was recorded.
        hops: Its hops.
        n_updates: How many batches to learn from; None for :data:`N_EPOCHS` times every step.
        rng: Draws batches.
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
        """Learn from one batch; its loss."""
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
        """``(n,)`` how far the policy is from what was done."""
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
    """What an agent needs to learn from a log."""

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
        """Where figures go."""

    def get_vec_normalize_env(self) -> VecNormalize | None:
        """The wrapper that normalises observations, if there is one."""


def read_log(agent: CanClone, source: Any, describe: Describe | None) -> tuple[Log, Hops]:
    """Recorded episodes that an agent can learn from, and their hops.

    Raises:
        InvalidOption: If it cannot learn from any.
        InvalidEnvironment: If what it sees is normalised.
        InvalidData: If they are not of its kind, or no attribute ever changes.
    """
    policy = getattr(agent.low_level, "policy", None)
    if not agent.options.asks_for_changes or not isinstance(policy, ActorCriticPolicy):
        raise InvalidOption(
            "logs are learned from by hops that ask for changes, with an algorithm that has an "
            f"actor and a critic (ppo, a2c, reinforce); this agent has hops={agent.options.hops!r} "
            f"and low_level={agent.options.low_level!r}."
        )
    if agent.get_vec_normalize_env() is not None:
        raise InvalidEnvironment(
            "a log holds what was seen as it was, and VecNormalize shows the agent something else. "
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
    """Count the hops of a log, and have the agent's policy copy them."""
    agent.counts.record(hops.starts, hops.ends)
    agent.hop_model.record(hops.starts, hops.ends, n_steps=hops.n_steps)
    agent.hops.lengths.add(hops.n_steps)
    cloning = Cloning(agent.low_level.policy, log, hops, n_updates=n_updates, rng=agent.rng)
    _clone(cloning, agent.logger, n_kinds=len(agent.hop_model), progress_bar=progress_bar)


def _clone(cloning: Cloning, logger: Logger, *, n_kinds: int, progress_bar: bool) -> None:
    """Update until done, and say how it goes."""
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
