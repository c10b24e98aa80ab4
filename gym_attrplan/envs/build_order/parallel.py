"""ParallelEconomy: the economy as a PettingZoo environment, with an agent for every unit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import ParallelEnv

from gym_attrplan.attributes import AttributeSpace
from gym_attrplan.envs.build_order.economy import Economy
from gym_attrplan.envs.build_order.rules import (
    CENTRE,
    CENTRE_FOOTPRINT,
    MAP_SIZE,
    WAIT,
    EconomyRules,
    Kind,
    Starts,
)
from gym_attrplan.envs.build_order.state import economy_features, n_unit_features, unit_features
from gym_attrplan.envs.build_order.views import check_render_mode, slot_spaces
from gym_attrplan.error import InvalidEnvironment

Observation = dict[str, npt.NDArray[Any]]
VIEW = 16
"""Number of cells along a side of a unit's view: 64 walk tiles at a resolution of 4."""


class ParallelEconomy(ParallelEnv):  # type: ignore[misc]  # PettingZoo has no types
    """The economy, unit by unit. Agents appear as SCVs and barracks are finished; none dies.

    An agent observes ``observation``, the 16 × 16 cells around it as planes (1 outside the map;
    mineral patches; number of SCVs; then each kind of building, 1 under construction and 2
    finished); ``unit`` and ``economy``, its own state and the common one as numbers; ``attributes``
    and ``goal`` (-1: free); and its ``action_mask``. An illegal or missing action does nothing.

    Every agent gets a reward of 1 when the attributes match the goal, which ends the episode;
    after ``max_steps`` it is truncated. ``reset(options={"goal": goal})`` sets a given goal.

    Args:
        rules: The version.
        task: Which goals are drawn: ``counts``, ``counts<=d``, ``counts==d``.
        max_steps: Maximum number of steps of an episode.
        render_mode: ``"rgb_array"`` or None.

    Example:
        >>> env = ParallelEconomy(EconomyRules("small"))
        >>> observations, infos = env.reset(seed=0)
        >>> env.agents
        ['scv_0', 'scv_1', 'scv_2', 'scv_3', 'command_centre_0']
        >>> observations["scv_0"]["observation"].shape
        (6, 16, 16)
    """

    metadata = {  # noqa: RUF012
        "name": "build_order_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 20,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        rules: EconomyRules,
        *,
        task: str = "counts",
        max_steps: int = 500,
        render_mode: str | None = None,
    ) -> None:
        check_render_mode(render_mode)
        if max_steps < 1:
            raise InvalidEnvironment(f"max_steps must be at least 1; received {max_steps}.")
        self.rules = rules
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.attribute_space = AttributeSpace(rules.attributes)
        self.possible_agents = list(rules.slot_names)
        self.agents: list[str] = []
        self._slots = {name: slot for slot, name in enumerate(rules.slot_names)}
        self._sampler = rules.sampler(task)
        self._rng = np.random.default_rng()
        self._observation_spaces = {name: self._space() for name in self.possible_agents}
        n_actions = len(rules.actions)
        self._action_spaces = {name: spaces.Discrete(n_actions) for name in self.possible_agents}
        self.economy = Economy(rules, Starts.draw(1, self._rng))

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the same object every time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the same object every time."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin a new episode; ``options`` may hold a ``goal`` and a ``start``.

        Raises:
            InvalidGoal: If the goal is invalid.
            InvalidEnvironment: If there is not one start.
        """
        options = options or {}
        goal = options.get("goal")
        goal = None if goal is None else self.attribute_space.goal(goal)
        if seed is not None:
            self._rng = gym.utils.seeding.np_random(seed)[0]
        start = options.get("start")
        self.economy = Economy(self.rules, Starts.draw(1, self._rng) if start is None else start)
        attributes = self.attributes
        self.goal = self._sampler(attributes[None], self._rng)[0] if goal is None else goal
        self._n_steps = 0
        self.agents = self._living()
        return self._observe(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Give orders; a unit without one waits.

        Raises:
            InvalidAction: If an action is not valid.
            ResetNeeded: Before the first reset and after the end of an episode.
        """
        if not self.agents:
            raise gym.error.ResetNeeded("no episode is under way: call reset() first.")
        for agent, action in actions.items():
            if agent not in self._slots or not 0 <= action < len(self.rules.actions):
                raise gym.error.InvalidAction(
                    f"actions are 0 to {len(self.rules.actions) - 1}, for agents among "
                    f"{self.possible_agents}; received {action!r} for {agent!r}."
                )
        orders = {self._slots[agent]: int(action) for agent, action in actions.items()}
        self.economy.step({slot: orders.get(slot, WAIT) for slot in self.economy.units})
        self._n_steps += 1
        met = bool(self.attribute_space.matches(self.attributes, self.goal))
        cut = self._n_steps >= self.max_steps and not met
        before, self.agents = self.agents, self._living()
        if met or cut:  # units finished in the last step never become agents
            self.agents = [agent for agent in self.agents if agent in before]
        agents, observations = self.agents, self._observe()
        if met or cut:
            self.agents = []
        return (
            observations,
            dict.fromkeys(agents, float(met)),
            dict.fromkeys(agents, met),
            dict.fromkeys(agents, cut),
            {agent: {"is_success": met} for agent in agents},
        )

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_attributes,)`` ore in 25s, then the counts."""
        attributes: npt.NDArray[np.int8] = self.economy.state().attributes()[0]
        return attributes

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Return the map with the goal, or None without a render mode."""
        if self.render_mode is None:
            return None
        from gym_attrplan.envs.build_order.drawing import draw

        return draw(self.rules, self.economy.state(), self.goal)

    # --- helpers ----------------------------------------------------------------------------

    def _living(self) -> list[str]:
        return [self.possible_agents[slot] for slot in sorted(self.economy.units)]

    def _space(self) -> spaces.Dict:
        slots, _ = slot_spaces(self.rules)
        box = self.attribute_space.box
        n_planes = len(self._buildings) + 4
        return spaces.Dict(
            {
                "observation": spaces.Box(0, self.rules.n_scvs, (n_planes, VIEW, VIEW), np.int8),
                "unit": spaces.Box(-1.0, 1.0, (n_unit_features(),), np.float32),
                "economy": slots["economy"],
                "attributes": spaces.Box(0, box.high, dtype=box.dtype.type),
                "goal": spaces.Box(-1, box.high, dtype=box.dtype.type),
                "action_mask": spaces.Box(0, 1, (len(self.rules.actions),), np.int8),
            }
        )

    def _observe(self) -> dict[str, Observation]:
        state = self.economy.state()
        units = unit_features(self.rules, state, self.economy.spots())[0]
        economy, attributes = economy_features(self.rules, state)[0], state.attributes()[0]
        whole_map = self._planes()
        observations = {}
        for agent in self.agents:
            slot = self._slots[agent]
            x, y = self.economy.units[slot].cell
            observations[agent] = {
                "observation": whole_map[:, y : y + VIEW, x : x + VIEW].copy(),
                "unit": units[slot],
                "economy": economy.copy(),
                "attributes": attributes.copy(),
                "goal": self.goal.copy(),
                "action_mask": self.economy.legal(slot),
            }
        return observations

    @cached_property
    def _buildings(self) -> dict[int, int]:
        """Return product → index of its plane."""
        numbers = [i for i, one in enumerate(self.rules.products) if one.maker == Kind.SCV]
        return {number: 4 + i for i, number in enumerate(numbers)}

    def _planes(self) -> npt.NDArray[np.int8]:
        """Return ``(n_planes, rows, columns)`` of the map, with a border of half a view."""
        economy, rim = self.economy, VIEW // 2
        planes = np.zeros((len(self._buildings) + 4, *[MAP_SIZE + VIEW] * 2), np.int8)
        planes[0] = 1
        inside = planes[:, rim:-rim, rim:-rim]
        inside[0] = 0
        for x, y in economy.patches:
            inside[1, y, x] = 1
        for unit in economy.units.values():
            if unit.kind == Kind.SCV:
                inside[2, unit.cell[1], unit.cell[0]] += 1
        _stand(inside[3], (CENTRE, CENTRE), CENTRE_FOOTPRINT, 2)
        for site, building in economy.buildings.items():
            plane = inside[self._buildings[building.product]]
            size = self.rules.products[building.product].footprint
            _stand(plane, economy.sites[site], size, 1 + building.done)
        return planes


def _stand(
    plane: npt.NDArray[np.int8], cell: tuple[int, int], size: tuple[int, int], value: int
) -> None:
    left, top = cell[0] - size[0] // 2, cell[1] - size[1] // 2
    plane[top : top + size[1], left : left + size[0]] = value
