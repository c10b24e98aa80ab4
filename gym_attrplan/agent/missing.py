"""What the attributes miss: hops whose outcome the state tells more about than the attributes do.

The planner takes for granted that a hop's probability depends on the attributes alone. Attempts at
hops are kept with the states they started from. Where a question about the state divides the
attempts from one description into those that work and those that do not, :func:`find_missing`
names the hop and the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats
from scipy.special import xlogy

from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.attributes.library.minigrid import symbol_names
from gym_attrplan.graph.plan import describe_change
from gym_attrplan.models.questions import Question, Symbols, questions_about
from gym_attrplan.wrappers.origin import Origin

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

CHANCE = 0.05
"""Probability that anything is named where the state does not matter."""

MIN_ATTEMPTS = 40
"""Minimum number of attempts at a hop for it to be judged."""

MIN_GAP = 0.05
"""Minimum mean difference between the probabilities with and without the question."""

MIN_TELLING = 400
"""Minimum number of attempts that could show a dependence, for an attribute to be needless."""

N_STATES = 4
"""Number of states of each kind that a finding shows."""

_PRIOR = 2.0
"""Number of attempts that the description's own rate weighs in the rate of an answer."""


@dataclass(frozen=True)
class Missing:
    """A hop whose success depends on more than the attributes.

    Attributes:
        hop: The change, in words.
        question: What to ask of the state.
        asked: The question in words.
        start: The description from which the answer matters most, in words.
        with_yes: Attempts from there that worked, and all of them, where the answer is yes.
        with_no: The same where it is no.
        n: Number of attempts at the hop, from all descriptions.
        lost: Mean difference, over these, between the probability with and without the answer.
        shown: Some of the states where the answer is yes, and some where it is no: key → rows.

    Example:
        >>> question = Question("image", (2,), "has", 2.0)
        >>> counts = {"with_yes": (4, 80), "with_no": (60, 64), "n": 200, "lost": 0.4}
        >>> print(Missing("room=goal", question, "image has locked", "carrying=key", **counts))
        room=goal, from 'carrying=key': works in 4 of 80 attempts if image has locked, and in 60 of
        64 if not
    """

    hop: str
    question: Question
    asked: str
    start: str
    with_yes: tuple[int, int]
    with_no: tuple[int, int]
    n: int
    lost: float
    shown: tuple[Mapping[str, Array], Mapping[str, Array]] = field(
        default=({}, {}), repr=False, compare=False
    )

    def __str__(self) -> str:
        yes, no = ("{:,} of {:,}".format(*counts) for counts in (self.with_yes, self.with_no))
        return (
            f"{self.hop}, from {self.start!r}: works in {yes} attempts if {self.asked}, and in "
            f"{no} if not"
        )


def find_missing(
    observations: Mapping[str, Array],
    reached: BoolArray,
    space: AttributeSpace,
    *,
    symbols: Symbols | None = None,
    seed: int = 0,
) -> list[Missing]:
    """Hops on which the state tells more than the attributes, the most success lost first.

    One half of the attempts chooses a question for each hop. The other half judges it, by a test
    of whether answer and outcome are independent given the description (Cochran, Mantel and
    Haenszel). The more hops are judged, the lower the probability with which each may be named by
    chance.

    Args:
        observations: Key → ``(n, …)`` states that hops started from, with ``achieved_goal`` and
            ``desired_goal``.
        reached: ``(n,)`` which of them worked.
        space: The attributes.
        symbols: Words of what observations show, for the questions.
        seed: Of the halves.
    """
    starts, changes = (np.asarray(observations[key]) for key in ("achieved_goal", "desired_goal"))
    wanted, change = np.unique(changes, axis=0, return_inverse=True)
    asked = (wanted != FREE).any(axis=1)
    judged = np.flatnonzero(asked & (np.bincount(change, minlength=len(wanted)) >= MIN_ATTEMPTS))
    chosen_from = np.random.default_rng(seed).random(len(reached)) < 0.5
    chance = CHANCE / max(len(judged), 1)
    found = []
    for number in judged.tolist():
        rows = np.flatnonzero(change == number)
        some = {key: part[rows] for key, part in observations.items()}
        attempts = _Attempts(starts[rows], reached[rows], chosen_from[rows])
        question = attempts.best_question(some)
        if question is None:
            continue
        yes = question.answer(some)
        gap = attempts.gap(yes)
        if gap >= MIN_GAP and attempts.p_value(yes) < chance:
            words = question.describe(symbols or {})
            found.append(_named(space, some, question, words, attempts, yes, gap))
    return sorted(found, key=lambda one: -one.lost * one.n)


