"""Common parts of both attribute wrappers: goals, their sampling, and their reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.attributes.functions import AttributeFunction, load_function
from gym_attrplan.attributes.space import FREE, AttributeSpace, IntArray
from gym_attrplan.error import InvalidGoal
from gym_attrplan.wrappers.observation import FlatObservation
from gym_attrplan.wrappers.origin import Origin, origin_of

MAX_SEEN = 100_000
"""Maximum number of different vectors that the default sampler remembers, the first ones."""

_NUMBERS = (int, np.integer, np.bool_)  # a list of them is one goal


class GoalSampler(Protocol):
    """Draws the goals of new episodes. One sampler serves single and vector environments."""

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> Any:
        """Draw a goal for each row of ``achieved`` ``(n, n_attributes)``, the starts of episodes.

        Returns:
            ``(n, n_attributes)`` goals with -1 for free, or a sequence of n goals in any form
            that :meth:`AttributeSpace.goal` takes.
        """


class SeenGoals:
    """Default sampler: draws any attribute vector seen so far, if possible not the current one.

    Example:
        >>> seen = SeenGoals()
        >>> seen.add(np.array([[0, 0], [0, 1], [0, 0]]))
        >>> seen(np.array([[0, 0]]), np.random.default_rng(0))
        array([[0, 1]])
    """

    def __init__(self) -> None:
        self._keys: dict[bytes, int] = {}
        self._vectors: list[IntArray] = []

    def add(self, vectors: IntArray) -> None:
        """Add the vectors ``(n, n_attributes)`` that are new."""
        for vector in vectors:
            key = vector.tobytes()
            if key not in self._keys and len(self._keys) < MAX_SEEN:
                self._keys[key] = len(self._vectors)
                self._vectors.append(vector.copy())

    def clear(self) -> None:
        """Forget all vectors, so that a seeded reset restarts the sequence of goals."""
        self._keys.clear()
        self._vectors.clear()

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw one remembered vector for each row of ``achieved``."""
        chosen = rng.integers(len(self._vectors), size=len(achieved))
        current = np.array([self._keys.get(vector.tobytes(), -1) for vector in achieved])
        chosen = np.where(chosen == current, (chosen + 1) % len(self._vectors), chosen)
        return np.stack([self._vectors[i] for i in chosen])


class GivenGoals:
    """Sampler of goals from a list, if possible of goals that do not hold already.

    Args:
        goals: ``(k, n_attributes)``, -1 for free.

    Example:
        >>> given = GivenGoals(np.array([[1, -1], [0, -1]]))
        >>> given(np.array([[1, 0], [0, 0]]), np.random.default_rng(0)).tolist()
        [[0, -1], [1, -1]]
    """

    def __init__(self, goals: IntArray) -> None:
        self._goals = goals

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> IntArray:
        """Draw one of the goals for each row of ``achieved``."""
        luck = rng.random((len(achieved), len(self._goals)))
        for i, goal in enumerate(self._goals):
            holds = ((achieved == goal) | (goal == FREE)).all(axis=1)
            luck[:, i] -= holds  # goals that do not hold are preferred
        chosen: IntArray = self._goals[luck.argmax(axis=1)]
        return chosen


