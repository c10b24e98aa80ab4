"""PracticeVecEnv: environments cut into segments that hop or explore, in one stream of steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from gym_attrplan.agent.phases import BoolArray, Info, Observations, last_vectors
from gym_attrplan.attributes.space import FREE, AttributeSpace, IntArray
from gym_attrplan.error import InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus

Rows = npt.NDArray[np.int64]

_N_LENGTHS = 4_000
_MIN_LENGTHS = 100


@dataclass(frozen=True)
class PracticeSettings:
    """How practice is divided up and paid.

    Attributes:
        explore_share: Share of the segments that explore.
        explore_steps: Length of a segment that explores.
        bonus_scale: Factor on the bonus of a transition while exploring; a hop pays 1.
        lost_reward: What a hop pays that ends the episode without its change.
        first_limit: Longest hop while it is not known how long hops take.
        limits: Shortest and longest such limit later on.
        floor: Chance to be drawn that a change has which needs no practice, beside p (1 - p) of
            one that works with probability p.
    """

    explore_share: float = 0.25
    explore_steps: int = 50
    bonus_scale: float = 0.3
    lost_reward: float = 0.0
    first_limit: int = 100
    limits: tuple[int, int] = (16, 200)
    floor: float = 0.02

    def __post_init__(self) -> None:
        for name, low, high in (
            ("explore_share", 0.0, 1.0),
            ("explore_steps", 1, np.inf),
            ("bonus_scale", 0.0, np.inf),
            ("lost_reward", -1.0, 0.0),
            ("first_limit", 1, np.inf),
            ("floor", 0.0, 1.0),
        ):
            if not low <= (value := getattr(self, name)) <= high:
                raise InvalidOption(f"{name} is from {low} to {high}; received {value!r}.")
        if not 1 <= self.limits[0] <= self.limits[1]:
            raise InvalidOption(f"limits are two ascending numbers; received {self.limits!r}.")


class HopLengths:
    """How long the hops took that worked: hop limit and discount follow from it.

    Args:
        first_limit: The limit until enough hops have worked.
        limits: The least and the greatest limit after that.

    Example:
        >>> lengths = HopLengths(first_limit=100, limits=(16, 200))
        >>> lengths.limit, lengths.discount
        (100, 0.99)
        >>> lengths.add(np.full(200, 8))
        >>> lengths.limit, round(lengths.discount, 3)
        (24, 0.969)
    """

    def __init__(self, *, first_limit: int, limits: tuple[int, int]) -> None:
        self._first_limit, self._limits = first_limit, limits
        self._recent = np.zeros(0)

    def add(self, n_steps: npt.NDArray[Any]) -> None:
        """Note the lengths of hops that worked."""
        self._recent = np.concatenate([self._recent, n_steps])[-_N_LENGTHS:]

    @property
    def limit(self) -> int:
        """Steps after which a hop is given up: three times what nine of ten need."""
        if len(self._recent) < _MIN_LENGTHS:
            return self._first_limit
        return int(np.clip(3 * np.percentile(self._recent, 90), *self._limits))

    @property
    def discount(self) -> float:
        """γ of a learner: it looks ahead four times as far as hops are long."""
        if len(self._recent) < _MIN_LENGTHS:
            return 0.99
        return float(np.clip(1.0 - 1.0 / (4.0 * max(self._recent.mean(), 1.0)), 0.9, 0.99))


class ChangeDrawer:
    """Draws what to ask for next: a value of one attribute, as far as that needs practice.

    Args:
        outcomes: How changes went.
        floor: See :class:`PracticeSettings`.
        rng: Draws.
    """

    def __init__(self, outcomes: HopOutcomes, *, floor: float, rng: np.random.Generator) -> None:
        self._outcomes = outcomes
        self._floor = floor
        self._rng = rng
        space = outcomes.space
        self._seen = np.zeros((len(space), int(space.sizes.max())), np.bool_)

    def see(self, descriptions: IntArray) -> None:
        """Note values that attributes can have."""
        self._seen[np.arange(descriptions.shape[1]), descriptions] = True

    def draw(self, descriptions: IntArray) -> IntArray:
        """``(n, n_attributes)`` a change for each row; all free where there is none to make."""
        space: AttributeSpace = self._outcomes.space
        column, value = np.nonzero(self._seen)
        singles = np.full((len(column), len(space)), FREE, space.dtype)
        singles[np.arange(len(column)), column] = value
        n, k = len(descriptions), len(singles)
        chances = self._outcomes.success_rates(
            np.repeat(descriptions, k, axis=0), np.tile(singles, (n, 1))
        ).reshape(n, k)
        need = chances * (1.0 - chances) + self._floor
        need[descriptions[:, column] == value] = 0.0
        # A race of exponential clocks is won in proportion to their rates.
        clocks = np.full((n, k), np.inf)
        np.divide(self._rng.standard_exponential((n, k)), need, out=clocks, where=need > 0)
        changes: IntArray = singles[clocks.argmin(axis=1)]
        changes[~(need > 0).any(axis=1)] = FREE
        return changes


class PracticeVecEnv(VecEnvWrapper):
    """Environments in which one segment follows another, each a hop or a walk that explores.

    A hop is asked for a change, ``desired_goal`` with -1 for what is free. It ends when the change
    holds, when its time is up, or with the episode; what else changes on the way is part of its
    outcome, which is counted. A segment that explores has no goal and is paid for transitions, the
    rarer the more. Segments follow each other within an episode, so exploring starts wherever hops
    have led. For SB3 every segment is an episode.

    Args:
        venv: The environments.
        counts: Every transition between descriptions is counted here.
        outcomes: Every hop that has ended is counted here, unless the time limit of the episode
            cut it short.
        settings: How practice is divided up and paid.
        formula: What a transition pays while exploring.
        rng: Draws segments and changes.
    """

    def __init__(
        self,
        venv: VecEnv,
        counts: TransitionCounts,
        outcomes: HopOutcomes,
        *,
        settings: PracticeSettings | None = None,
        formula: BonusFormula = count_bonus,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(venv)
        self.counts, self.outcomes = counts, outcomes
        self.settings = settings = PracticeSettings() if settings is None else settings
        self.lengths = HopLengths(first_limit=settings.first_limit, limits=settings.limits)
        self._formula = formula
        self._rng = rng
        self._drawer = ChangeDrawer(outcomes, floor=settings.floor, rng=rng)
        self._clock = time.time()
        self._tally = np.zeros(2, np.int64)

    def take_tally(self) -> tuple[int, int]:
        """Hops ended and changes made since the last call."""
        n_hops, n_made = self._tally.tolist()
        self._tally[:] = 0
        return n_hops, n_made

    def reset(self) -> Observations:
        """Begin new episodes, and a segment in each."""
        observations: Observations = dict(self.venv.reset())  # type: ignore[arg-type]
        here = observations["achieved_goal"]
        n = self.num_envs
        self._starts, self._previous = here.copy(), here.copy()
        self._goals = np.full_like(here, FREE)
        self._explores = np.zeros(n, np.bool_)
        self._n_steps, self._limits = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._returns = np.zeros(n)
        self._drawer.see(here)
        self._next_segments(np.arange(n), here)
        observations["desired_goal"] = self._goals.copy()
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        """Step; pay, and replace the segments that ended."""
        observations, _, over, infos = self.venv.step_wait()
        observations = dict(observations)  # type: ignore[arg-type]
        ends = last_vectors(observations, over, infos)
        here = observations["achieved_goal"]
        self._drawer.see(ends)
        self._drawer.see(here)
        self._n_steps += 1
        made = ~self._explores & ((ends == self._goals) | (self._goals == FREE)).all(axis=1)
        cut = np.zeros(self.num_envs, np.bool_)  # by a time limit: nobody knows what would follow
        for i in np.flatnonzero(over).tolist():
            cut[i] = bool(infos[i].get("TimeLimit.truncated"))
        lost = over & ~cut & ~made & ~self._explores
        rewards = self._pay(ends, made, lost)
        done = made | over | (self._n_steps >= self._limits)
        observations["desired_goal"] = self._goals.copy()
        if done.any():
            infos = list(infos)
            for i in np.flatnonzero(done).tolist():
                last = infos[i]["terminal_observation"] if over[i] else None
                last = last or {key: part[i] for key, part in observations.items()}
                infos[i] = self._last_info(i, last, bool(made[i]), bool(over[i] and not cut[i]))
            self._count(done & ~self._explores, ends, made, lost, cut)
            self._next_segments(np.flatnonzero(done), here)
            observations["desired_goal"][done] = self._goals[done]
        self._previous = here.copy()
        return observations, rewards, done, infos

    def _pay(self, ends: IntArray, made: BoolArray, lost: BoolArray) -> npt.NDArray[np.float32]:
        """Count the transitions; 1 for a change made, and the bonus while exploring."""
        rewards = made.astype(np.float64) + self.settings.lost_reward * lost
        moved = (ends != self._previous).any(axis=1)
        if moved.any():
            visits = self.counts.record(self._previous[moved], ends[moved])
            bonus = self.settings.bonus_scale * self._formula(visits, self.counts.total)
            rewards[moved] += np.where(self._explores[moved], bonus, 0.0)
        self._returns += rewards
        return rewards.astype(np.float32)

    def _count(
        self, hopped: BoolArray, ends: IntArray, made: BoolArray, lost: BoolArray, cut: BoolArray
    ) -> None:
        """Note how the hops went that have ended."""
        unknown = cut & ~made & (self._n_steps < self._limits)
        rows = np.flatnonzero(hopped & ~unknown)
        if not len(rows):
            return
        self.outcomes.record(
            self._starts[rows],
            self._goals[rows],
            ends[rows],
            made=made[rows],
            n_steps=self._n_steps[rows],
            over=lost[rows],
        )
        self.lengths.add(self._n_steps[rows][made[rows]])
        self._tally += (len(rows), int(made[rows].sum()))

    def _last_info(self, i: int, last: Observations, made: bool, ended: bool) -> Info:
        """What SB3 wants to know of a segment that ended."""
        return {
            "terminal_observation": {**last, "desired_goal": self._goals[i].copy()},
            "TimeLimit.truncated": not (made or ended),
            "is_success": made,
            "episode": {
                "r": float(self._returns[i]),
                "l": int(self._n_steps[i]),
                "t": round(time.time() - self._clock, 6),
            },
        }

    def _next_segments(self, rows: Rows, here: IntArray) -> None:
        """Begin a segment in each of the rows."""
        changes = self._drawer.draw(here[rows])
        explores = self._rng.random(len(rows)) < self.settings.explore_share
        explores |= (changes == FREE).all(axis=1)
        changes[explores] = FREE
        self._goals[rows], self._explores[rows] = changes, explores
        self._starts[rows] = here[rows]
        self._n_steps[rows], self._returns[rows] = 0, 0.0
        self._limits[rows] = np.where(explores, self.settings.explore_steps, self.lengths.limit)