def find_needless(
    observations: Mapping[str, Array], reached: BoolArray, space: AttributeSpace
) -> list[str]:
    """Attributes on which the success of no hop to another attribute depends.

    For each hop it is tested whether a value and the outcome are independent given the values of
    all other attributes. An attribute with too few attempts that could show it is not named.

    Args:
        observations: As for :func:`find_missing`.
        reached: ``(n,)`` which attempts worked.
        space: The attributes.
    """
    starts, changes = (np.asarray(observations[key]) for key in ("achieved_goal", "desired_goal"))
    wanted, change = np.unique(changes, axis=0, return_inverse=True)
    needless = []
    for column, name in enumerate(space):
        others = np.delete(starts, column, axis=1)
        p_values, n_telling = [], 0
        for number in np.flatnonzero((wanted != FREE).any(axis=1) & (wanted[:, column] == FREE)):
            rows = np.flatnonzero(change == number)
            attempts = _Attempts(others[rows], reached[rows], np.zeros(len(rows), np.bool_))
            values = starts[rows, column]
            p_values += [attempts.p_value(values == value) for value in np.unique(values)]
            n_telling += attempts.n_telling(values)
        if n_telling >= MIN_TELLING and min(p_values) * len(p_values) >= CHANCE:
            needless.append(name)
    return needless


def symbols_of(trained_in: Origin | None) -> Symbols:
    """Return the words of an environment's symbols; only MiniGrid's are known."""
    known = trained_in is not None and trained_in["id"].startswith(("MiniGrid-", "BabyAI-"))
    return symbol_names() if known else {}


