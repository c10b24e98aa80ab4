"""Is the agent right about itself? What it predicts of hops and plans beside fresh attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.buffers import AttemptBuffer
from gym_attrplan.agent.environments import EnvLike, as_vec_env
from gym_attrplan.agent.evaluation import wilson_interval
from gym_attrplan.agent.hop_judge import endless_goals
from gym_attrplan.agent.neighbours import HopVecEnv
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.algorithms.memory import BEGUN, BegunVecEnv
from gym_attrplan.error import InvalidData, InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes

if TYPE_CHECKING:
    from gym_attrplan.agent import AttributePlannerAgent

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Bin:
    """Attempts with about the same prediction; ``low`` to ``high`` is the share's 95% interval."""

    predicted: float
    achieved: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, eq=False)
class Trials:
    """Predicted probabilities beside what came of them.

    Args:
        predicted: ``(n,)`` probabilities.
        reached: ``(n,)`` whether it worked.

    Example:
        >>> trials = Trials(np.array([0.5, 0.5, 0.9]), np.array([True, True, False]))
        >>> round(trials.calibration_error, 3)
        0.633
        >>> print(trials.describe())
        predicted  achieved  attempts
             0.50      1.00         2
             0.90      0.00         1
        calibration error 0.633, predicted 0.63 on average and achieved 0.67
    """

    predicted: FloatArray
    reached: BoolArray

    def __len__(self) -> int:
        return len(self.predicted)

    def bins(self, n_bins: int = 10) -> list[Bin]:
        """Groups of equal width from 0 to 1, the empty ones left out.

        Raises:
            InvalidOption: If there is no group.
        """
        if n_bins < 1:
            raise InvalidOption(f"n_bins is at least 1; received {n_bins}.")
        number = np.minimum((self.predicted * n_bins).astype(int), n_bins - 1)
        return [
            _bin(self.predicted[number == i], self.reached[number == i]) for i in np.unique(number)
        ]

    @property
    def calibration_error(self) -> float:
        """By how much a prediction is off, averaged over attempts in ten groups."""
        return sum(one.n * abs(one.predicted - one.achieved) for one in self.bins()) / len(self)

    def describe(self) -> str:
        """A line for each group."""
        lines = ["predicted  achieved  attempts"]
        lines += [f"{one.predicted:9.2f}{one.achieved:10.2f}{one.n:10,}" for one in self.bins()]
        lines.append(
            f"calibration error {self.calibration_error:.3f}, predicted "
            f"{self.predicted.mean():.2f} on average and achieved {self.reached.mean():.2f}"
        )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class EdgeTrials(Trials):
    """Attempts at single hops, with the states they started from.

    Args:
        observations: Key → ``(n, …)`` rows; ``desired_goal`` is the neighbour tried for.
    """

    observations: dict[str, npt.NDArray[Any]]


def try_edges(
    agent: AttributePlannerAgent,
    env: EnvLike | None = None,
    *,
    n_attempts: int = 5_000,
    seed: int = 0,
) -> EdgeTrials:
    """Send the hop policy along edges of the graph, drawn by their visits; nothing is learned.

    Args:
        agent: A trained agent.
        env: The environments, by default the agent's own.
        n_attempts: How many hops to try.
        seed: Of the environments and of the edges drawn.

    Raises:
        InvalidOption: If there is nothing to try.
        InvalidData: If the environments only stand where the graph knows no edge.
    """
    if n_attempts < 1:
        raise InvalidOption(f"n_attempts is at least 1; received {n_attempts}.")
    venv = agent.extend(agent.env if env is None else as_vec_env(env))
    attempts = AttemptBuffer(agent.observation_space, capacity=n_attempts)
    hops, max_hop_steps = _hops(agent, venv, attempts, np.random.default_rng(seed))
    # Changes were counted as practised, with sampled actions.
    samples = agent.planner_options.sample_actions or agent.options.asks_for_changes
    deterministic = not samples
    venv.seed(seed)
    n_steps, limit = 0, 10 * n_attempts * max_hop_steps
    with endless_goals(venv):
        observations: Any = hops.reset()
        state = None
        while len(attempts) < n_attempts and n_steps < limit:
            actions, state = agent.low_level.predict(
                observations, state, deterministic=deterministic
            )
            observations = hops.step(actions)[0]
            n_steps += venv.num_envs
    return _with_predictions(agent, attempts)


