"""Goals for blocks, drawn by a task's name from the true states in which episodes begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gym_attrplan.attributes import FREE
from gym_attrplan.envs.blocks.rules import RELATIONS, Attributes, BlocksRules, IntArray
from gym_attrplan.error import InvalidEnvironment, InvalidGoal

TASKS = ("one_step", "multi_step", "four_stack")
SHARE = 0.7
"""Share of a goal's attributes in tasks whose names end in ``_70``."""

_SUFFIX = "_70"
_STACK = 4


class HasStarts(Protocol):
    """Protocol of a block environment that gives the states in which its episodes began."""

    @property
    def start_states(self) -> IntArray:
        """``(n,)`` states that the last reset set, in the order of the environments."""


@dataclass(frozen=True)
class BlockGoals:
    """Goals by a task's name. Goals that hold at the start are never drawn.

    - ``one_step``: the attributes after one random action;
    - ``multi_step``: the attributes of a new random start;
    - ``four_stack``: the first colour on the second on the third on the fourth; other blocks are
      free. If this stack exists already, a ``multi_step`` goal is drawn instead;
    - ``one_step_70``, ``multi_step_70``, ``four_stack_70``: a random 70% of it, the rest free.

    Args:
        rules: The rules.
        task: The task's name.

    Raises:
        InvalidEnvironment: If there is no such task, or if it needs more blocks.

    Example:
        >>> goals = BlockGoals(BlocksRules(), "multi_step_70")
        >>> rng = np.random.default_rng(0)
        >>> goal = goals.draw(np.array([17]), rng)[0]
        >>> goal.shape, int((goal == -1).sum())
        ((36,), 11)
    """

    rules: BlocksRules
    task: str

    def __post_init__(self) -> None:
        read_kind(self.task, self.rules)

    def draw(self, states: IntArray, rng: np.random.Generator) -> Attributes:
        """Draw ``(n, n_attributes)`` goals for episodes that begin in the states ``(n,)``."""
        achieved = self.rules.evaluate(states)
        goals = np.full_like(achieved, FREE)
        left = np.arange(len(states))
        while len(left):
            goals[left] = thin(self.task, self._draw(states[left], achieved[left], rng), rng)
            left = left[hold(achieved[left], goals[left])]
        return goals

    def of(self, env: HasStarts) -> _GoalsOf:
        """Return a goal sampler for an environment, which uses the environment's own starts."""
        return _GoalsOf(self, env)

    def _draw(self, states: IntArray, achieved: Attributes, rng: np.random.Generator) -> Attributes:
        """Draw complete goals; some may already hold."""
        n, rules = len(states), self.rules
        kind = read_kind(self.task, rules)
        if kind == "one_step":
            return rules.evaluate(rules.move(states, rng.integers(rules.n_actions, size=n)))
        starts = rules.evaluate(rules.random_starts(n, rng))
        if kind == "multi_step":
            return starts
        stack = np.tile(stack_goal(rules), (n, 1))
        return np.where(hold(achieved, stack)[:, None], starts, stack)


@dataclass(frozen=True, eq=False)
class _GoalsOf:
    """Goal sampler that :meth:`BlockGoals.of` returns.

    Attributes are aliased: different states, with different neighbours, share them. So the start
    comes from the environment instead of ``achieved``.
    """

    goals: BlockGoals
    env: HasStarts

    def __call__(self, achieved: npt.NDArray[np.integer[Any]], rng: np.random.Generator, /) -> Any:
        states = self.env.start_states
        if len(states) != len(achieved):
            raise InvalidGoal(
                f"the last reset began {len(states)} episodes, so it needs as many goals; asked "
                f"for {len(achieved)}. Draw goals for states with BlockGoals.draw."
            )
        return self.goals.draw(states, rng)


# --- parts of goals -------------------------------------------------------------------------


def read_kind(task: str, rules: BlocksRules) -> str:
    """Return the task without its suffix.

    Raises:
        InvalidEnvironment: If there is no such task, or if it needs more blocks.
    """
    kind = str(task).removesuffix(_SUFFIX)
    if kind not in TASKS:
        names = [*TASKS, *(name + _SUFFIX for name in TASKS)]
        raise InvalidEnvironment(
            f"the task is one of {names}; received {task!r}. Other goals: give goal_sampler=."
        )
    if kind == "four_stack" and rules.n_blocks < _STACK:
        raise InvalidEnvironment(
            f"{task} needs {_STACK} blocks; received n_blocks={rules.n_blocks}."
        )
    return kind


def stack_goal(rules: BlocksRules) -> Attributes:
    """Return the goal of a stack of the first four blocks in any cell; the others are free."""
    heights = np.arange(rules.n_blocks)[::-1]
    tower = rules.encode(np.zeros((1, rules.n_blocks), np.int64), heights[None])
    named = np.tile((rules.pairs < _STACK).all(axis=1), len(RELATIONS))
    return np.where(named, rules.evaluate(tower)[0], np.int8(FREE))


def thin(task: str, goals: Attributes, rng: np.random.Generator) -> Attributes:
    """Keep a random 70% of the attributes of each goal, if the task's name says so."""
    if not task.endswith(_SUFFIX):
        return goals
    named = goals != FREE
    marks = np.where(named, rng.random(goals.shape), 2.0)
    ranks = marks.argsort(axis=1).argsort(axis=1)
    n_kept = np.rint(SHARE * named.sum(axis=1, keepdims=True))
    return np.where(ranks < n_kept, goals, np.int8(FREE))


def hold(achieved: IntArray, goals: IntArray) -> npt.NDArray[np.bool_]:
    """Return ``(…)`` whether goals ``(…, n_attributes)`` are met."""
    held: npt.NDArray[np.bool_] = ((goals == FREE) | (goals == achieved)).all(axis=-1)
    return held
