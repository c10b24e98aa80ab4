"""Environments for exploration, and for hops to whole neighbouring descriptions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.hop_judge import (
    BoolArray,
    HopJudge,
    Info,
    Observations,
    last_rows,
    last_vectors,
)
from gym_attrplan.algorithms.spread import end_episodes
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.wrappers.bonus import BonusFormula


class ExploreVecEnv(VecEnvWrapper):
    """Wrapper that counts attribute transitions and pays their bonus; there is no goal.

    Args:
        venv: The environments.
        counts: The table of transitions.
        formula: Bonus of a transition, from its visits and their total; None pays nothing.
        scale: Factor on the bonus.
        examples: Buffer of the effects of actions, for models of single actions.
    """

    def __init__(
        self,
        venv: VecEnv,
        counts: TransitionCounts,
        formula: BonusFormula | None,
        *,
        scale: float = 1.0,
        examples: ExampleBuffer | None = None,
    ) -> None:
        super().__init__(venv)
        self.counts = counts
        self.formula = formula
        self.scale = scale
        self.examples = examples
        self._previous: Observations = {}

    def reset(self) -> Observations:
        """Begin new episodes in all environments."""
        observations = self._without_goal(self.venv.reset())
        self._previous = observations
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Begin a step."""
        self._actions = actions
        super().step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step, count and pay."""
        observations, _, done, infos = self.venv.step_wait()
        observations = self._without_goal(observations)
        ends = last_vectors(observations, done, infos)
        for i in np.flatnonzero(done):
            infos[i]["terminal_observation"] = self._without_goal(infos[i]["terminal_observation"])
        before = self._previous["achieved_goal"]
        moved = (ends != before).any(axis=1)
        rewards = np.zeros(self.num_envs, np.float32)
        if moved.any():
            visits = self.counts.record(before[moved], ends[moved])
            if self.formula is not None:
                rewards[moved] = self.scale * self.formula(visits, self.counts.total)
        if self.examples is not None:
            then = _seen_next(self.examples, observations, done, infos)
            self.examples.add_step(self._previous, self._actions, ends, then)
        self._previous = observations
        return observations, rewards, done, infos

    def _without_goal(self, observations: Any) -> Observations:
        goal = np.full_like(observations["desired_goal"], FREE)
        return {**observations, "desired_goal": goal}


class HopVecEnv(HopJudge):
    """Environments that run hops, each from its start to a neighbour drawn for practice.

    A hop ends when the attributes change, after ``max_hop_steps``, or with the environment's own
    episode. ``done`` marks it; ``terminal_observation`` still has the old goal and the returned
    row the new one. The next hop starts where the last one ended. Environments reset only when
    their own episode ends, or if no neighbour is known, so that nothing more can be learned. The
    *targeted* edge gets the attempt and, if reached, the success. A hop that the environment's time
    limit cut short is no attempt, since its outcome is unknown.

    Args:
        venv: The environments.
        counts: The explored graph; attempts and new transitions are counted in it.
        attempts: Buffer of the states at the start of hops, for the success model.
        max_hop_steps: Maximum length of a hop, in steps.
        step_penalty: Subtracted from the reward of every step; reaching the goal pays 1.
        rng: Generator of the neighbours.
        examples: Buffer of the effects of actions, for hops of a single action.
        practice: How neighbours are drawn, by ``visits`` or by ``need``.
    """

    def __init__(
        self,
        venv: VecEnv,
        counts: TransitionCounts,
        attempts: AttemptBuffer,
        *,
        max_hop_steps: int,
        step_penalty: float,
        rng: np.random.Generator,
        examples: ExampleBuffer | None = None,
        practice: str = "visits",
    ) -> None:
        super().__init__(venv)
        self.counts = counts
        self.attempts = attempts
        self.practice = practice
        self.examples = examples
        self.max_hop_steps = max_hop_steps
        self.step_penalty = step_penalty
        self.rng = rng
        self._n_hops = self._n_reached = 0
        self._clock = time.time()

    def reset(self) -> Observations:
        """Begin new episodes, and a hop in each."""
        observations: Observations = dict(self.venv.reset())  # type: ignore[arg-type]
        here = observations["achieved_goal"]
        self._starts = here.copy()
        self._goals = self._draw(here)
        self._steps = np.zeros(self.num_envs, np.int64)
        observations["desired_goal"] = self._goals.copy()
        self._start_rows = {key: rows.copy() for key, rows in observations.items()}
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Begin a step."""
        self._actions = actions
        super().step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step; evaluate, count and replace the hops that ended."""
        observations, _, env_done, infos = self.venv.step_wait()
        observations = dict(observations)  # type: ignore[arg-type]
        ends = last_vectors(observations, env_done, infos)
        if self.examples is not None:
            then = _seen_next(self.examples, observations, env_done, infos)
            self.examples.add_step(self._start_rows, self._actions, ends, then)
        self._steps += 1
        changed = (ends != self._starts).any(axis=1)
        reached = (ends == self._goals).all(axis=1) & changed
        done = changed | env_done | (self._steps >= self.max_hop_steps)
        rewards = reached.astype(np.float32) - np.float32(self.step_penalty)
        observations["desired_goal"] = self._goals.copy()
        if done.any():
            infos, cut = list(infos), ~changed
            for i in np.flatnonzero(env_done & cut).tolist():
                cut[i] = bool(infos[i].get("TimeLimit.truncated"))
            for i in np.flatnonzero(done).tolist():
                last = infos[i]["terminal_observation"] if env_done[i] else None
                last = last or {key: part[i] for key, part in observations.items()}
                infos[i] = self._last_info(i, last, float(rewards[i]), cut[i], reached[i])
            cut_short = env_done & cut & (self._steps < self.max_hop_steps)
            self._count_attempts(done & ~cut_short, reached)
            if changed.any():
                self.counts.record(self._starts[changed], ends[changed])
            self._next_hops(done, observations)
        return observations, rewards, done, infos

    def take_tally(self) -> tuple[int, int]:
        """Return attempts and successes since the last call."""
        tally = self._n_hops, self._n_reached
        self._n_hops = self._n_reached = 0
        return tally

    def compute_reward(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.float32]:
        """Return the reward of reaching ``achieved_goal`` in a hop to ``desired_goal``; for HER."""
        met = (achieved_goal == desired_goal).all(axis=-1)
        return np.asarray(met - self.step_penalty, np.float32)

    def compute_terminated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: list[Info]
    ) -> BoolArray:
        """Return whether a hop to ``desired_goal`` ends there; for HER."""
        ended = np.array([bool(one.get("env_terminated")) for one in info])
        ends: BoolArray = (achieved_goal == desired_goal).all(axis=-1) | ended
        return ends

    def _last_info(
        self, i: int, last: Observations, reward: float, cut: bool, reached: bool
    ) -> Info:
        """Return the info that SB3 expects at the end of a hop."""
        n_steps = int(self._steps[i])
        return {
            "terminal_observation": {**last, "desired_goal": self._goals[i].copy()},
            "TimeLimit.truncated": bool(cut),
            "env_terminated": not cut,
            "is_success": bool(reached),
            "episode": {
                "r": reward - self.step_penalty * (n_steps - 1),
                "l": n_steps,
                "t": round(time.time() - self._clock, 6),
            },
        }

    def _count_attempts(self, ended: BoolArray, reached: BoolArray) -> None:
        """Record attempts at the targeted edges, and the states they started from."""
        tried = ended & (self._goals != self._starts).any(axis=1)
        self.counts.attempt(self._starts[tried], self._goals[tried], reached[tried])
        rows = {key: part[tried] for key, part in self._start_rows.items()}
        self.attempts.add_rows(rows, reached=reached[tried])
        self._n_hops += int(tried.sum())
        self._n_reached += int(reached[tried].sum())

    def _next_hops(self, done: BoolArray, observations: Observations) -> None:
        """Begin new hops where ``done``, in place in the observations to be returned."""
        here = observations["achieved_goal"]
        self._starts[done] = here[done]
        self._goals[done] = self._draw(here[done])
        self._steps[done] = 0
        observations["desired_goal"][done] = self._goals[done]
        stuck = done & (self._goals == self._starts).all(axis=1)
        if stuck.any():
            end_episodes(self.venv, stuck)
        for key, rows in self._start_rows.items():
            rows[done] = observations[key][done]

    def _draw(self, vectors: IntArray) -> IntArray:
        """Draw a neighbour of each vector; a vector without any is its own goal."""
        nodes = self.counts.index.find(vectors)
        known = nodes >= 0
        chosen = np.full(len(nodes), -1, np.int64)
        if known.any():
            by_need = self.practice == "need"
            chosen[known] = self.counts.sample_neighbours(nodes[known], self.rng, by_need=by_need)
        goals = vectors.copy()
        found = chosen >= 0
        if found.any():
            goals[found] = self.counts.index.vectors(chosen[found])
        return goals


def _seen_next(
    examples: ExampleBuffer, observations: Observations, done: BoolArray, infos: list[Info]
) -> Observations | None:
    """Return the observations after the step, if they are kept."""
    if not examples.keeps_next:
        return None
    return {key: last_rows(observations, done, infos, key) for key in examples.keys}