def try_plans(
    agent: AttributePlannerAgent,
    env: EnvLike | None = None,
    *,
    n_tasks: int = 500,
    seed: int = 0,
) -> Trials:
    """Give the agent tasks and hold the success its plans promise against what it achieves.

    A goal without a plan counts as promised 0. Tasks that hold at the start are left out. Planners
    that look at the state do better than their plans say, and are meant to.

    Args:
        agent: A trained agent.
        env: Environments that end an episode on success, by default the agent's own.
        n_tasks: At least so many tasks; every environment gets as many.
        seed: Of the environments.

    Raises:
        InvalidOption: If there is no task.
    """
    if n_tasks < 1:
        raise InvalidOption(f"n_tasks is at least 1; received {n_tasks}.")
    venv = agent.extend(agent.env if env is None else as_vec_env(env))
    venv.seed(seed)
    promised: list[FloatArray] = []
    solved: list[BoolArray] = []
    while sum(map(len, solved)) < n_tasks:
        observations: Any = venv.reset()
        achieved, goals = observations["achieved_goal"], observations["desired_goal"]
        counts = ~agent.attribute_space.matches(achieved, goals)
        promised.append(_promises(agent, achieved[counts], goals[counts]))
        solved.append(_solve(agent, venv, observations)[counts])
    return Trials(np.concatenate(promised), np.concatenate(solved))


def _bin(predicted: FloatArray, reached: BoolArray) -> Bin:
    low, high = wilson_interval(int(reached.sum()), len(reached))
    return Bin(float(predicted.mean()), float(reached.mean()), low, high, len(reached))


def _hops(
    agent: AttributePlannerAgent,
    venv: VecEnv,
    attempts: AttemptBuffer,
    rng: np.random.Generator,
) -> tuple[VecEnv, int]:
    """The environments cut into the agent's hops, counted elsewhere, and the longest of them."""
    counts = TransitionCounts(agent.attribute_space)
    counts.merge(agent.counts)
    if isinstance(agent.hops, PracticeVecEnv):
        if BEGUN in agent.hops.observation_space.spaces:  # type: ignore[attr-defined]
            venv = BegunVecEnv(venv)
        outcomes = HopOutcomes(agent.attribute_space)
        outcomes.restore(agent.outcomes.to_arrays())
        limit = agent.hops.lengths.limit
        settings = PracticeSettings.given(max_hop_steps=limit, explore_share=0.0, aim_share=0.0)
        practice = PracticeVecEnv(
            venv, counts, outcomes, settings=settings, attempts=attempts, rng=rng
        )
        practice.restore(agent.hops.to_arrays())
        return practice, limit
    assert agent.options.max_hop_steps is not None  # neighbours have a default
    limit = agent.options.max_hop_steps
    hops = HopVecEnv(venv, counts, attempts, max_hop_steps=limit, step_penalty=0.0, rng=rng)
    return hops, limit


def _with_predictions(agent: AttributePlannerAgent, attempts: AttemptBuffer) -> EdgeTrials:
    """The attempts at edges of which the planner knows, with what it says of them."""
    rows = attempts.observations
    if agent.options.asks_for_changes:
        probs = agent.outcomes.success_probs(rows["achieved_goal"], rows["desired_goal"])
        known = agent.outcomes.index.find(rows["achieved_goal"]) >= 0
        return _edge_trials(probs, known, attempts)
    planner = agent.navigator.planner
    index = planner.counts.index
    source, target = (index.find(rows[key]) for key in ("achieved_goal", "desired_goal"))
    places = np.full(len(source), -1, np.int64)
    known = (source >= 0) & (target >= 0)
    places[known] = planner.counts.edges().positions(source[known], target[known])
    probs = planner.edge_probs()
    return _edge_trials(probs[places] if len(probs) else np.zeros(0), places >= 0, attempts)


def _edge_trials(predicted: FloatArray, known: BoolArray, attempts: AttemptBuffer) -> EdgeTrials:
    if not known.any():
        raise InvalidData(
            "no edge of the graph was met: the environments begin elsewhere than in training, or "
            "nothing was explored. Train on these environments, or give others."
        )
    return EdgeTrials(
        predicted=np.array(predicted[known]),
        reached=attempts.reached[known],
        observations={key: part[known] for key, part in attempts.observations.items()},
    )


def _promises(agent: AttributePlannerAgent, starts: Any, goals: Any) -> FloatArray:
    navigator = agent.navigator
    plans = [navigator.plan(start, goal) for start, goal in zip(starts, goals, strict=True)]
    return np.array([0.0 if plan is None else plan.success_prob for plan in plans])


def _solve(agent: AttributePlannerAgent, venv: Any, observations: Any) -> BoolArray:
    """One episode in every environment; an environment that has ended runs on unregarded."""
    solved, ended = np.zeros(venv.num_envs, np.bool_), np.zeros(venv.num_envs, np.bool_)
    state, starts = None, np.ones(venv.num_envs, np.bool_)
    while not ended.all():
        actions, state = agent.predict(observations, state, starts, deterministic=True)
        observations, _, starts, infos = venv.step(actions)
        for i in np.flatnonzero(starts & ~ended):
            solved[i] = infos[i]["is_success"]
        ended |= starts
    return solved
