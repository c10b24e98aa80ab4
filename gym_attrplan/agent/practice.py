"""PracticeVecEnv: environments cut into segments that hop or explore, in one stream of steps."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from gym_attrplan.agent.actors import random_actions
from gym_attrplan.agent.buffers import AttemptBuffer
from gym_attrplan.agent.fingerprints import fingerprints
from gym_attrplan.agent.hop_judge import BoolArray, HopJudge, Info, Observations, last_vectors
from gym_attrplan.agent.lessons import Lessons
from gym_attrplan.attributes.space import FREE, AttributeSpace, IntArray
from gym_attrplan.error import InvalidArchive, InvalidOption
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus
from gym_attrplan.wrappers.observation import GOAL_KEYS

Rows = npt.NDArray[np.int64]

_N_LENGTHS = 4_000
_MIN_LENGTHS = 100
_N_VIEWS = 256
_LESSON_STEPS = 4_096


@dataclass(frozen=True)
class PracticeSettings:
    """How practice is divided up and paid.

    Attributes:
        explore_share: Share of the segments that explore.
        explore_steps: Length of a segment that explores.
        bonus_scale: Factor on the bonus of a transition while exploring; a hop pays 1.
        first_limit: Longest hop while it is not known how long hops take.
        limits: Shortest and longest such limit later on.
        floor: Chance to be drawn that a change has which needs no practice, beside p (1 - p) of
            one that works with probability p.
        view_reward: What each observation pays that is new in its segment, while exploring and on
            hops that hardly ever work: who looks around finds what there is.
        hopeless: A hop that works with a lower probability hardly ever works.
        noise: Half of such hops have so large a share of their actions replaced by random ones, and
            do not count: a policy that keeps away from what it is asked for would never learn it.
        lesson_share: How often an environment sets out for a place where a change was seen to
            follow that hops do not make yet, to ask for it there.
        near: For a change that was seen to follow from here by chance, (1 - p) times so much is
            added: it can be learned, however often it has failed.
    """

    explore_share: float = 0.25
    explore_steps: int = 50
    bonus_scale: float = 0.3
    first_limit: int = 100
    limits: tuple[int, int] = (16, 200)
    floor: float = 0.02
    view_reward: float = 0.01
    hopeless: float = 0.1
    noise: float = 0.5
    lesson_share: float = 0.1
    near: float = 0.25

    @classmethod
    def given(cls, *, max_hop_steps: int | None = None, **settings: Any) -> PracticeSettings:
        """Settings with one length for all hops, unless it is None."""
        if max_hop_steps is not None:
            settings |= {"first_limit": max_hop_steps, "limits": (max_hop_steps, max_hop_steps)}
        return cls(**settings)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("explore_share", 0.0, 1.0),
            ("explore_steps", 1, np.inf),
            ("bonus_scale", 0.0, np.inf),
            ("first_limit", 1, np.inf),
            ("floor", 0.0, 1.0),
            ("view_reward", 0.0, 1.0),
            ("hopeless", 0.0, 1.0),
            ("noise", 0.0, 1.0),
            ("lesson_share", 0.0, 1.0),
            ("near", 0.0, 1.0),
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
        self.recent = np.zeros(0)

    def add(self, n_steps: npt.NDArray[Any]) -> None:
        """Note the lengths of hops that worked."""
        self.recent = np.concatenate([self.recent, n_steps])[-_N_LENGTHS:]

    @property
    def mean(self) -> float:
        """The mean length; infinite while there are too few to say."""
        return float(self.recent.mean()) if len(self.recent) >= _MIN_LENGTHS else np.inf

    @property
    def limit(self) -> int:
        """Steps after which a hop is given up: three times what nine of ten need."""
        if len(self.recent) < _MIN_LENGTHS:
            return self._first_limit
        return int(np.clip(3 * np.percentile(self.recent, 90), *self._limits))

    @property
    def discount(self) -> float:
        """γ of a learner: it looks ahead four times as far as hops are long."""
        if len(self.recent) < _MIN_LENGTHS:
            return 0.99
        return float(np.clip(1.0 - 1.0 / (4.0 * self.mean), 0.9, 0.99))


class ChangeDrawer:
    """Draws what to ask for next: a value of one attribute, as far as that needs practice.

    Args:
        outcomes: How changes went.
        counts: What was seen to follow from what.
        settings: How practice is divided up.
        rng: Draws.
    """

    def __init__(
        self,
        outcomes: HopOutcomes,
        counts: TransitionCounts,
        settings: PracticeSettings,
        rng: np.random.Generator,
    ) -> None:
        self._outcomes, self._counts = outcomes, counts
        self._settings = settings
        self._rng = rng
        space = outcomes.space
        self.seen = np.zeros((len(space), int(space.sizes.max())), np.bool_)

    def see(self, descriptions: IntArray) -> None:
        """Note values that attributes can have."""
        self.seen[np.arange(descriptions.shape[1]), descriptions] = True

    def draw(self, descriptions: IntArray) -> IntArray:
        """``(n, n_attributes)`` a change for each row; all free where there is none to make."""
        space: AttributeSpace = self._outcomes.space
        column, value = np.nonzero(self.seen)
        singles = np.full((len(column), len(space)), FREE, space.dtype)
        singles[np.arange(len(column)), column] = value
        n, k = len(descriptions), len(singles)
        chances = self._outcomes.success_rates(
            np.repeat(descriptions, k, axis=0), np.tile(singles, (n, 1))
        ).reshape(n, k)
        near = self._settings.near * self._follows(descriptions)[:, column, value]
        need = (1.0 - chances) * (chances + near) + self._settings.floor
        need[descriptions[:, column] == value] = 0.0
        # A race of exponential clocks is won in proportion to their rates.
        clocks = np.full((n, k), np.inf)
        np.divide(self._rng.standard_exponential((n, k)), need, out=clocks, where=need > 0)
        changes: IntArray = singles[clocks.argmin(axis=1)]
        changes[~(need > 0).any(axis=1)] = FREE
        return changes

    def _follows(self, descriptions: IntArray) -> BoolArray:
        """``(n, n_attributes, n_values)`` what was seen to change at once from each row."""
        found = np.zeros((len(descriptions), *self.seen.shape), np.bool_)
        nodes = self._counts.index.find(descriptions).astype(np.int64)
        known = np.flatnonzero(nodes >= 0)
        owner, targets = self._counts.followers(nodes[known])
        after = self._counts.index.vectors(targets)
        row, column = np.nonzero(after != descriptions[known[owner]])
        found[known[owner[row]], column, after[row, column]] = True
        return found


class Views:
    """Which observations each environment has seen since it began to look.

    Args:
        num_envs: Number of environments.

    Example:
        >>> views = Views(2)
        >>> [views.look({"seen": np.array(seen)}).tolist() for seen in ([1, 5], [1, 6], [2, 5])]
        [[True, True], [False, True], [True, False]]
        >>> views.begin(np.array([1]))
        >>> views.look({"seen": np.array([2, 5])}).tolist()
        [False, True]
    """

    def __init__(self, num_envs: int) -> None:
        self._seen = np.zeros((num_envs, _N_VIEWS), np.int64)
        self._n_seen = np.zeros(num_envs, np.int64)

    def begin(self, rows: Rows) -> None:
        """Forget what was seen in these environments."""
        self._n_seen[rows] = 0

    def look(self, observations: Observations) -> BoolArray:
        """``(num_envs,)`` where the observation is new; the latest few hundred are remembered."""
        numbers = fingerprints(observations)
        known = np.arange(_N_VIEWS) < self._n_seen[:, None]
        is_new: BoolArray = ~((self._seen == numbers[:, None]) & known).any(axis=1)
        rows = np.flatnonzero(is_new)
        self._seen[rows, self._n_seen[rows] % _N_VIEWS] = numbers[rows]
        self._n_seen[rows] += 1
        return is_new


class PracticeVecEnv(HopJudge):
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
            cut it shorter than hops that work are on average.
        settings: How practice is divided up and paid.
        formula: What a transition pays while exploring.
        attempts: Where the states that hops start from are kept for the success model.
        rng: Draws segments and changes.
    """

    def __init__(
        self,
        venv: VecEnv,
        counts: TransitionCounts,
        outcomes: HopOutcomes,
        *,
        settings: PracticeSettings | None = None,
        formula: BonusFormula | None = count_bonus,
        attempts: AttemptBuffer | None = None,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(venv)
        self.counts, self.outcomes = counts, outcomes
        self.settings = settings = PracticeSettings() if settings is None else settings
        self.lengths = HopLengths(first_limit=settings.first_limit, limits=settings.limits)
        assert formula is not None  # options refuse what pays nothing
        self._formula = formula
        self._attempts = attempts
        self._rng = rng
        self._drawer = ChangeDrawer(outcomes, counts, settings, rng)
        self._lessons = self._new_lessons()
        self._until_lessons = 0
        self._clock = time.time()
        self._tally = np.zeros(2, np.int64)

    def _new_lessons(self) -> Lessons:
        share = self.settings.lesson_share
        return Lessons(self.num_envs, self.counts, self.outcomes, share=share, rng=self._rng)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What practice goes by, beside what is counted elsewhere; :meth:`restore` takes it."""
        return {"lengths": self.lengths.recent.copy(), "seen": self._drawer.seen.copy()}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what :meth:`to_arrays` gave.

        Raises:
            InvalidArchive: If the arrays are of another practice.
        """
        lengths, seen = arrays["lengths"], arrays["seen"]
        sound = lengths.ndim == 1 and lengths.dtype == np.float64 and len(lengths) <= _N_LENGTHS
        if not (sound and bool((lengths >= 1).all()) and bool(np.isfinite(lengths).all())):
            raise InvalidArchive("the lengths of hops are at most 4,000 numbers from 1.")
        if seen.dtype != np.bool_ or seen.shape != self._drawer.seen.shape:
            raise InvalidArchive(
                f"values seen have shape {self._drawer.seen.shape}; received {seen.shape}."
            )
        self.lengths.recent, self._drawer.seen = lengths.copy(), seen.copy()

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
        self._views, self._looks = Views(n), np.zeros(n, np.bool_)
        self._noisy = np.zeros(n, np.bool_)
        self._lessons, self._until_lessons = self._new_lessons(), 0
        self._drawer.see(here)
        self._next_segments(np.arange(n), here)
        observations["desired_goal"] = self._goals.copy()
        if self._attempts is not None:
            self._start_rows = {key: rows.copy() for key, rows in observations.items()}
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Begin a step; where a hop is noisy, some actions are others than those given."""
        replaced = self._noisy & (self._rng.random(self.num_envs) < self.settings.noise)
        rows = np.flatnonzero(replaced)
        if len(rows):
            actions = np.array(actions)
            actions[rows] = random_actions(self.action_space, len(rows), self._rng)
        super().step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step; pay, and replace the segments that ended."""
        observations, _, over, infos = self.venv.step_wait()
        observations = dict(observations)  # type: ignore[arg-type]
        ends = last_vectors(observations, over, infos)
        here = observations["achieved_goal"]
        self._drawer.see(ends)
        self._drawer.see(here)
        self._n_steps += 1
        self._until_lessons -= self.num_envs
        if self._until_lessons <= 0:
            self._lessons.choose()
            self._until_lessons = _LESSON_STEPS
        made = _holds(ends, self._goals)
        cut = np.zeros(self.num_envs, np.bool_)  # by a time limit: nobody knows what would follow
        for i in np.flatnonzero(over).tolist():
            cut[i] = bool(infos[i].get("TimeLimit.truncated"))
        ended = over & ~cut
        rewards = self.outcomes.pay(self._goals, made=made, over=ended)
        rewards += self._bonus(ends) + self._view_rewards(observations, over)
        self._returns += rewards
        done = made | over | (self._n_steps >= self._limits)
        observations["desired_goal"] = self._goals.copy()
        if done.any():
            infos = list(infos)
            for i in np.flatnonzero(done).tolist():
                last = infos[i]["terminal_observation"] if over[i] else None
                last = last or {key: part[i] for key, part in observations.items()}
                infos[i] = self._last_info(i, last, bool(made[i]), bool(ended[i]))
            self._count(done & ~self._explores & ~self._noisy, ends, made, ended, cut)
            self._next_segments(np.flatnonzero(done), here)
            observations["desired_goal"][done] = self._goals[done]
            if self._attempts is not None:
                for key, rows in self._start_rows.items():
                    rows[done] = observations[key][done]
        self._previous = here.copy()
        return observations, rewards.astype(np.float32), done, infos

    def compute_reward(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.float32]:
        """1 where the change holds; a walk without a goal is paid by what it finds, not here."""
        return _holds(achieved_goal, desired_goal).astype(np.float32)

    def compute_terminated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: list[Info]
    ) -> BoolArray:
        """Whether a hop ends there: its change holds, or the environment's episode is over."""
        ended = np.array([bool(one.get("env_terminated")) for one in info])
        ends: BoolArray = _holds(achieved_goal, desired_goal) | ended
        return ends

    def _bonus(self, ends: IntArray) -> npt.NDArray[np.float64]:
        """Count the transitions; what they pay while exploring."""
        bonus = np.zeros(self.num_envs)
        moved = (ends != self._previous).any(axis=1)
        if moved.any():
            visits = self.counts.record(self._previous[moved], ends[moved])
            bonus[moved] = self.settings.bonus_scale * self._formula(visits, self.counts.total)
        return bonus * self._explores

    def _view_rewards(self, observations: Observations, over: BoolArray) -> npt.NDArray[np.float64]:
        """What new views pay where they do; of a continuum every view is new, and says nothing."""
        seen = {key: part for key, part in observations.items() if key not in GOAL_KEYS}
        if any(np.issubdtype(part.dtype, np.floating) for part in seen.values()):
            return np.zeros(self.num_envs)
        # The first view of a new episode is no view of the segment that has ended.
        new = self._views.look(seen) & self._looks & ~over
        return np.where(new, self.settings.view_reward, 0.0)

    def _count(
        self, hopped: BoolArray, ends: IntArray, made: BoolArray, ended: BoolArray, cut: BoolArray
    ) -> None:
        """Note how the hops went that have ended."""
        # Who was cut short before hops usually end might yet have made it.
        fair = np.minimum(self._limits, self.lengths.mean)
        unknown = cut & ~made & (self._n_steps < fair)
        rows = np.flatnonzero(hopped & ~unknown)
        if not len(rows):
            return
        self.outcomes.record(
            self._starts[rows],
            self._goals[rows],
            ends[rows],
            made=made[rows],
            n_steps=self._n_steps[rows],
            over=ended[rows],
        )
        if self._attempts is not None:
            begun = {key: part[rows] for key, part in self._start_rows.items()}
            self._attempts.add_rows(begun, reached=made[rows])
        self.lengths.add(self._n_steps[rows][made[rows]])
        self._tally += (len(rows), int(made[rows].sum()))

    def _last_info(self, i: int, last: Observations, made: bool, ended: bool) -> Info:
        """What SB3 wants to know of a segment that ended."""
        return {
            "terminal_observation": {**last, "desired_goal": self._goals[i].copy()},
            "TimeLimit.truncated": not (made or ended),
            "env_terminated": ended,
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
        lessons = self._lessons.ask(rows, here[rows])
        taught = (lessons != FREE).any(axis=1)
        changes[taught], explores[taught] = lessons[taught], False
        self._goals[rows], self._explores[rows] = changes, explores
        chances = self.outcomes.success_rates(here[rows], changes)
        hopeless = ~explores & (chances < self.settings.hopeless)
        self._looks[rows] = explores | hopeless
        self._noisy[rows] = hopeless & (self._rng.random(len(rows)) < 0.5)
        self._views.begin(rows)
        self._starts[rows] = here[rows]
        self._n_steps[rows], self._returns[rows] = 0, 0.0
        self._limits[rows] = np.where(explores, self.settings.explore_steps, self.lengths.limit)


def _holds(achieved: IntArray, change: IntArray) -> BoolArray:
    """Where a change holds; one that asks for nothing never does."""
    free = change == FREE
    held: BoolArray = np.all((achieved == change) | free, axis=-1) & ~np.all(free, axis=-1)
    return held
