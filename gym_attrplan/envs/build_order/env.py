"""EconomyEnv: the economy as one Gymnasium environment, with a slot for every unit."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from gym_attrplan.envs.build_order.economy import Economy
from gym_attrplan.envs.build_order.rules import EconomyRules, Starts
from gym_attrplan.envs.build_order.state import State
from gym_attrplan.envs.build_order.views import (
    RENDER_MODES,
    Observation,
    check_render_mode,
    observe,
    slot_spaces,
)
from gym_attrplan.wrappers import GoalSampler


class EconomyEnv(gym.Env[Observation, npt.NDArray[np.int64]]):
    """
    ## Description

    Four SCVs, a command centre, minerals on one side of it and 50 ore. SCVs mine and build, the
    command centre trains SCVs, barracks train marines. Costs, durations, supply and what requires
    what are Brood War's. Every unit takes an order of its own in every step.

    ## Mission Space

    As many of each unit as the goal says, exactly, units being made included. Counts never fall: a
    unit too many cannot be undone. The goal is in `desired_goal`, which
    `gym_attrplan.AttributeWrapper` adds.

    ## Action Space

    `MultiDiscrete`, an action for every unit slot: SCVs, the command centre, barracks. What the
    action mask does not allow, and what an empty slot is told, does nothing.

    | Num | Name                       | Who            | Action                             |
    |-----|----------------------------|----------------|------------------------------------|
    | 0   | wait                       | all            | Continue the current job           |
    | 1-4 | right, down, left, up      | SCV            | Walk 2 cells; mining stops         |
    | 5   | mine                       | SCV            | Fetch ore, load after load         |
    | 6   | train scv                  | command centre |                                    |
    | 7   | build depot                | SCV            | On the nearest free site in reach  |
    | 8   | build barracks             | SCV            |                                    |
    | 9   | train marine               | barracks       |                                    |
    | 10  | build engineering_bay      | SCV            | Large version                      |
    | 11  | build turret               | SCV            | Large version                      |

    ## Observation Encoding

    - `units`: a row of features for each slot: kind, job, steps left, cargo, a free site in
        reach, whether it is the first of its kind that takes orders, command centre and own
        mineral patch relative to it. Zeros for an empty slot.
    - `economy`: ore, supply, and of each product the finished and the begun ones.
    - `slot_mask`: 1 where there is a unit.
    - `action_mask`: 1 for each action that a unit can be told.

    ## Rewards

    None here; `AttributeWrapper` pays 1 when the goal is met.

    ## Termination

    When the goal is met, or after 500 steps.

    ## Registered Configurations

    - `AttrBuildOrder-v0`
    - `AttrBuildOrderLarge-v0`

    """  # noqa: D212, D415  the headings of MiniGrid's docstrings

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 20}  # noqa: RUF012

    def __init__(self, rules: EconomyRules, *, render_mode: str | None = None) -> None:
        check_render_mode(render_mode)
        self.rules = rules
        self.render_mode = render_mode
        self.observation_space: Any
        self.observation_space, self.action_space = slot_spaces(rules)
        self.economy = Economy(rules, Starts.draw(1, np.random.default_rng(0)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a new episode, at random or from ``options["start"]``, a :class:`Starts` of one.

        Raises:
            InvalidEnvironment: If there is not one start.
        """
        super().reset(seed=seed)
        start = (options or {}).get("start")
        if start is None:
            start = Starts.draw(1, self.np_random)
        self.economy = Economy(self.rules, start)
        return self._observe(), {}

    def step(
        self, action: npt.NDArray[np.int64]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Give every unit its order."""
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(
                f"an action is one whole number from 0 to {len(self.rules.actions) - 1} for each "
                f"of {self.rules.n_slots} unit slots; received {action!r}."
            )
        self.economy.step(dict(enumerate(action.tolist())))
        return self._observe(), 0.0, False, False, {}

    @property
    def attributes(self) -> npt.NDArray[np.int8]:
        """``(n_attributes,)`` ore in 25s, then the counts."""
        attributes: npt.NDArray[np.int8] = self.economy.state().attributes()[0]
        return attributes

    def state(self) -> State:
        """Return the economy as a batch of one."""
        return self.economy.state()

    def sampler(self, task: str) -> GoalSampler:
        """Return the goal sampler of a task."""
        return self.rules.sampler(task)

    def render(self) -> Any:
        """Return the map, or None without a render mode."""
        if self.render_mode is None:
            return None
        from gym_attrplan.envs.build_order.drawing import draw

        return draw(self.rules, self.economy.state())

    def _observe(self) -> Observation:
        economy, rules = self.economy, self.rules
        mask = np.stack([economy.legal(slot) for slot in range(rules.n_slots)])
        batch = observe(rules, economy.state(), economy.spots(), mask[None])
        return {key: part[0] for key, part in batch.items()}
