"""Training: the phases of ``learn``, one after the other, with one step counter."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
from rich.progress import Progress
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent import advice
from gym_attrplan.agent.bridge import AgentLogger, BridgeCallback
from gym_attrplan.agent.learners import is_masked
from gym_attrplan.agent.neighbours import HopVecEnv
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.self_imitation import SelfImitation
from gym_attrplan.algorithms import SpreadEpisodes
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes

PATIENCE = 100_000
"""Number of steps without a change of any attribute after which training stops."""


class Trainee(Protocol):
    """Protocol of an agent that can be trained."""

    env: VecEnv
    options: AgentOptions
    num_timesteps: int
    steps_done: dict[str, int]
    counts: TransitionCounts
    outcomes: HopOutcomes
    hops: PracticeVecEnv | HopVecEnv
    low_level: Any
    explorer: Any
    rng: np.random.Generator

    @property
    def logger(self) -> Logger:
        """The logger of all phases."""


class Training:
    """One call of ``learn``: practice of changes, or exploration and then hops to neighbours.

    Args:
        agent: The agent; its counts, step counter and log are updated.
        callback: The user's callback, initialised with the agent.
        log_interval: Number of rollouts between two dumps of the log.
        progress: Draws a bar per phase, if one is wanted.
    """

    def __init__(
        self,
        agent: Trainee,
        callback: BaseCallback,
        *,
        log_interval: int | None,
        progress: Progress | None,
    ) -> None:
        self._agent = agent
        self._callback = callback
        self._log_interval = log_interval
        self._progress = progress
        self._epoch_end = 0

    def run(self, end: int) -> None:
        """Run the phases until the step counter reaches ``end``, or a callback stops them."""
        for phase, n_steps in self._phases(end):
            if not self._run(phase, n_steps):
                if self._is_hopeless():
                    advice.warn(advice.on_exploring(self._agent.counts, stopped=True))
                return
            if phase == "explore" or self._agent.options.asks_for_changes:
                advice.warn(advice.on_exploring(self._agent.counts))

    def _phases(self, end: int) -> list[tuple[str, int]]:
        """Return the remaining steps of each phase; hopping never returns to exploring."""
        agent = self._agent
        if agent.options.asks_for_changes:
            return [("hop", end - agent.num_timesteps)]
        to_explore = int(agent.options.exploration_fraction * end) - agent.steps_done["explore"]
        if agent.steps_done["hop"] or to_explore < 0:
            to_explore = 0
        to_hop = end - agent.num_timesteps - to_explore
        return [(name, n) for name, n in (("explore", to_explore), ("hop", to_hop)) if n > 0]

    def _run(self, phase: str, n_steps: int) -> bool:
        """Run one phase; return False if a callback stopped it."""
        agent = self._agent
        model: Any = agent.explorer if phase == "explore" else agent.low_level
        bridge = BridgeCallback(
            agent,
            self._callback,
            phase=phase,
            n_steps=n_steps,
            report=self._explored if phase == "explore" else self._hopped,
            on_rollout=self._end_rollout,
            give_up=self._is_hopeless,
            progress=self._progress,
        )
        model.set_logger(AgentLogger(agent))
        self._look_ahead()
        _start_new_episodes(model)
        self._epoch_end = agent.num_timesteps + agent.options.epoch_steps
        callbacks: list[BaseCallback] = [SpreadEpisodes(), bridge]
        if isinstance(agent.hops, PracticeVecEnv) and isinstance(model, OnPolicyAlgorithm):
            callbacks.append(SelfImitation(agent.hops, rng=agent.rng))
        every = CallbackList(callbacks)
        # The policy reads the masks from its observations.
        own = {"use_masking": False} if is_masked(type(model)) else {}
        model.learn(
            n_steps, every, log_interval=self._log_interval, reset_num_timesteps=False, **own
        )
        return not bridge.stopped

    def _is_hopeless(self) -> bool:
        """Return whether no attribute has changed for :data:`PATIENCE` steps."""
        agent = self._agent
        return agent.counts.n_nodes < 2 and agent.num_timesteps >= PATIENCE

    def _end_rollout(self) -> None:
        """Reduce the weight of older attempts, which an older policy made."""
        agent = self._agent
        agent.logger.record("time/env_threads", getattr(agent.env.unwrapped, "n_threads", 1))
        if agent.options.is_inverse:
            return  # its π does not change while it hops
        self._look_ahead()
        if agent.num_timesteps >= self._epoch_end:
            counted = agent.outcomes if agent.options.asks_for_changes else agent.counts
            counted.start_epoch(agent.options.decay)
            self._epoch_end = agent.num_timesteps + agent.options.epoch_steps

    def _look_ahead(self) -> None:
        """Set the discount from the length of hops, if hops ask for changes."""
        agent = self._agent
        given = agent.options.gamma is not None or "gamma" in agent.options.low_level_kwargs
        if isinstance(agent.hops, PracticeVecEnv) and not given:
            set_discount(agent.low_level, agent.hops.lengths.discount)

    def _explored(self) -> dict[str, float]:
        counts = self._agent.counts
        return {"nodes": counts.n_nodes, "edges": counts.n_edges}

    def _hopped(self) -> dict[str, float]:
        n_hops, n_reached = self._agent.hops.take_tally()
        success = n_reached / max(1, n_hops)
        return {"success": success, "hops": n_hops, **self._explored()}


def set_discount(model: Any, gamma: float) -> None:
    """Set the discount of an SB3 learner, from its next rollout on."""
    model.gamma = gamma
    buffer = getattr(model, "rollout_buffer", None)
    if buffer is not None:
        buffer.gamma = gamma


def _start_new_episodes(model: Any) -> None:
    """Reset a learner's environments, which may have been used since its last step."""
    model._last_obs = None
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return
    if buffer.size() == 0:  # loaded without its buffer, it must collect enough steps again
        model.learning_starts += model.num_timesteps
    if isinstance(buffer, HerReplayBuffer):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The last trajectory in the replay buffer")
            buffer.truncate_last_trajectory()