class GoalRules:
    """Conditions and rewards of goals: the batched, pure methods that HER calls."""

    attribute_space: AttributeSpace
    step_penalty: float
    terminate_on_success: bool
    given_goals: IntArray | None
    """Goals to draw instead of the sampler's, ``(k, n_attributes)``; None uses the sampler."""
    unwrapped: Any
    env: Any

    @property
    def origin(self) -> Origin | None:
        """The id and arguments of the environment, as plain data; None if it was not made by id."""
        return origin_of(self.unwrapped.spec)

    @property
    def draws_what_it_saw(self) -> bool:
        """Whether the default sampler draws the goals."""
        return self._seen is not None

    @property
    def knows_possible_values(self) -> bool:
        """Whether the attribute function knows which values are possible."""
        return hasattr(self._function, "possible")

    def possible_values(self) -> npt.NDArray[np.bool_]:
        """Return ``(…, n_attributes, n_values)`` the values that a short hop can lead to.

        The attribute function's ``possible(env)`` says so, if it has such a method.
        """
        possible: npt.NDArray[np.bool_] = self._function.possible(self.env)  # type: ignore[attr-defined]
        return possible

    def _set_up(
        self,
        inner: spaces.Space[Any],
        function: AttributeFunction | str,
        goal_sampler: GoalSampler | str | None,
        step_penalty: float,
        terminate_on_success: bool,
        text: int | None,
    ) -> spaces.Dict:
        """Check the options; return a single environment's observation space."""
        if not np.isfinite(step_penalty) or step_penalty < 0:
            raise InvalidGoal(
                f"step_penalty comes off every reward and must be at least 0; got {step_penalty}."
            )
        self.step_penalty = float(step_penalty)
        self.terminate_on_success = terminate_on_success
        self._function: Callable[[Any, Any], Any] = load_function(function, ("env", "observation"))
        self._flat = FlatObservation(inner, text=text)
        self.given_goals = None
        self._seen = SeenGoals() if goal_sampler is None else None
        self._sampler: Callable[..., Any] = load_function(
            self._seen or goal_sampler or "", ("achieved", "rng")
        )
        self._rng = np.random.default_rng()
        box = self.attribute_space.box
        return spaces.Dict({**self._flat.spaces, "achieved_goal": box, "desired_goal": box})

    def _seed_goals(self, seed: int | list[int | None] | None) -> None:
        """Restart the sequence of goals at a seeded reset."""
        if seed is not None:
            # A separate generator: with the environment's own, an environment that draws its start
            # as a sampler draws goals would start at its goal.
            seeds = seed if isinstance(seed, list) else [seed]
            entropy = [0 if one is None else int(one) for one in seeds]
            self._rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(1,)))
            if self._seen is not None:
                self._seen.clear()

    def _sample_goals(self, achieved: IntArray) -> IntArray:
        sampler = self._sampler if self.given_goals is None else GivenGoals(self.given_goals)
        return as_goals(self.attribute_space, sampler(achieved, self._rng), len(achieved))

    def compute_reward(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.float32]:
        """Return 1 where the goal is met, else 0, minus the penalty: ``()`` or ``(n,)`` float32."""
        met = self.attribute_space.matches(achieved_goal, desired_goal)
        return np.asarray(met - np.float32(self.step_penalty), np.float32)

    def compute_terminated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.bool_]:
        """Return whether the episode ends: the goal is met, or ``info`` says that it ended."""
        infos: Any = info if isinstance(info, (Sequence, np.ndarray)) else [info or {}]
        ended = np.array([bool(one.get("env_terminated", False)) for one in infos])
        if not self.terminate_on_success:
            shape = np.asarray(achieved_goal).shape[:-1]
            return np.broadcast_to(ended, shape) if shape else ended.reshape(())
        met = self.attribute_space.matches(achieved_goal, desired_goal)
        ends: npt.NDArray[np.bool_] = met | (ended if met.ndim else ended[0])
        return ends

    def compute_truncated(
        self, achieved_goal: IntArray, desired_goal: IntArray, info: Any = None
    ) -> npt.NDArray[np.bool_]:
        """Return False: time limits belong to the environment."""
        return np.zeros(np.asarray(achieved_goal).shape[:-1], np.bool_)


def as_goals(space: AttributeSpace, wanted: Any, n: int) -> IntArray:
    """Convert an array of goals, n goals in any form, or one goal for all to ``(n, n_attributes)``.

    Raises:
        InvalidGoal: If a goal is invalid, or if their number is not n.
    """
    is_batch = isinstance(wanted, np.ndarray) and wanted.ndim == 2
    if is_batch and wanted.dtype == space.dtype and wanted.shape == (n, len(space)):
        space.check_goals(wanted)
        return np.array(wanted)
    if is_batch:
        rows: Sequence[Any] = list(wanted)
    elif isinstance(wanted, (list, tuple)) and not isinstance(next(iter(wanted), 0), _NUMBERS):
        rows = wanted
    else:
        rows = [wanted] * n
    if len(rows) != n:
        raise InvalidGoal(f"{n} environments need {n} goals, or one for all; received {len(rows)}.")
    return np.stack([space.goal(row) for row in rows])
