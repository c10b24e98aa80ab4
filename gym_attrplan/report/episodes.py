"""Episodes as pictures: the start, every change of the attributes, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from gym_attrplan.agent.evaluation import Predictor
from gym_attrplan.attributes import AttributeSpace, GoalLike
from gym_attrplan.error import InvalidEnvironment, InvalidOption
from gym_attrplan.graph.plan import describe_change


@dataclass(frozen=True, eq=False)
class Episode:
    """What :func:`record_episode` saw; ``film_strip(episode.frames, episode.titles)`` shows it.

    Args:
        frames: ``(height, width, 3)`` uint8 each.
        titles: One for each picture.
        goal: What was wanted, in words.
        solved: Whether it was reached.
        n_steps: Steps taken.
    """

    frames: tuple[npt.NDArray[np.uint8], ...]
    titles: tuple[str, ...]
    goal: str
    solved: bool
    n_steps: int


def record_episode(
    model: Predictor,
    env: gym.Env[Any, Any],
    *,
    goal: GoalLike | None = None,
    seed: int = 0,
    max_frames: int = 8,
) -> Episode:
    """Watch the agent, or any SB3 model, at one task.

    Args:
        model: What acts, deterministically.
        env: An attribute environment with ``render_mode="rgb_array"``.
        goal: What is wanted, by default what the environment draws.
        seed: Of the environment; with the same one several models get the same task.
        max_frames: Most pictures; of many hops only some are kept.

    Raises:
        InvalidEnvironment: If the environment has no attributes or draws no pictures.
        InvalidOption: If there is no room for the start and the end.
    """
    if max_frames < 2:
        raise InvalidOption(f"max_frames is at least 2; received {max_frames}.")
    env = seen_by(model, env)
    space, moments = space_of(env), watch(model, env, goal=goal, seed=seed)
    now = next(moments)
    wanted, before = space.describe(now.observation["desired_goal"]), now.description
    frames, titles = [picture(env)], ["start"]
    for now in moments:
        if now.done or (now.description != before).any():
            frames.append(picture(env))
            titles.append(_title(space, before, now.description, number=len(titles)))
        before = now.description
    titles[-1] = "goal" if now.solved else f"not reached in {now.n_steps} steps"
    kept = np.unique(np.linspace(0, len(frames) - 1, max_frames).round().astype(int))
    chosen = tuple(frames[i] for i in kept), tuple(titles[i] for i in kept)
    return Episode(*chosen, goal=wanted, solved=now.solved, n_steps=now.n_steps)


class Moment(NamedTuple):
    """An episode before its first step, or after a step.

    Attributes:
        observation: What is seen.
        state: What the model made of the observation before; None at the start, and of models
            that keep nothing in mind.
        n_steps: Steps taken so far.
        done: Whether the episode is over.
        solved: Whether the goal is reached.
    """

    observation: dict[str, npt.NDArray[Any]]
    state: Any
    n_steps: int
    done: bool
    solved: bool

    @property
    def description(self) -> npt.NDArray[Any]:
        """The values of all attributes."""
        return self.observation["achieved_goal"]


def watch(
    model: Predictor, env: gym.Env[Any, Any], *, goal: GoalLike | None = None, seed: int = 0
) -> Iterator[Moment]:
    """An episode step by step; in between, the environment can be drawn.

    Args:
        model: What acts, deterministically.
        env: An attribute environment with ``render_mode="rgb_array"``.
        goal: What is wanted, by default what the environment draws.
        seed: Of the environment.

    Raises:
        InvalidEnvironment: If the environment has no attributes or draws no pictures.
        InvalidGoal: If the goal does not belong to the attributes.
    """
    env = seen_by(model, env)
    space_of(env)
    observation, info = env.reset(seed=seed, options={} if goal is None else {"goal": goal})
    state, start, done, n_steps = None, np.ones(1, np.bool_), False, 0
    yield Moment(observation, state, n_steps, done, solved=bool(info["is_success"]))
    while not done:
        batch = {key: np.asarray(part)[None] for key, part in observation.items()}
        actions, state = model.predict(batch, state, start, deterministic=True)
        observation, _, terminated, truncated, info = env.step(actions[0])
        done, start = bool(terminated or truncated), np.zeros(1, np.bool_)
        n_steps += 1
        yield Moment(observation, state, n_steps, done, bool(info["is_success"]))


def seen_by(model: Any, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """The environment with the attributes that an agent has added; as it is for other models."""
    extend: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]] | None
    extend = getattr(model, "extend", None)
    return env if extend is None else extend(env)


def space_of(env: gym.Env[Any, Any]) -> AttributeSpace:
    """The attributes of an environment that draws pictures.

    Raises:
        InvalidEnvironment: If it has none, or draws none.
    """
    if env.render_mode != "rgb_array" or not env.has_wrapper_attr("attribute_space"):
        raise InvalidEnvironment(
            'pictures need an attribute environment with render_mode="rgb_array"; received '
            f"{env} with render_mode={env.render_mode!r}."
        )
    space: AttributeSpace = env.get_wrapper_attr("attribute_space")
    return space


def picture(env: gym.Env[Any, Any]) -> npt.NDArray[np.uint8]:
    """``(height, width, 3)`` what the environment looks like now."""
    return np.asarray(env.render(), np.uint8)


def _title(space: AttributeSpace, before: Any, after: Any, *, number: int) -> str:
    """What changed, if that is one thing."""
    changed = int((before != after).sum())
    return describe_change(space, before, after) if changed == 1 else f"hop {number}"
