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

MIN_LOST = 0.05
"""Minimum difference in success that the better answer makes, for a hop to be named."""

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
        lost: How much more often these would work if all had the better answer.
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
        lost = attempts.lost(yes)
        if lost >= MIN_LOST and attempts.p_value(yes) < chance:
            words = question.describe(symbols or {})
            found.append(_named(space, some, question, words, attempts, yes, lost))
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
        """The one whose answer the choosing half's outcomes depend on most; None if on none."""
        best: tuple[float, Question | None] = (0.0, None)
        for asked, answers in questions_about(observations):
            away = self._distance(answers, self._chooses)
            if away.max() > best[0]:
                best = float(away.max()), asked[int(away.argmax())]
        return best[1]

    def p_value(self, yes: BoolArray) -> float:
        """Return how probable such outcomes of the judging half are if the answer is irrelevant."""
        return float(stats.chi2.sf(self._distance(yes[:, None], ~self._chooses)[0], df=1))

    def _distance(self, answers: BoolArray, which: BoolArray) -> FloatArray:
        """Return the statistic of Cochran, Mantel and Haenszel for each column of answers."""
        rows = np.flatnonzero(which)
        made, yes = self.reached[rows, None].astype(np.float64), answers[rows].astype(np.float64)
        shape = (len(self.starts), len(rows))
        members = sparse.csr_array(
            (np.ones(len(rows)), (self.group[rows], range(len(rows)))), shape
        )
        n = np.bincount(self.group[rows], minlength=len(self.starts)).astype(np.float64)[:, None]
        n_made, n_yes, both = members @ made, members @ yes, members @ (made * yes)
        many = np.maximum(n, 2.0)  # a single attempt tells nothing: its spread is 0
        expected = n_made * n_yes / many
        spread = (expected * (n - n_made) * (n - n_yes) / (many * (many - 1.0))).sum(axis=0)
        away = np.abs((both - expected)[n[:, 0] > 1].sum(axis=0)) - 0.5  # counts are whole numbers
        found: FloatArray = np.zeros(len(spread))
        np.divide(np.maximum(away, 0.0) ** 2, spread, out=found, where=spread > 0)
        return found

    def n_telling(self, values: Array) -> int:
        """Return the number of attempts from descriptions with several values and outcomes."""
        telling = np.ones(len(self.starts), np.bool_)
        for part in (values, self.reached):
            groups = np.unique(np.stack([self.group, part], axis=1), axis=0)[:, 0]
            telling &= np.bincount(groups, minlength=len(self.starts)) > 1
        return int(telling[self.group].sum())

    def lost(self, yes: BoolArray) -> float:
        """Return how much more often attempts would work if all had the better answer."""
        n, made = (
            np.bincount(2 * self.group + yes, weights, minlength=2 * len(self.starts)).reshape(
                -1, 2
            )
            for weights in (None, self.reached)
        )
        rates = (made + _PRIOR * self.reached.mean()) / (n + _PRIOR)
        weight = n.prod(axis=1) / n.sum(axis=1)  # descriptions with both answers count
        better = rates[:, 1] if weight @ (rates[:, 1] - rates[:, 0]) > 0 else rates[:, 0]
        both = weight > 0
        gained = better - made.sum(axis=1) / n.sum(axis=1)
        return float(gained[both] @ n.sum(axis=1)[both] / len(yes))


def _named(
    space: AttributeSpace,
    observations: Mapping[str, Array],
    question: Question,
    asked: str,
    attempts: _Attempts,
    yes: BoolArray,
    lost: float,
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
        lost=lost,
        shown=(some, others),
    )
