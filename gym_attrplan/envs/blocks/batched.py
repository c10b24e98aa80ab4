"""BlocksVectorEnv: the batched version of blocks. Moves are looked up, images come from a file.

A test checks that it agrees with MuJoCo's physics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.envs.batch import Array, BatchEnv, BoolArray, Seeds
from gym_attrplan.envs.blocks.frames import Frames, check_variants, split_variants
from gym_attrplan.envs.blocks.rules import Attributes, BlocksRules, draw_jitter
from gym_attrplan.envs.blocks.tasks import BlockGoals
from gym_attrplan.envs.blocks.views import as_state, block_space, check_jitter
from gym_attrplan.wrappers import GoalSampler

States = npt.NDArray[np.int64]
Step = tuple[Array, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]


class BlocksVectorEnv(BatchEnv[Array]):
    """The batched version of ``AttrBlocks-v0``, without goals.

    If a move changes the state, its image is one of the split's variants of the new state,
    drawn at random. ``reset(options={"states": states})`` sets given states; see :class:`BatchEnv`
    for the other options.

    ``states`` are the current state numbers and ``frame_numbers`` those of the images. With all
    images of :class:`Frames` on a GPU, models can train on them with ``obs_type="state"``.

    Args:
        rules: The rules.
        num_envs: Number of environments.
        obs_type: ``"pixels"`` or ``"state"``.
        image_size: Side of the images, in pixels.
        jitter: How far off-centre and turned blocks are, from 0 to 1.
        n_variants: Number of images of each state; the last one is held out.
        split: ``"train"`` or ``"held_out"``: the images to show.
        max_episode_steps: Number of steps after which an episode is truncated; None for no limit.

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
        super().__init__(
            block_space(rules, obs_type, image_size),
            spaces.Discrete(rules.n_actions),
            num_envs=num_envs,
            max_episode_steps=max_episode_steps,
        )
        self.metadata = {**self.metadata, "render_modes": []}
        self.rules = rules
        self.obs_type = obs_type
        self.jitter = check_jitter(jitter)
        self.frames: Frames | None = None
        if obs_type == "pixels":
            options = {"image_size": image_size, "jitter": jitter, "n_variants": n_variants}
            self.frames = Frames(rules, **options)  # type: ignore[arg-type]
        self._variants_shown = split_variants(split, check_variants(n_variants, jitter))
        self._variants = np.zeros(num_envs, np.int64)
        self._jitters = np.zeros((num_envs, rules.n_blocks, 2))
        self.states: States = np.zeros(num_envs, np.int64)
        self.start_states: States = self.states
        self._enter(rules.random_starts(num_envs, self.np_random), np.ones(num_envs, np.bool_))

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes in all environments, or in those in ``options["reset_mask"]``.

        Raises:
            InvalidEnvironment: If the number of seeds, marks or states differs from that of the
                environments to reset, or if a state is invalid.
        """
        options = options or {}
        mask = self._checked_mask(options)
        starts = self._draw_starts(seed, np.flatnonzero(mask))  # also seeds later draws
        given = options.get("states", starts)
        self._enter(self.rules.check_states(given, len(starts)), mask)
        return self._observe(), {}

    def step(self, actions: States) -> Step:
        """Move a block in every environment. Rewards are 0, since goals are not known here."""
        actions = self._checked_actions(actions)
        states = self.rules.move(self.states, actions)
        moved = np.flatnonzero(states != self.states)
        self.states = states
        self._variants[moved] = self._draw_variants(len(moved))
        blocks = actions[moved] // self.rules.n_cells
        self._jitters[moved, blocks] = self._draw_jitters(len(moved))
        # A detector may predict other attributes.
        return self._observe(), *self._outcome(true_attributes=self.attributes)

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task, which uses the true states."""
        return BlockGoals(self.rules, task).of(self)

    @property
    def attributes(self) -> Attributes:
        """``(num_envs, n_attributes)`` the current attributes."""
        return self.rules.evaluate(self.states)

    @property
    def frame_numbers(self) -> States:
        """``(num_envs,)`` numbers of the current images in :class:`Frames`."""
        return self._variants * self.rules.n_states + self.states

    # --- helpers ----------------------------------------------------------------------------

    def _draw_starts(self, seed: Seeds, rows: States) -> States:
        rngs = self._generators(seed, rows)
        if rngs is None:
            return self.rules.random_starts(len(rows), self.np_random)
        return np.concatenate([self.rules.random_starts(1, rng) for rng in rngs])

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
        """Draw shifts along x and y; a turn does not change a position."""
        return draw_jitter((n,), self.jitter, self.np_random)[:, :2]

    def _observe(self) -> Array:
        """Return a new array, so that earlier observations do not change."""
        if self.frames is not None:
            return self.frames.take(self.frame_numbers)
        positions = self.rules.centers(*self.rules.decode(self.states))
        positions[..., :2] += self._jitters
        return as_state(positions)
