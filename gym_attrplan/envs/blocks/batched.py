"""BlocksVectorEnv: the batched twin. Moves are looked up, pictures come from a file.

It neither resets by itself nor knows a goal: the attribute wrapper around it does both. A test
holds it equal to MuJoCo's physics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from gym_attrplan.envs.blocks.frames import Frames, check_variants, split_variants
from gym_attrplan.envs.blocks.rules import Attributes, BlocksRules, draw_jitter
from gym_attrplan.envs.blocks.views import as_state, block_space, check_jitter
from gym_attrplan.error import InvalidEnvironment

Array = npt.NDArray[Any]
States = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Step = tuple[Array, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]
Seeds = int | Sequence[int | None] | None


class BlocksVectorEnv(VectorEnv[Array, States, Array]):
    """The batched twin of ``AttrBlocks-v0``, before goals.

    Where a move changes the state, its picture is one of the split's variants of the new state,
    drawn at random. ``reset(seed=s)`` begins environment i where a single one begins with seed
    ``s + i``. ``reset(options={"reset_mask": mask})`` resets the marked environments only, and
    ``options={"states": states}`` sets up given ones.

    ``states`` are the state numbers now and ``frame_numbers`` those of the pictures: whoever keeps
    all pictures of :class:`Frames` on a GPU trains from them, with ``obs_type="state"``.

    Args:
        rules: The world.
        num_envs: Number of environments.
        obs_type: ``"pixels"`` or ``"state"``.
        image_size: Side of the pictures, in pixels.
        jitter: How far off-centre and turned blocks are, from 0 to 1.
        n_variants: Pictures of each state; the last one is held out.
        split: ``"train"`` or ``"held_out"``: the pictures to show.
        max_episode_steps: Steps after which an episode is truncated; None for no limit.

    Example:
        >>> envs = BlocksVectorEnv(BlocksRules(n_blocks=6), num_envs=1024, obs_type="state")
        >>> positions, _ = envs.reset(seed=0)
        >>> positions.shape, envs.attributes.shape
        ((1024, 18), (1024, 90))
    """

    def __init__(
        self,
        rules: BlocksRules,
        *,
        num_envs: int,
        obs_type: str = "pixels",
        image_size: int = 128,
        jitter: float = 1.0,
        n_variants: int = 5,
        split: str = "train",
        max_episode_steps: int | None = None,
    ) -> None:
        if num_envs < 1:
            raise InvalidEnvironment(f"num_envs must be at least 1; received {num_envs}.")
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.DISABLED}
        self.rules = rules
        self.num_envs = num_envs
        self.obs_type = obs_type
        self.jitter = check_jitter(jitter)
        self.max_episode_steps = max_episode_steps
        self.single_action_space = spaces.Discrete(rules.n_actions)
        self.single_observation_space = block_space(rules, obs_type, image_size)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.frames: Frames | None = None
        if obs_type == "pixels":
            options = {"image_size": image_size, "jitter": jitter, "n_variants": n_variants}
            self.frames = Frames(rules, **options)  # type: ignore[arg-type]
        self._variants_shown = split_variants(split, check_variants(n_variants, jitter))
        self._variants = np.zeros(num_envs, np.int64)
        self._jitters = np.zeros((num_envs, rules.n_blocks, 2))
        self._elapsed = np.zeros(num_envs, np.int64)
        self.states: States = np.zeros(num_envs, np.int64)
        self.start_states: States = self.states
        self._enter(rules.random_starts(num_envs, self.np_random), np.ones(num_envs, np.bool_))

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes everywhere, or where ``options["reset_mask"]`` marks.

        Raises:
            InvalidEnvironment: If there are not as many seeds, marks or states as environments to
                reset, or if a state is none.
        """
        options = options or {}
        mask = self._checked_mask(options.get("reset_mask"))
        starts = self._draw_starts(seed, np.flatnonzero(mask))  # seeds what comes later, too
        given = options.get("states", starts)
        self._enter(self.rules.check_states(given, len(starts)), mask)
        return self._observe(), {}

    def step(self, actions: States) -> Step:
        """Move a block in every environment. Rewards are 0: only goals pay."""
        actions = self._checked_actions(actions)
        states = self.rules.move(self.states, actions)
        moved = np.flatnonzero(states != self.states)
        self.states = states
        self._variants[moved] = self._draw_variants(len(moved))
        blocks = actions[moved] // self.rules.n_cells
        self._jitters[moved, blocks] = self._draw_jitters(len(moved))
        self._elapsed += 1
        limit = np.inf if self.max_episode_steps is None else self.max_episode_steps
        ended = np.zeros(self.num_envs, np.bool_)
        info = {"true_attributes": self.attributes}  # a detector may say otherwise
        return self._observe(), np.zeros(self.num_envs), ended, self._elapsed >= limit, info

    @property
    def attributes(self) -> Attributes:
        """``(num_envs, n_attributes)`` the attributes now."""
        return self.rules.evaluate(self.states)

    @property
    def frame_numbers(self) -> States:
        """``(num_envs,)`` which pictures of :class:`Frames` are shown."""
        return self._variants * self.rules.n_states + self.states

    # --- helpers ----------------------------------------------------------------------------

    def _draw_starts(self, seed: Seeds, rows: States) -> States:
        n, rules = self.num_envs, self.rules
        if seed is None:
            return rules.random_starts(len(rows), self.np_random)
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(n)]
        if len(seed) != n:
            raise InvalidEnvironment(f"{n} environments need as many seeds; got {len(seed)}.")
        # Another stream than the single environments' own, which have just drawn their starts.
        entropy = np.random.SeedSequence([one or 0 for one in seed], spawn_key=(2,))
        self.np_random = np.random.default_rng(entropy)
        rngs = [gym.utils.seeding.np_random(seed[i])[0] for i in rows]
        return np.concatenate([rules.random_starts(1, rng) for rng in rngs])

    def _enter(self, states: States, mask: BoolArray) -> None:
        n, n_blocks = len(states), self.rules.n_blocks
        self.states = self.states.copy()
        self.states[mask] = states
        self.start_states = states
        self._variants[mask] = self._draw_variants(n)
        self._jitters[mask] = self._draw_jitters(n * n_blocks).reshape(n, n_blocks, 2)
        self._elapsed[mask] = 0

    def _draw_variants(self, n: int) -> States:
        return self._variants_shown[self.np_random.integers(len(self._variants_shown), size=n)]

    def _draw_jitters(self, n: int) -> npt.NDArray[np.float64]:
        """Shifts along x and y; a turn does not change a position."""
        return draw_jitter((n,), self.jitter, self.np_random)[:, :2]

    def _observe(self) -> Array:
        """A fresh array: who keeps the last observation must not see it change."""
        if self.frames is not None:
            return self.frames.take(self.frame_numbers)
        positions = self.rules.centers(*self.rules.decode(self.states))
        positions[..., :2] += self._jitters
        return as_state(positions)

    def _checked_actions(self, actions: Any) -> States:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise gym.error.InvalidAction(
                f"{self.num_envs} environments need as many whole numbers; received {array.dtype} "
                f"of shape {array.shape}."
            )
        if array.min() < 0 or array.max() >= self.rules.n_actions:
            last = self.rules.n_actions - 1
            raise gym.error.InvalidAction(f"actions are 0 to {last}; received {array}.")
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
