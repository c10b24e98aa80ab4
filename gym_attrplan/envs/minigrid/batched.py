"""MiniGridVectorEnv: many of MiniGrid's environments at once, in numpy.

MiniGrid draws the layouts; the steps are array code. A test checks that both agree, step by
step.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from gym_attrplan.envs.batch import BatchEnv, BoolArray, IntArray, Seeds
from gym_attrplan.envs.minigrid.geometry import Geometry
from gym_attrplan.envs.minigrid.layouts import LayoutPool, Layouts, LayoutSource, OwnLayouts
from gym_attrplan.envs.minigrid.rules import DROP, FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE, Turn
from gym_attrplan.envs.minigrid.support import make_template
from gym_attrplan.envs.minigrid.things import EMPTY, Numbers, Things
from gym_attrplan.envs.minigrid.views import FullView, PartialView, View
from gym_attrplan.error import InvalidEnvironment

Observation = dict[str, Any]
Step = tuple[Observation, npt.NDArray[np.float64], BoolArray, BoolArray, dict[str, Any]]

_MODES = (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED)


class MiniGridVectorEnv(BatchEnv[Observation]):
    """MiniGrid's environments of one id, with their observations, rewards and ends.

    ``reset(seed=s)`` starts environment i like MiniGrid's own that is reset with seed ``s + i``,
    and the following episodes are also those of MiniGrid's own.

    Args:
        env_id: An id of MiniGrid's whose rules are known: not Dynamic-Obstacles, and BabyAI's only
            without missions.
        num_envs: Number of environments.
        autoreset_mode: ``SAME_STEP``, or ``DISABLED`` for wrappers that reset by themselves, such
            as :class:`~gym_attrplan.AttributeVectorWrapper`.
        pool_size: Number of layouts to share and re-use, which makes short episodes much faster:
            drawing a layout takes MiniGrid about a millisecond. Layouts are added until the pool is
            full; then the oldest is replaced every 1,024 steps. None draws a layout for
            each episode.
        without_missions: Whether episodes have no mission: only goal squares, lava and the time
            limit end them. BabyAI's levels can then be run in batches.
        full_view: Whether the image shows the whole grid, as MiniGrid's ``FullyObsWrapper`` does.
        render_mode: ``"rgb_array"`` or None.
        **kwargs: Options of MiniGrid's class: ``max_steps``, ``agent_view_size``, ``size``, ….

    Raises:
        DependencyNotInstalled: If MiniGrid is missing.
        InvalidEnvironment: If the id is not MiniGrid's or changes a rule that is not known, or if
            an option has an invalid value.

    Example:
        >>> envs = MiniGridVectorEnv("MiniGrid-DoorKey-8x8-v0", 256)
        >>> observations, _ = envs.reset(seed=0)
        >>> observations["image"].shape, observations["mission"][0]
        ((256, 7, 7, 3), 'use the key to open the door and then get to the goal')
        >>> observations, rewards, *_ = envs.step(envs.action_space.sample())
    """

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
        pool_size: int | None = None,
        without_missions: bool = False,
        full_view: bool = False,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        if autoreset_mode not in _MODES:
            raise InvalidEnvironment(
                f"autoreset_mode is one of {_MODES}; received {autoreset_mode!r}."
            )
        if render_mode not in (None, "rgb_array"):
            raise InvalidEnvironment(
                f"render_mode is 'rgb_array' or None for a batch; received {render_mode!r}."
            )
        self.template, self._rule = make_template(
            env_id, {**kwargs, "render_mode": render_mode}, without_missions=without_missions
        )
        self._view = self._make_view(full_view)
        space = self.template.observation_space
        image = spaces.Box(0, 255, self._view.shape, np.uint8)
        super().__init__(
            spaces.Dict({**space.spaces, "image": image}),
            self.template.action_space,
            num_envs=num_envs,
            render_mode=render_mode,
        )
        self.spec = self.template.spec
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self._source = self._make_source(pool_size)
        self._resets = autoreset_mode == AutoresetMode.SAME_STEP
        self._steps = np.array(self.layouts.geometry.steps)
        self._turns = np.zeros(self._n_actions, np.int64)
        self._turns[[LEFT, RIGHT]] = -1, 1
        self._actions = np.arange(self._n_actions)
        for one, other in self._rule.replaced.items():
            self._actions[one] = other
        self._prepare()

    def _make_source(self, pool_size: int | None) -> LayoutSource:
        env, rule, n = self.template, self._rule, self.num_envs
        if pool_size is None:
            return OwnLayouts(env, rule, self.np_random.spawn(n))
        return LayoutPool(env, rule, self.np_random, num_envs=n, size=pool_size)

    def _make_view(self, full: bool) -> View:
        env, geometry = self.template, Geometry.of(self.template)
        if full:
            return FullView(geometry)
        return PartialView(geometry, size=env.agent_view_size, through_walls=env.see_through_walls)

    def _prepare(self) -> None:
        """Allocate the state, which is empty before the first reset."""
        n, layouts = self.num_envs, self.layouts
        self.slots: IntArray = np.zeros(n, np.int64)
        self.cells: Numbers = np.zeros((n, layouts.geometry.area), np.uint16)
        self._flat = self.cells.reshape(-1)
        self._firsts = np.arange(n) * layouts.geometry.area
        self.agents: IntArray = np.zeros(n, np.int64)
        self.directions: IntArray = np.zeros(n, np.int64)
        self.carried: Numbers = np.full(n, EMPTY, np.uint16)
        self._targets = np.zeros((n, layouts.targets.shape[1]), np.int64)
        self._limits = np.zeros(n, np.int64)
        self._missions: tuple[str, ...] = ("",) * n
        self._all = np.arange(n)
        self._n_steps = 0
        self._images = np.zeros((n, *self._view.shape), np.uint8)

    # --- public properties ------------------------------------------------------------------

    @property
    def layouts(self) -> Layouts:
        """The starts of episodes; environment i's is in slot ``slots[i]``."""
        return self._source.layouts

    @property
    def things(self) -> Things:
        """The catalogue of cell contents; ``cells`` and ``carried`` hold its numbers."""
        return self.layouts.things

    @property
    def front(self) -> Numbers:
        """``(n,)`` the thing ahead of each agent."""
        ahead: IntArray = self._firsts + self.agents + self._steps[self.directions]
        return self._flat.take(ahead)

    @property
    def below(self) -> Numbers:
        """``(n,)`` the thing in each agent's cell."""
        return self._flat.take(self._firsts + self.agents)

    @property
    def beyond(self) -> Numbers:
        """``(n, 3)`` the things beside the cell ahead: beyond it, to its right and to its left."""
        sides = self.directions[:, None] + np.array([0, 1, -1])
        ahead = self._firsts + self.agents + self._steps[self.directions]
        things: Numbers = self._flat.take(ahead[:, None] + self._steps[sides % 4])
        return things

    # --- episodes ---------------------------------------------------------------------------

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin new episodes in all environments, or in those in ``options["reset_mask"]``.

        Raises:
            InvalidEnvironment: If the number of seeds or marks is wrong.
        """
        rows = np.flatnonzero(self._checked_mask(options or {}))
        rngs = self._generators(seed, rows)
        if rngs is not None:
            self._source.seed(rows, rngs)
        self._begin(rows)
        return self._observe(), {}

    def step(self, actions: IntArray) -> Step:
        """Act in every environment.

        Raises:
            ResetNeeded: If no episode has begun.
        """
        if not self._limits.all():
            raise gym.error.ResetNeeded("call reset() before step().")
        self._n_steps += self.num_envs
        turn = self._act(self._actions[self._checked_actions(actions)])
        if self._rule.judge is not None:
            self._rule.judge(turn)
        rewards, terminated = turn.rewards, turn.terminated
        truncated = self._elapsed >= self._limits
        self._images = self._view.draw(self, self._all)
        observations, done = self._observe(), terminated | truncated
        if not (self._resets and done.any()):
            return observations, rewards, terminated, truncated, {}
        info = {
            "final_obs": self._pick(observations, done),
            "_final_obs": done,
            "final_info": {},
            "_final_info": done.copy(),
        }
        self._begin(np.flatnonzero(done))
        return self._observe(), rewards, terminated, truncated, info

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """Return MiniGrid's image of every environment, or None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self._image(row) for row in range(self.num_envs))

    # --- helpers ----------------------------------------------------------------------------

    def _begin(self, rows: IntArray) -> None:
        """Begin new episodes in these rows."""
        layouts, slots = self.layouts, self._source.take(rows, self._n_steps)
        self.slots[rows] = slots
        self.cells[rows] = layouts.cells[slots]
        self.agents[rows] = layouts.agents[slots]
        self.directions[rows] = layouts.directions[slots]
        self._targets[rows] = layouts.targets[slots]
        self._limits[rows] = layouts.limits[slots]
        self.carried[rows] = EMPTY
        self._elapsed[rows] = 0
        missions = list(self._missions)
        for row, mission in zip(rows.tolist(), layouts.missions[slots], strict=True):
            missions[row] = mission
        self._missions = tuple(missions)
        self._images[rows] = self._view.draw(self, rows)

    def _act(self, actions: IntArray) -> Turn:
        """Do MiniGrid's base ``step``, without its view."""
        tables, held = self.things.tables, self.carried
        step = self._steps[self.directions]
        ahead = self.agents + step
        front = self._flat[self._firsts + ahead]
        self._elapsed += 1
        forward = actions == FORWARD
        self.directions = (self.directions + self._turns[actions]) % 4
        self.agents = np.where(forward & tables.walkable[front], ahead, self.agents)
        self._handle(actions, self._firsts + ahead, front)
        success = 1 - 0.9 * (self._elapsed / self._limits)
        won = forward & tables.goal[front]
        return Turn(
            actions=actions,
            ahead=ahead,
            front=front,
            held=held,
            carried=self.carried,
            agents=self.agents,
            cells=self.cells,
            targets=self._targets,
            stride=self.layouts.geometry.stride,
            tables=tables,
            success=success,
            rewards=np.where(won, success, 0.0),
            terminated=won | (forward & tables.lava[front]),
        )

    def _handle(self, actions: IntArray, places: IntArray, front: Numbers) -> None:
        """Pick up, drop or toggle the things in ``places`` of the flat cells."""
        tables, held = self.things.tables, self.carried
        picks = (actions == PICK_UP) & tables.light[front] & (held == EMPTY)
        drops = (actions == DROP) & (front == EMPTY)
        fits = tables.lock[front] == tables.key[held]
        toggled = np.where(fits, tables.unlocked[front], tables.toggled[front])
        left = np.where(actions == TOGGLE, toggled, front)
        left = np.where(drops, held, left)
        self._flat[places] = np.where(picks, EMPTY, left)
        self.carried = np.where(picks, front, np.where(drops, EMPTY, held)).astype(np.uint16)

    def _observe(self) -> Observation:
        """Return new arrays, so that changing an observation has no effect here."""
        return {
            "image": self._images.copy(),
            "direction": self.directions.copy(),
            "mission": self._missions,
        }

    def _pick(self, observations: Observation, where: BoolArray) -> npt.NDArray[Any]:
        """Return ``(n,)`` observations of some environments, one by one; None for the others."""
        picked = np.full(self.num_envs, None, object)
        for row in np.flatnonzero(where).tolist():
            picked[row] = {key: part[row] for key, part in observations.items()}
        return picked

    def _image(self, row: int) -> npt.NDArray[np.uint8]:
        env, geometry = self.template, self.layouts.geometry
        numbers = geometry.inner(self.cells[row]).ravel()
        env.grid.grid = [self.things[number] for number in numbers.tolist()]
        env.agent_pos = geometry.position(self.agents[row])
        env.agent_dir, env.carrying = int(self.directions[row]), self.things[self.carried[row]]
        image: npt.NDArray[np.uint8] = env.render()
        return image