class _Attempts:
    """Attempts at one hop.

    Args:
        starts: ``(n, n_attributes)`` descriptions where they started.
        reached: ``(n,)`` which worked.
        chooses: ``(n,)`` which are to choose a question; the others judge it.
    """

    def __init__(self, starts: Array, reached: BoolArray, chooses: BoolArray) -> None:
        self.starts, self.group = np.unique(starts, axis=0, return_inverse=True)
        self.reached, self._chooses = reached, chooses

    def best_question(self, observations: Mapping[str, Array]) -> Question | None:
        """The one that makes the choosing half's outcomes most probable; None if none does."""
        rows = np.flatnonzero(self._chooses)
        group, reached = self.group[rows], self.reached[rows].astype(np.float64)
        members = sparse.csr_array(
            (np.ones(len(rows)), (group, np.arange(len(rows)))), (len(self.starts), len(rows))
        )

        def per_group(columns: FloatArray) -> FloatArray:
            return np.asarray(members @ columns, np.float64)

        n, made = per_group(np.ones((len(rows), 1))), per_group(reached[:, None])
        best: tuple[float, Question | None] = (0.0, None)
        for asked, answers in questions_about(observations):
            yes = answers[rows].astype(np.float64)
            n_yes, made_yes = per_group(yes), per_group(yes * reached[:, None])
            gains = _log_likelihood(n_yes, made_yes) + _log_likelihood(n - n_yes, made - made_yes)
            gains = (gains - _log_likelihood(n, made)).sum(axis=0)
            if gains.max() > best[0]:
                best = float(gains.max()), asked[int(gains.argmax())]
        return best[1]

    def p_value(self, yes: BoolArray) -> float:
        """Return how probable such outcomes of the judging half are if the answer is irrelevant."""
        rest = ~self._chooses
        group, made, yes = self.group[rest], self.reached[rest], yes[rest]

        def count(which: BoolArray) -> FloatArray:
            return np.bincount(group[which], minlength=len(self.starts)).astype(np.float64)

        n, n_made, n_yes, both = map(count, (np.ones_like(yes), made, yes, made & yes))
        expected = np.divide(n_made * n_yes, n, out=np.zeros_like(n), where=n > 0)
        spread = expected * (n - n_made) * (n - n_yes)
        variance = np.divide(spread, n * (n - 1.0), out=np.zeros_like(n), where=n > 1).sum()
        if not variance:
            return 1.0
        away = max(0.0, abs(both.sum() - expected.sum()) - 0.5)  # corrected for whole numbers
        return float(stats.chi2.sf(away**2 / variance, df=1))

    def n_telling(self, values: Array) -> int:
        """Return the number of attempts from descriptions with several values and outcomes."""
        telling = np.zeros(len(self.starts), np.bool_)
        for group in range(len(self.starts)):
            rows = self.group == group
            telling[group] = len(np.unique(values[rows])) > 1 and len(set(self.reached[rows])) > 1
        return int(telling[self.group].sum())

    def gap(self, yes: BoolArray) -> float:
        """Return how far apart the probabilities with and without the answer are, on average."""
        learned, rest = self._chooses, ~self._chooses
        plain = self._rates(self.group, learned, 0.5)
        cell = 2 * self.group + yes
        split = self._rates(cell, learned, np.repeat(plain, 2))
        return float(np.abs(split[cell[rest]] - plain[self.group[rest]]).mean())

    def _rates(self, cell: Places, rows: BoolArray, expected: float | FloatArray) -> FloatArray:
        """The share that worked in each cell, with the expected rate as a prior."""
        n_cells = len(expected) if isinstance(expected, np.ndarray) else len(self.starts)
        n = np.bincount(cell[rows], minlength=n_cells)
        made = np.bincount(cell[rows], self.reached[rows], minlength=n_cells)
        rates: FloatArray = (made + _PRIOR * expected) / (n + _PRIOR)
        return rates


def _log_likelihood(n: FloatArray, made: FloatArray) -> FloatArray:
    """Of the outcomes, at the rates that make them most probable, less what fitting costs."""
    rate = np.divide(made, n, out=np.zeros_like(made), where=n > 0)
    found: FloatArray = xlogy(made, rate) + xlogy(n - made, 1.0 - rate) - 0.5 * np.log1p(n)
    return found


def _named(
    space: AttributeSpace,
    observations: Mapping[str, Array],
    question: Question,
    asked: str,
    attempts: _Attempts,
    yes: BoolArray,
    gap: float,
) -> Missing:
    """The finding in words, with the description that shows it best."""
    cell = 2 * attempts.group + yes
    n = np.bincount(cell, minlength=2 * len(attempts.starts)).reshape(-1, 2)
    made = np.bincount(cell, attempts.reached, minlength=n.size).reshape(-1, 2).astype(np.int64)
    rates = (made + 1.0) / (n + 2.0)
    weight = n.min(axis=1) * np.abs(rates[:, 0] - rates[:, 1])
    first = int(weight.argmax())
    start = attempts.starts[first]
    (no_made, yes_made), (n_no, n_yes) = made[first].tolist(), n[first].tolist()
    kinds = [np.flatnonzero(cell == 2 * first + answer)[:N_STATES] for answer in (1, 0)]
    some, others = ({key: part[rows] for key, part in observations.items()} for rows in kinds)
    return Missing(
        hop=describe_change(space, start, observations["desired_goal"][0]),
        question=question,
        asked=asked,
        start=space.describe(start),
        with_yes=(yes_made, n_yes),
        with_no=(no_made, n_no),
        n=len(yes),
        lost=gap,
        shown=(some, others),
    )
