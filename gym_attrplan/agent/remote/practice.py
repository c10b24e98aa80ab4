"""Practice in many workers: batches are counted once each, in the order of their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from rich.progress import Progress
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent.environments import as_vec_env, make_envs, set_everywhere
from gym_attrplan.agent.hop_judge import BoolArray
from gym_attrplan.agent.learned import Arrays, Learned, Learner
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.practice_notes import EndedHops, PracticeNotes
from gym_attrplan.agent.remote.batches import Workers
from gym_attrplan.agent.remote.cluster import connect
from gym_attrplan.agent.remote.vec_env import Maker, make_shard
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.graph import TransitionCounts

BATCH_STEPS = 8_192
"""Number of steps of a batch, over its environments."""

N_BATCHES = 16
"""Number of batches of a round."""


class Practising(Learner, Protocol):
    """Protocol of an agent that practises in rounds."""

    options: AgentOptions
    planner_options: PlannerOptions
    env: VecEnv


class Practised(NamedTuple):
    """Result of a batch.

    Attributes:
        counts: The transitions, as from :meth:`TransitionCounts.to_arrays`.
        hops: The hops.
        seen: ``(n_attributes, n_values)`` which values attributes had.
        episode_steps: Length of the longest episode that a time limit has cut.
        repeats: ``(2,)`` number of repeated actions, and of those with the same effect.
        n_steps: Number of steps taken.
    """

    counts: Arrays
    hops: EndedHops
    seen: BoolArray
    episode_steps: int
    repeats: npt.NDArray[np.int64]
    n_steps: int


class Recipe(NamedTuple):
    """Arguments with which a worker makes an agent like another.

    Attributes:
        kind: Its class.
        options: Its arguments.
        make_env: The id or function that makes its environments.
        n_envs: Number of environments.
    """

    kind: type[Any]
    options: dict[str, Any]
    make_env: Maker
    n_envs: int

    @classmethod
    def of(cls, agent: Practising, make_env: Maker | None) -> Recipe:
        """Return the recipe of an agent.

        Raises:
            InvalidEnvironment: If it is not known how to make its environments.
        """
        n_envs = agent.env.num_envs
        if make_env is None:
            made_of = getattr(agent.env, "made_of", None)
            if made_of is None:
                raise InvalidEnvironment(
                    "workers make environments of their own, and the agent was given some that are "
                    "made already: say how with make_env, a function that makes one of them."
                )
            env_id, kwargs = made_of
            make_env = partial(make_envs, env_id, n_envs, kwargs)
        given = agent.options
        options = {one.name: getattr(given, one.name) for one in fields(given)}
        options |= {"planner": agent.planner_options, "device": "cpu", "verbose": 0}
        options |= {"n_envs": None, "tensorboard_log": None}
        return cls(type(agent), options, make_env, n_envs)


class PracticeWorker:
    """Copy of an agent that practises in a worker.

    Args:
        recipe: How to make it.
    """

    def __init__(self, recipe: Recipe) -> None:
        torch.set_num_threads(1)  # a worker has one processor
        venv = as_vec_env(make_shard(recipe.make_env, recipe.n_envs))
        set_everywhere(venv, "terminate_on_success", False)
        self._agent: Any = recipe.kind(env=venv, **recipe.options)

    def is_ready(self) -> bool:
        """Return True once the worker is constructed."""
        return True

    def work(self, learned: Learned, seed: int, n_steps: int) -> Practised:
        """Practise a batch; the same arguments give the same result in any worker."""
        learned.give_to(self._agent)
        return practise(self._agent, seed, n_steps)


def practise(agent: Learner, seed: int, n_steps: int) -> Practised:
    """Let an agent practise ``n_steps`` in each environment, from new episodes."""
    hops = agent.hops
    assert isinstance(hops, PracticeVecEnv)  # others were refused before
    agent.rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state
    torch.manual_seed(seed)
    hops.action_space.seed(seed)
    hops.seed(seed)
    hops.notes = notes = PracticeNotes(agent.attribute_space)
    repeats = hops.chance.counts.copy()
    try:
        observations: Any = hops.reset()
        state = None
        for i in range(n_steps):
            _renew_noise(agent.low_level, i, hops.num_envs)
            actions, state = agent.low_level.predict(observations, state, deterministic=False)
            observations, _, _, _ = hops.step(actions)
    finally:
        hops.notes = None
    hops.take_tally()  # the process that adds this batch counts it
    return Practised(
        counts=notes.counts.to_arrays(),
        hops=notes.hops(),
        seen=hops.to_arrays()["seen"],
        episode_steps=hops.episode_steps,
        repeats=hops.chance.counts - repeats,
        n_steps=n_steps * hops.num_envs,
    )


def _renew_noise(model: Any, i: int, n_envs: int) -> None:
    """Redraw the noise of state-dependent exploration as often as SB3 does."""
    if getattr(model, "use_sde", False):
        every = model.sde_sample_freq
        if i == 0 or (every > 0 and i % every == 0):
            model.policy.reset_noise(n_envs)


Run = Callable[[Learned, list[tuple[int, int]]], Iterable[tuple[int, Practised]]]


@dataclass(frozen=True)
class Rounds:
    """Division of practice into rounds and batches, independent of the number of workers.

    Attributes:
        seed: Seed of all batches.
        n_steps: Number of steps of a batch in each environment.
        n_envs: Number of environments of a batch.
        n_batches: Number of batches of a round, which all start from the same agent.
    """

    seed: int
    n_steps: int
    n_envs: int
    n_batches: int

    @property
    def batch_steps(self) -> int:
        """Number of steps of a batch, over its environments."""
        return self.n_steps * self.n_envs

    @classmethod
    def checked(
        cls,
        agent: Practising,
        total: int,
        *,
        batch_steps: int = BATCH_STEPS,
        n_batches: int = N_BATCHES,
    ) -> Rounds:
        """Return rounds with batches of about ``batch_steps`` steps.

        Raises:
            InvalidOption: If a number is below 1, or the agent's hops ask for neighbours.
        """
        given = {"total_timesteps": total, "batch_steps": batch_steps, "round_batches": n_batches}
        for name, value in given.items():
            if value < 1:
                raise InvalidOption(f"{name} is at least 1; received {value}.")
        if not isinstance(agent.hops, PracticeVecEnv):
            raise InvalidOption(
                "hops that ask for changes can be practised without learning; this agent's ask for "
                'neighbours. Make it with hops="changes", which is the default.'
            )
        seed = agent.options.seed
        seed = int(agent.rng.integers(2**31)) if seed is None else seed
        n_envs = agent.env.num_envs
        return cls(seed, math.ceil(batch_steps / n_envs), n_envs, n_batches)

    def run(
        self, agent: Practising, total: int, work: Run, progress: Progress | None
    ) -> Iterator[dict[str, float]]:
        """Run rounds until ``total`` steps are done; yield the figures of each."""
        assert isinstance(agent.hops, PracticeVecEnv)  # see checked
        done = agent.steps_practised
        show = _bar(progress, total)
        while done < total:
            seeds = self.seeds(done, total)
            answers: dict[int, Practised] = {}
            batches = [(seed, self.n_steps) for seed in seeds]
            for number, answer in work(Learned.by(agent, include=()), batches):
                answers[number] = answer
                show(completed=done + len(answers) * self.batch_steps)
            for number in range(len(seeds)):
                take_in(agent, answers.pop(number))
            done = agent.steps_practised
            n_hops, n_made = agent.hops.take_tally()
            figures = {
                "success": n_made / max(1, n_hops),
                "hops": n_hops,
                "nodes": agent.counts.n_nodes,
                "edges": agent.counts.n_edges,
            }
            show(figures="  ".join(f"{name} {value:,.4g}" for name, value in figures.items()))
            yield figures

    def seeds(self, done: int, total: int) -> list[int]:
        """Return a seed for each batch of the round that begins after ``done`` steps."""
        n_left = math.ceil((total - done) / self.batch_steps)
        first = done // self.batch_steps
        numbers = range(first, first + min(self.n_batches, n_left))
        return [int(np.random.SeedSequence([self.seed, i]).generate_state(1)[0]) for i in numbers]


def _bar(progress: Progress | None, total: int) -> Callable[..., None]:
    """Return the function that moves the progress bar, if there is one."""
    if progress is None:
        return lambda **_: None
    return partial(progress.update, progress.add_task("practise", total=total, figures=""))


@contextmanager
def working_here(agent: Learner) -> Iterator[Run]:
    """Run batches one after the other in the agent itself, and restore it afterwards."""

    def run(learned: Learned, batches: list[tuple[int, int]]) -> Iterator[tuple[int, Practised]]:
        try:
            for number, (seed, n_steps) in enumerate(batches):
                learned.give_to(agent)
                yield number, practise(agent, seed, n_steps)
        finally:
            learned.give_to(agent)

    yield run


@contextmanager
def working_in(
    recipe: Recipe, n_workers: int, *, address: str | None, timeout: float
) -> Iterator[Run]:
    """Run batches in Ray's workers, in the order in which they finish.

    Raises:
        InvalidOption: If a number is out of range, or the cluster is not available or too small.
    """
    if n_workers < 1 or not timeout > 0:
        raise InvalidOption(
            f"workers is a number from 0 on, and timeout one above 0, in seconds; received "
            f"{n_workers} and {timeout}."
        )
    ray = connect(address, n_workers=n_workers)
    actor = ray.remote(num_cpus=1)(PracticeWorker)
    with Workers(ray, lambda: actor.remote(recipe), n_workers, timeout=timeout) as workers:

        def run(
            learned: Learned, batches: list[tuple[int, int]]
        ) -> Iterator[tuple[int, Practised]]:
            known = ray.put(learned)
            yield from workers.run([(known, *batch) for batch in batches])

        yield run


def take_in(agent: Learner, answer: Practised) -> None:
    """Add the counts of a batch to the agent."""
    hops = agent.hops
    assert isinstance(hops, PracticeVecEnv)  # others were refused before
    counts = TransitionCounts.from_arrays(agent.attribute_space, answer.counts)
    hops.take_in(counts, answer.hops, answer.seen)
    hops.episode_steps = max(hops.episode_steps, answer.episode_steps)
    hops.chance.counts += answer.repeats
    agent.steps_practised += answer.n_steps
