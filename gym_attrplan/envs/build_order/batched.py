"""The batched twin: many economies at once, in numpy alone. A test holds it to :class:`Economy`.

It neither resets by itself nor knows a goal: the attribute wrapper around it does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gym_attrplan.envs.build_order.batch import EconomyBatch
from gym_attrplan.envs.build_order.rules import WAIT, EconomyRules, IntArray, Starts
from gym_attrplan.envs.build_order.state import BoolArray, State
from gym_attrplan.envs.build_order.views import Observation, check_render_mode, slot_spaces
from gym_attrplan.error import InvalidEnvironment

Array = npt.NDArray[Any]
Step = tuple[Observation, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]
Seeds = int | Sequence[int | None] | None


class EconomyVectorEnv(VectorEnv[Observation, IntArray, Any]):
    """The batched twin of ``AttrBuildOrder-v0``, before goals.

    ``reset(seed=s)`` begins economy i as a single one that is reset with seed ``s + i``, and
    ``reset(seed=[...])`` takes a seed for each; later resets draw from one generator.
    ``reset(options={"reset_mask": mask})`` resets the marked economies only, and
    ``options={"starts": starts}`` begins them in a given way.

    Args:
        rules: The version.
        num_envs: Number of economies.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.
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
        if num_envs < 1:
            raise InvalidEnvironment(f"num_envs must be at least 1; received {num_envs}.")
        check_render_mode(render_mode)
        self.metadata = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.DISABLED}
        self.rules = rules
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.max_episode_steps = max_episode_steps
        self.single_observation_space, self.single_action_space = slot_spaces(rules)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._starts = Starts.draw(num_envs, self.np_random)
        self._batch = EconomyBatch(rules, self._starts)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._seen = self._batch.observe()

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes everywhere, or where ``options["reset_mask"]`` is True.

        Raises:
            InvalidEnvironment: If there are not as many seeds, marks or starts as needed.
        """
        options = options or {}
        mask = self._checked_mask(options.get("reset_mask"))
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
        """Give every unit its order. Rewards are 0: only goals pay, and they are not known here."""
        actions = self._checked_actions(actions)
        legal = np.take_along_axis(self._seen["action_mask"], actions[:, :, None], axis=2)[:, :, 0]
        self._batch.step(np.where(legal, actions, WAIT))
        self._seen = self._batch.observe()
        self._elapsed += 1
        limit = np.inf if self.max_episode_steps is None else self.max_episode_steps
        ended = np.zeros(self.num_envs, np.bool_)
        return self._copy_seen(), np.zeros(self.num_envs), ended, self._elapsed >= limit, {}

    def render(self) -> tuple[Array, ...] | None:
        """A picture of every economy, or None without a render mode."""
        if self.render_mode is None:
            return None
        from gym_attrplan.envs.build_order.drawing import draw

        return tuple(draw(self.rules, self._batch.state.row(i)) for i in range(self.num_envs))

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_envs, n_attributes)`` as they are now; a fresh array."""
        return self._batch.state.attributes()

    @property
    def starts(self) -> Starts:
        """How the current episodes began; a copy."""
        return self._starts[np.arange(self.num_envs)]

    def state(self, i: int) -> State:
        """Economy i as a batch of one; a copy."""
        return self._batch.state.row(i)

    def _copy_seen(self) -> Observation:
        """Arrays of their own: who keeps or changes an observation must not change the next."""
        return {key: part.copy() for key, part in self._seen.items()}

    # --- what is handed in ------------------------------------------------------------------

    def _draw_starts(self, seed: Seeds, rows: IntArray) -> Starts:
        n = self.num_envs
        if seed is None:
            return Starts.draw(len(rows), self.np_random)
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(n)]
        if len(seed) != n:
            raise InvalidEnvironment(f"{n} economies need as many seeds, or one; got {len(seed)}.")
        # Another stream than the economies' own, which have just drawn from the same seeds.
        entropy = np.random.SeedSequence([one or 0 for one in seed], spawn_key=(2,))
        self.np_random = np.random.default_rng(entropy)
        own = [Starts.draw(1, gym.utils.seeding.np_random(seed[i])[0]) for i in rows]
        return Starts(
            np.concatenate([one.sides for one in own]), np.concatenate([one.scvs for one in own])
        )

    def _checked_actions(self, actions: Any) -> IntArray:
        array = np.asarray(actions)
        shape, n_actions = (self.num_envs, self.rules.n_slots), len(self.rules.actions)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise gym.error.InvalidAction(
                f"{shape[0]} economies of {shape[1]} unit slots need as many whole numbers; "
                f"received {array.dtype} of shape {array.shape}."
            )
        if array.min() < 0 or array.max() >= n_actions:
            raise gym.error.InvalidAction(f"actions are 0 to {n_actions - 1}; received {array}.")
        return array

    def _checked_mask(self, mask: Any) -> BoolArray:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_:
            raise InvalidEnvironment(
                f"reset_mask holds {self.num_envs} booleans; received {array.dtype} "
                f"of shape {array.shape}."
            )
        return array
