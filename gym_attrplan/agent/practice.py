"""PracticeVecEnv: environments whose episodes consist of hops and exploration segments."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from gym_attrplan.agent.aims import Aims
from gym_attrplan.agent.buffers import AttemptBuffer
from gym_attrplan.agent.chance import Chance
from gym_attrplan.agent.change_drawer import ChangeDrawer
from gym_attrplan.agent.hop_judge import BoolArray, HopJudge, Info, Observations, last_vectors
from gym_attrplan.agent.hop_lengths import MAX_LENGTHS, HopLengths
from gym_attrplan.agent.practice_notes import EndedHops, PracticeNotes
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.agent.trail import with_trail
from gym_attrplan.attributes.space import FREE, IntArray
from gym_attrplan.error import InvalidArchive
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.wrappers.bonus import BonusFormula, count_bonus

Rows = npt.NDArray[np.int64]


class PracticeVecEnv(HopJudge):
    """Environments whose episodes consist of segments, each a hop or exploration.

    A hop has a change as its goal, ``desired_goal`` with -1 for free attributes. It ends when the
    change holds, when its time is up, or with the episode. Everything else that changes is part of
    its outcome, which is counted. An exploration segment has no goal and pays a bonus for
    transitions, higher for rarer ones. Segments follow each other within an episode, so exploration
    starts wherever hops have led. For SB3 every segment is an episode.

    Args:
        venv: The environments.
        counts: Table of all transitions between descriptions.
        outcomes: Table of all finished hops, except those that the time limit of the episode
            cut shorter than the mean successful hop.
        settings: Shares, lengths and rewards of the segments.
        formula: Bonus of a transition in exploration.
        attempts: Buffer of the states at the start and at the end of hops.
        rng: Generator of segments and changes.

    Attributes:
        lengths: Lengths of successful hops.
        episode_steps: Length of the longest episode that a time limit has cut; 0 if none yet.
        chance: Whether chance decides about the effects of actions.
        ends: ``(num_envs, n_attributes)`` descriptions after the last step, before automatic
            resets.
        over: ``(num_envs,)`` whether the episode was over.
        ended: ``(num_envs,)`` whether it ended without a time limit.
        notes: Second record of everything that is counted, if any.
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
        super().__init__(with_trail(venv))
        self.counts, self.outcomes = counts, outcomes
        self.settings = settings = PracticeSettings() if settings is None else settings
        self.lengths = HopLengths(first_limit=settings.first_limit, limits=settings.limits)
        assert formula is not None  # options refuse exploration without a bonus
        self.episode_steps = 0
        self.chance = Chance(self.num_envs)
        self._formula = formula
        self._attempts = attempts
        self._rng = rng
        self._drawer = ChangeDrawer(outcomes, counts, settings, rng)
        self._aims = Aims(outcomes, counts, settings, self.num_envs, rng)
        asks = venv.has_attr("knows_possible_values")
        self._asks_what_is_possible = asks and venv.get_attr("knows_possible_values", [0])[0]
        self._clock = time.time()
        self._tally = np.zeros(2, np.int64)
        self.notes: PracticeNotes | None = None

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state of practice that is not stored elsewhere, for :meth:`restore`."""
        return {
            "lengths": self.lengths.recent.copy(),
            "seen": self._drawer.seen.copy(),
            "episode_steps": np.array(self.episode_steps),
            "repeats": self.chance.counts.copy(),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state that :meth:`to_arrays` returned.

        Raises:
            InvalidArchive: If the arrays do not fit these environments.
        """
        lengths, seen = arrays["lengths"], arrays["seen"]
        sound = lengths.ndim == 1 and lengths.dtype == np.float64 and len(lengths) <= MAX_LENGTHS
        if not (sound and bool((lengths >= 1).all()) and bool(np.isfinite(lengths).all())):
            raise InvalidArchive(f"the lengths of hops are at most {MAX_LENGTHS:,} numbers from 1.")
        if seen.dtype != np.bool_ or seen.shape != self._drawer.seen.shape:
            raise InvalidArchive(
                f"values seen have shape {self._drawer.seen.shape}; received {seen.shape}."
            )
        limit = arrays["episode_steps"]
        if limit.dtype != np.int64 or limit.shape != () or limit < 0:
            raise InvalidArchive("the length of episodes is a whole number of at least 0.")
        self.chance.restore(arrays["repeats"])
        self.lengths.recent, self._drawer.seen = lengths.copy(), seen.copy()
        self.episode_steps = int(limit)

    def see(self, descriptions: IntArray) -> None:
        """Record values that attributes can have."""
        self._drawer.see(descriptions)

    def take_tally(self) -> tuple[int, int]:
        """Return the number of finished hops and of changes made since the last call."""
        n_hops, n_made = self._tally.tolist()
        self._tally[:] = 0
        return n_hops, n_made

    def reset(self) -> Observations:
        """Begin new episodes, with a segment in each."""
        observations: Observations = dict(self.venv.reset())  # type: ignore[arg-type]
        here = observations["achieved_goal"]
        n = self.num_envs
        self._starts, self._previous = here.copy(), here.copy()
        self._goals = np.full_like(here, FREE)
        self._explores = np.zeros(n, np.bool_)
        self._n_steps, self._limits, self._ages = np.zeros((3, n), np.int64)
        self._returns = np.zeros(n)
        self._drawer.see(here)
        self._aims.forget()
        self.chance.begin(observations)
        self._next_segments(np.arange(n), here)
        observations["desired_goal"] = self._goals.copy()
        if self._attempts is not None:
            self._start_rows = {key: observations[key].copy() for key in self._attempts.keys}
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Send the actions to the environments."""
        self._actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Step, compute rewards, and replace finished segments."""
        observations, _, over, infos = self.venv.step_wait()
        observations = dict(observations)  # type: ignore[arg-type]
        self.chance.watch(self._actions, observations, over)
        ends = last_vectors(observations, over, infos)
        here = observations["achieved_goal"]
        self._drawer.see(ends)
        self._drawer.see(here)
        self._n_steps += 1
        self._ages += 1
        made = _holds(ends, self._goals)
        cut = np.zeros(self.num_envs, np.bool_)  # by a time limit: the outcome is unknown
        for i in np.flatnonzero(over).tolist():
            cut[i] = bool(infos[i].get("TimeLimit.truncated"))
        ended = over & ~cut
        self.episode_steps = max(self.episode_steps, int(self._ages[cut].max(initial=0)))
        self._ages[over] = 0
        rewards = self.outcomes.pay(self._goals, made=made, over=ended)
        rewards += self._bonus(ends) - self.settings.end_cost * (ended & ~made)
        self._returns += rewards
        done = made | over | (self._n_steps >= self._limits)
        observations["desired_goal"] = self._goals.copy()
        if done.any():
            infos = list(infos)
            for i in np.flatnonzero(done).tolist():
                last = infos[i]["terminal_observation"] if over[i] else None
                last = last or {key: part[i] for key, part in observations.items()}
                infos[i] = self._last_info(i, last, bool(made[i]), bool(ended[i]))
            self._count(done & ~self._explores, ends, made, ended, cut, infos)
            self._aims.give_up(np.flatnonzero(done & ~made & ~self._explores))
            self._next_segments(np.flatnonzero(done), here)
            observations["desired_goal"][done] = self._goals[done]
            if self._attempts is not None:
                for key, rows in self._start_rows.items():
                    rows[done] = observations[key][done]
        self._previous = here.copy()
        self.ends, self.over, self.ended = ends, over, ended
        return observations, rewards.astype(np.float32), done, infos

    def compute_reward(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.float32]:
        """Return 1 where the change holds; exploration is not rewarded here."""
        return _holds(achieved_goal, desired_goal).astype(np.float32)

    def compute_terminated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: list[Info]
    ) -> BoolArray:
        """Return whether a hop ends there: its change holds, or the episode is over."""
        ended = np.array([bool(one.get("env_terminated")) for one in info])
        ends: BoolArray = _holds(achieved_goal, desired_goal) | ended
        return ends

    def _bonus(self, ends: IntArray) -> npt.NDArray[np.float64]:
        """Count the transitions and return their bonuses in exploration."""
        bonus = np.zeros(self.num_envs)
        moved = (ends != self._previous).any(axis=1)
        if moved.any():
            visits = self.counts.record(self._previous[moved], ends[moved])
            if self.notes is not None:
                self.notes.counts.record(self._previous[moved], ends[moved])
            bonus[moved] = self.settings.bonus_scale * self._formula(visits, self.counts.total)
            bonus[moved] *= visits < self.settings.familiar
        return bonus * self._explores

    def _count(
        self,
        hopped: BoolArray,
        ends: IntArray,
        made: BoolArray,
        ended: BoolArray,
        cut: BoolArray,
        infos: list[Info],
    ) -> None:
        """Record the outcomes of finished hops."""
        # A hop that was cut before the usual length of hops might still have succeeded.
        fair = np.minimum(self._limits, self.lengths.mean)
        unknown = cut & ~made & (self._n_steps < fair)
        rows = np.flatnonzero(hopped & ~unknown)
        if not len(rows):
            return
        parts: Any = (self._starts, self._goals, ends, made, self._n_steps, ended)
        self._count_hops(EndedHops(*(part[rows] for part in parts)))
        if self._attempts is not None:
            begun = {key: part[rows] for key, part in self._start_rows.items()}
            last = [infos[i]["terminal_observation"] for i in rows.tolist()]
            self._attempts.add_ended(
                begun,
                {key: np.stack([one[key] for one in last]) for key in self._attempts.end_keys},
                reached=made[rows],
                n_steps=self._n_steps[rows],
                over=ended[rows],
            )

    def _count_hops(self, hops: EndedHops) -> None:
        starts, changes, ends, made, n_steps, over = hops
        self.outcomes.record(starts, changes, ends, made=made, n_steps=n_steps, over=over)
        self.lengths.add(n_steps[made])
        self._tally += (len(made), int(made.sum()))
        if self.notes is not None:
            self.notes.note_hops(hops)

    def take_in(self, counts: TransitionCounts, hops: EndedHops, seen: BoolArray) -> None:
        """Add counts from practice elsewhere.

        Args:
            counts: The transitions.
            hops: The hops.
            seen: ``(n_attributes, n_values)`` which values attributes had.
        """
        self.counts.merge(counts)
        self._count_hops(hops)
        self._drawer.seen |= seen

    def _last_info(self, i: int, last: Observations, made: bool, ended: bool) -> Info:
        """Return the info that SB3 expects at the end of a segment."""
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
        possible = self._possible(rows)
        changes = self._drawer.draw(here[rows], possible)
        explores = self._rng.random(len(rows)) < self.settings.explore_share
        explores |= (changes == FREE).all(axis=1)
        self._aims.direct(rows, here[rows], changes, where=~explores, possible=possible)
        changes[explores] = FREE
        self._goals[rows], self._explores[rows] = changes, explores
        self._starts[rows] = here[rows]
        self._n_steps[rows], self._returns[rows] = 0, 0.0
        self._limits[rows] = np.where(explores, self.settings.explore_steps, self.lengths.limit)

    def _possible(self, rows: Rows) -> BoolArray | None:
        """Return ``(n, n_attributes, n_values)`` values that can occur; None if not known."""
        if not self._asks_what_is_possible:
            return None
        answers = self.venv.env_method("possible_values", indices=rows.tolist())
        # A batch answers for all of its environments at once.
        known = answers[0][rows] if answers[0].ndim == 3 else np.stack(answers)
        n_added = len(self.outcomes.space) - known.shape[1]
        possible: BoolArray = np.pad(known, ((0, 0), (0, n_added), (0, 0)), constant_values=True)
        return possible


def _holds(achieved: IntArray, change: IntArray) -> BoolArray:
    """Return where a change holds; an empty change never does."""
    free = change == FREE
    held: BoolArray = np.all((achieved == change) | free, axis=-1) & ~np.all(free, axis=-1)
    return held
