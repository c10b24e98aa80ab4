"""The batched economy, in numpy. A test checks that it agrees with :class:`Economy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.batch import Array, BatchEnv, Seeds
from gym_attrplan.envs.build_order.batch import EconomyBatch
from gym_attrplan.envs.build_order.rules import WAIT, EconomyRules, IntArray, Starts
from gym_attrplan.envs.build_order.state import BoolArray, State
from gym_attrplan.envs.build_order.views import Observation, check_render_mode, slot_spaces
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import GoalSampler

Step = tuple[Observation, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]


class EconomyVectorEnv(BatchEnv[Observation]):
    """The batched version of ``AttrBuildOrder-v0``, without goals.

    ``reset(options={"starts": starts})`` sets given starts; see :class:`BatchEnv` for
    the other options.

    Args:
        rules: The version.
        num_envs: Number of economies.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.
        render_mode: ``"rgb_array"`` or None.

    Example:
        >>> envs = EconomyVectorEnv(EconomyRules("small"), num_envs=512)
        >>> observations, _ = envs.reset(seed=0)
        >>> observations["units"].shape, envs.attributes[0].tolist()
        ((512, 14, 17), [2, 4, 0, 0, 0])
    """

    def __init__(
        self,
        rules: EconomyRules,
        *,
        num_envs: int,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_render_mode(render_mode)
        super().__init__(
            *slot_spaces(rules),
            num_envs=num_envs,
            max_episode_steps=max_episode_steps,
            render_mode=render_mode,
        )
        self.rules = rules
        self._starts = Starts.draw(num_envs, self.np_random)
        self._batch = EconomyBatch(rules, self._starts)
        self._seen = self._batch.observe()

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes in all economies, or in those in ``options["reset_mask"]``.

        Raises:
            InvalidEnvironment: If the number of seeds, marks or starts is wrong.
        """
        options = options or {}
        mask = self._checked_mask(options)
        rows = np.flatnonzero(mask)
        starts = options.get("starts")
        if starts is None:
            starts = self._draw_starts(seed, rows)
        if len(starts) != len(rows):
            raise InvalidEnvironment(f"needed: {len(rows)} starts; received {len(starts)}.")
        self._starts.sides[rows], self._starts.scvs[rows] = starts.sides, starts.scvs
        self._elapsed[rows] = 0
        begun = EconomyBatch(self.rules, starts)
        self._batch.state.put(rows, begun.state)
        for key, part in begun.observe().items():
            self._seen[key][rows] = part
        return self._copy_seen(), {}

    def step(self, actions: IntArray) -> Step:
        """Give every unit its order. Rewards are 0, since goals are not known here."""
        actions = self._checked_actions(actions)
        legal = np.take_along_axis(self._seen["action_mask"], actions[:, :, None], axis=2)[:, :, 0]
        self._batch.step(np.where(legal, actions, WAIT))
        self._seen = self._batch.observe()
        return self._copy_seen(), *self._outcome()

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task."""
        return self.rules.sampler(task)

    def render(self) -> tuple[Array, ...] | None:
        """Return an image of every economy, or None without a render mode."""
        if self.render_mode is None:
            return None
        from gym_attrplan.envs.build_order.drawing import draw

        return tuple(draw(self.rules, self._batch.state.row(i)) for i in range(self.num_envs))

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_envs, n_attributes)`` the current attributes; a new array."""
        return self._batch.state.attributes()

    @property
    def starts(self) -> Starts:
        """The starts of the current episodes; a copy."""
        return self._starts[np.arange(self.num_envs)]

    def state(self, i: int) -> State:
        """Return economy i as a batch of one; a copy."""
        return self._batch.state.row(i)

    def _copy_seen(self) -> Observation:
        """Return copies, so that a changed observation does not affect the next."""
        return {key: part.copy() for key, part in self._seen.items()}

    def _draw_starts(self, seed: Seeds, rows: IntArray) -> Starts:
        rngs = self._generators(seed, rows)
        if rngs is None:
            return Starts.draw(len(rows), self.np_random)
        own = [Starts.draw(1, rng) for rng in rngs]
        return Starts(
            np.concatenate([one.sides for one in own]), np.concatenate([one.scvs for one in own])
        )
