"""Refining: an agent adds the attributes that its own lack, and keeps those that help."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.added import AddedAttributes
from gym_attrplan.agent.buffers import AttemptBuffer
from gym_attrplan.agent.evaluation import TaskResult, evaluate_tasks
from gym_attrplan.agent.kinds import Kind
from gym_attrplan.agent.learned import Learned, Learner
from gym_attrplan.agent.missing import Missing, find_needless
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.attributes import FREE, AttributeSpace
from gym_attrplan.attributes.space import IntArray
from gym_attrplan.error import InvalidOption
from gym_attrplan.models.growing import grow_weights, input_blocks
from gym_attrplan.models.questions import Question

Ask = Callable[[Missing], str | None]

MAX_LOSS = 0.01
"""Maximum share of the tasks that plans without needless attributes may cost."""

SHARE = 0.2
"""Share of the steps so far that refining takes by default."""


class Refinable(Learner, Protocol):
    """Protocol of an agent that can be refined."""

    options: AgentOptions
    env: VecEnv
    planner_options: PlannerOptions
    given: Kind
    added: AddedAttributes | None

    def find_missing(self) -> list[Missing]:
        """Return hops whose success depends on more than the attributes."""

    def set_planner(self, planner: PlannerOptions) -> None:
        """Change the planner."""

    def begin_with(self, questions: Mapping[str, Question]) -> None:
        """Build the learners anew for other added attributes."""


@dataclass(frozen=True)
class Refinement:
    """An attribute that was tried.

    Attributes:
        name: The attribute.
        missing: The finding that suggested it.
        before: The tasks without it.
        after: The tasks with it, after training.
    """

    name: str
    missing: Missing
    before: TaskResult
    after: TaskResult

    @property
    def kept(self) -> bool:
        """Whether more tasks were solved with it."""
        return self.after.successes > self.before.successes

    def __str__(self) -> str:
        return (
            f"{self.name!r}: solves {self.after}, {self.before.rate:.1%} before; "
            f"{'kept' if self.kept else 'removed again'}"
        )


@dataclass(frozen=True)
class Omission:
    """Attributes that plans were tried without.

    Attributes:
        names: The attributes.
        before: The tasks with them.
        after: The same tasks without them.
    """

    names: tuple[str, ...]
    before: TaskResult
    after: TaskResult

    @property
    def kept(self) -> bool:
        """Whether plans go on without them: at least as many tasks were solved, but for 1%."""
        return self.after.rate >= self.before.rate - MAX_LOSS

    def __str__(self) -> str:
        return (
            f"plans without {', '.join(self.names)}: solves {self.after}, {self.before.rate:.1%} "
            f"with; {'kept' if self.kept else 'undone'}"
        )


def refine(
    agent: Refinable,
    n_new: int,
    total_timesteps: int | None,
    *,
    n_tasks: int,
    ask: Ask | None,
    drop: bool,
    learn: Callable[..., Any],
) -> list[Refinement | Omission]:
    """Add up to ``n_new`` attributes, see :meth:`AttributePlannerAgent.refine`."""
    check(agent, n_new, total_timesteps, n_tasks)
    n_steps = total_timesteps or max(1, int(SHARE * agent.num_timesteps / n_new))
    tried: list[Refinement | Omission] = []
    refused: set[Question] = set()
    while len(tried) < n_new:
        found = _next(agent, refused, ask)
        if found is None:
            break
        name, missing = found
        refused.add(missing.question)
        goals = _goals(agent)
        before = _solve(agent, goals, n_tasks)
        if before.rate == 1.0:
            break
        old, questions = Learned.by(agent), agent.options.questions
        add_question(agent, name, missing.question)
        _go_on(agent, partial(learn, n_steps))
        one = Refinement(name, missing, before, _solve(agent, goals, n_tasks))
        tried.append(one)
        if not one.kept:
            agent.begin_with(questions)
            old.give_to(agent)
    if drop and len(names := _needless(agent)) > len(agent.planner_options.ignore or ()):
        tried.append(_leave_out(agent, names, n_tasks))
    return tried


def _needless(agent: Refinable) -> list[str]:
    """Return attributes that can be ignored together: each is needless without the ones before."""
    space, attempts = agent.attribute_space, agent.attempts
    starts = attempts.observations["achieved_goal"].copy()
    found = list(agent.planner_options.ignore or ())
    while True:
        starts[:, [space.names.index(name) for name in found]] = 0
        rows = {**attempts.observations, "achieved_goal": starts}
        names = find_needless(rows, attempts.reached, space)
        if not names or len(found) == len(space) - 1:
            return found
        found.append(names[0])


def _leave_out(agent: Refinable, names: list[str], n_tasks: int) -> Omission:
    """Plan without attributes, unless fewer tasks are solved."""
    goals, old = _goals(agent), agent.planner_options
    before = _solve(agent, goals, n_tasks)
    agent.set_planner(replace(old, ignore=tuple(names)))
    one = Omission(tuple(names), before, _solve(agent, goals, n_tasks))
    if not one.kept:
        agent.set_planner(old)
    return one


def check(agent: Refinable, n_new: int, total_timesteps: int | None, n_tasks: int) -> None:
    """Check that an agent can be refined.

    Raises:
        InvalidOption: If not.
    """
    numbers = {"n_new": n_new, "total_timesteps": total_timesteps, "n_tasks": n_tasks}
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise InvalidOption(f"{name} is at least 1; received {value}.")
    if not isinstance(agent.hops, PracticeVecEnv):
        raise InvalidOption(
            'an agent is refined if its hops ask for changes; this one has hops="neighbours".'
        )
    if not len(agent.attempts):
        raise InvalidOption("an agent is refined after practice: call learn() first.")
    if len(agent.hop_model):
        raise InvalidOption(
            "an agent that has learned from logs cannot be refined: the hops of logs are counted "
            "with the attributes that they had."
        )
    input_blocks(agent.low_level.policy)


def add_question(agent: Refinable, name: str, question: Question) -> None:
    """Make an answer an attribute of the agent; what it has learned is kept."""
    assert isinstance(agent.hops, PracticeVecEnv)  # check
    attempts, practice = agent.attempts, agent.hops.to_arrays()
    learned, policy = Learned.by(agent, include=()), agent.low_level.policy
    blocks, weights = input_blocks(policy), policy.state_dict()
    agent.begin_with({**agent.options.questions, name: question})
    new = agent.low_level.policy
    new_blocks = input_blocks(new)
    new.load_state_dict(grow_weights(weights, new.state_dict(), blocks, new_blocks))
    learned.give_progress(agent)
    _count_again(agent, attempts, practice)


def _go_on(agent: Refinable, learn: Callable[[], Any]) -> None:
    """Train as if from the start, with the first learning rate, and count the steps on."""
    n_steps, done = agent.num_timesteps, dict(agent.steps_done)
    try:
        learn()
    finally:
        agent.num_timesteps += n_steps
        agent.steps_done = {phase: n + done[phase] for phase, n in agent.steps_done.items()}


def _count_again(agent: Refinable, attempts: AttemptBuffer, practice: dict[str, Any]) -> None:
    """Count the kept attempts with the added attributes."""
    assert agent.added is not None  # one was added
    assert isinstance(agent.hops, PracticeVecEnv)  # check
    rows, n_given = attempts.rows, len(agent.added.given)
    begun, ends = (
        {**part, "achieved_goal": part["achieved_goal"][:, :n_given]}
        for part in (attempts.observations, attempts.ends)
    )
    wanted = begun["desired_goal"]
    begun = agent.added.extend({**begun, "desired_goal": wanted[:, :n_given]})
    begun["desired_goal"][:, : wanted.shape[1]] = wanted
    ends = agent.added.extend(ends)
    n_steps, over = rows["n_steps"], rows["over"].astype(np.bool_)
    agent.attempts.add_ended(begun, ends, reached=attempts.reached, n_steps=n_steps, over=over)
    starts, last = begun["achieved_goal"], ends["achieved_goal"]
    agent.outcomes.record(
        starts, begun["desired_goal"], last, made=attempts.reached, n_steps=n_steps, over=over
    )
    moved = (starts != last).any(axis=1)
    agent.counts.record(starts[moved], last[moved])
    agent.hops.see(np.concatenate([starts, last]))
    agent.hops.lengths.recent = practice["lengths"]
    agent.hops.episode_steps = int(practice["episode_steps"])
    agent.hops.chance.restore(practice["repeats"])


def _next(agent: Refinable, refused: set[Question], ask: Ask | None) -> tuple[str, Missing] | None:
    """Return the next attribute to add, and the finding; None if there is none left."""
    known = refused | set(agent.options.questions.values())
    for missing in agent.find_missing():
        if missing.question in known:
            continue
        known.add(missing.question)
        name = _free_name(agent, missing.asked) if ask is None else ask(missing)
        if name is not None:
            check_name(agent, name)
            return name, missing
        refused.add(missing.question)
    return None


def check_name(agent: Refinable, name: str) -> None:
    """Check that an attribute can be added under a name.

    Raises:
        InvalidAttributes: If goals could not read it.
        InvalidOption: If it is taken.
    """
    AttributeSpace([name])
    if name in agent.attribute_space:
        raise InvalidOption(f"there is an attribute {name!r} already.")


def _free_name(agent: Refinable, words: str) -> str:
    """Return the words, with a number if they are taken."""
    numbered = (f"{words} ({i})" for i in itertools.count(2))
    names = itertools.chain([words], numbered)
    return next(name for name in names if name not in agent.attribute_space)


def _goals(agent: Refinable) -> IntArray:
    """``(n, n_given)`` a goal for each value of the environments' attributes that hops led to."""
    n_given = len(agent.given[0])
    starts, ends = (
        part["achieved_goal"][:, :n_given]
        for part in (agent.attempts.observations, agent.attempts.ends)
    )
    attempt, column = np.nonzero(starts != ends)
    changes = np.unique(np.stack([column, ends[attempt, column]], axis=1), axis=0)
    goals = np.full((len(changes), n_given), FREE, ends.dtype)
    goals[np.arange(len(changes)), changes[:, 0]] = changes[:, 1]
    return goals


def _solve(agent: Refinable, goals: IntArray, n_tasks: int) -> TaskResult:
    """Try tasks in the agent's own environments: the same ones before and after."""
    goals = goals if agent.added is None else agent.added.extend_goals(goals)
    return evaluate_tasks(
        agent,  # type: ignore[arg-type]
        agent.env,
        n_tasks=n_tasks,
        goals=list(goals),
        seed=agent.options.seed or 0,
    )
