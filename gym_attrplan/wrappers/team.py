"""TeamEnv: a PettingZoo ``ParallelEnv`` as one Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from gym_attrplan.error import InvalidEnvironment, shown
from gym_attrplan.wrappers.masks import ACTION_MASK
from gym_attrplan.wrappers.observation import FlatObservation, Part

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

Array = npt.NDArray[Any]
Observation = dict[str, Array]
Spaces = dict[Any, spaces.Space[Any]]
"""Agent → its space, in the order of ``possible_agents``."""


class TeamEnv(gym.Env[Observation, Array]):
    """PettingZoo's ``ParallelEnv`` as one environment: all agents act in every step.

    The action has one entry for each of ``possible_agents`` if these choose from ``Discrete``
    actions, counted from 0. If their actions are a ``Box``, it is all of them in one vector. What
    it says for an agent that is not there is ignored.

    The observation is a flat ``Dict``. If all agents observe vectors of the same length, ``units``
    has a row for each agent, as :class:`~gym_attrplan.algorithms.UnitPolicy` reads it. Otherwise
    each agent has a key of its own, or several if its observation has parts. ``slot_mask`` is 1 for
    each agent that is there; the others have zeros everywhere. ``action_mask`` shows the legal
    ``Discrete`` actions, which agents have in their observations or infos. Without a mask all
    actions are legal.

    The reward is the sum of the agents' rewards. The episode ends when no agent is left. Its last
    observation shows the agents that acted last. It is truncated if one of them was truncated, else
    terminated. The info has the agents' own ``rewards`` and ``infos``.

    Args:
        parallel_env: The environment of agents. An attribute function finds it at
            ``env.unwrapped.parallel_env``.

    Raises:
        InvalidEnvironment: If it is no ``ParallelEnv``, if the actions of the agents are neither
            all ``Discrete`` nor all ``Box``, or if an observation part has no fixed shape.

    Example:
        >>> from mpe2 import simple_spread_v3
        >>> env = TeamEnv(simple_spread_v3.parallel_env())
        >>> env.action_space
        MultiDiscrete([5 5 5])
        >>> observation, info = env.reset(seed=0)
        >>> {key: part.shape for key, part in observation.items()}
        {'units': (3, 18), 'slot_mask': (3,), 'action_mask': (3, 5)}
        >>> observation, reward, terminated, truncated, info = env.step([0, 1, 4])
        >>> list(info["rewards"])
        ['agent_0', 'agent_1', 'agent_2']
    """

    def __init__(self, parallel_env: ParallelEnv) -> None:
        agents = getattr(parallel_env, "possible_agents", None)
        if not agents or hasattr(parallel_env, "agent_iter"):
            raise InvalidEnvironment(
                "TeamEnv takes a PettingZoo ParallelEnv that lists its possible_agents; received "
                f"{shown(parallel_env)}. If its agents act in turn, convert it with "
                "pettingzoo.utils.aec_to_parallel."
            )
        self.parallel_env = parallel_env
        self.metadata = {"render_modes": [], **parallel_env.metadata}
        self.render_mode = getattr(parallel_env, "render_mode", None)
        self._actions = _JointActions({one: parallel_env.action_space(one) for one in agents})
        self._observations = _JointObservations(
            {one: parallel_env.observation_space(one) for one in agents}, self._actions.n_choices
        )
        self.action_space = self._actions.space
        self.observation_space: Any = self._observations.space
        self._active: set[Any] = set()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a new episode of all agents."""
        super().reset(seed=seed)
        observations, infos = self.parallel_env.reset(seed=seed, options=options)
        self._active = set(self.parallel_env.agents)
        return self._observe(observations, infos), {"infos": _copied(infos)}

    def step(self, action: Array) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Step all agents that are there.

        Raises:
            InvalidAction: If the action has the wrong shape.
            ResetNeeded: Before the first reset and after the end of an episode.
        """
        if not self._active:
            raise gym.error.ResetNeeded("no agent is there: call reset() first.")
        orders = self._actions.split(action)
        observations, rewards, terminations, truncations, infos = self.parallel_env.step(
            {agent: order for agent, order in orders.items() if agent in self._active}
        )
        cut = {agent for agent in truncations if truncations[agent] and not terminations[agent]}
        ended = cut | {agent for agent in terminations if terminations[agent]}
        self._active = set(self.parallel_env.agents) - ended
        truncated = not self._active and bool(cut)
        return (
            self._observe(observations, infos),
            float(sum(rewards.values())),
            not self._active and not truncated,
            truncated,
            {"rewards": dict(rewards), "infos": _copied(infos)},
        )

    def render(self) -> Any:
        """Return what the environment of agents draws."""
        return self.parallel_env.render()

    def close(self) -> None:
        """Close the environment of agents."""
        self.parallel_env.close()

    def _observe(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> Observation:
        # Values of a truncated state, and attributes of any last state, need its observation.
        there = self._active or set(observations)
        return self._observations.join(
            {agent: one for agent, one in observations.items() if agent in there}, infos
        )


class _JointActions:
    """One action space for all agents, and the conversion of its actions to theirs.

    Args:
        parts: The action space of each agent.

    Raises:
        InvalidEnvironment: If they are neither all ``Discrete`` nor all ``Box``.
    """

    def __init__(self, parts: Spaces) -> None:
        self._parts = parts
        self.n_choices: list[int] = []
        """Number of actions of each agent; empty if they are continuous."""
        self.space: spaces.MultiDiscrete | spaces.Box
        if discrete := [one for one in parts.values() if isinstance(one, spaces.Discrete)]:
            self.n_choices = [int(one.n) for one in discrete]
            self.space = spaces.MultiDiscrete(self.n_choices)
        if boxes := [one for one in parts.values() if isinstance(one, spaces.Box)]:
            low = np.concatenate([box.low.ravel() for box in boxes])
            high = np.concatenate([box.high.ravel() for box in boxes])
            self.space = spaces.Box(low, high, dtype=low.dtype.type)
        if len(parts) not in (len(discrete), len(boxes)):
            raise InvalidEnvironment(
                "the agents of a team have Discrete actions, or all of them a Box; received "
                f"{shown(parts)}. Give them alike actions with a wrapper of the ParallelEnv."
            )
        sizes = [1 if self.n_choices else int(np.prod(one.shape or ())) for one in parts.values()]
        self._cuts = np.cumsum(sizes)[:-1]

    def split(self, action: Any) -> dict[Any, Any]:
        """Return the action of each agent, in its own space.

        Raises:
            InvalidAction: If the action has the wrong shape.
        """
        joint = np.asarray(action)
        if joint.shape != self.space.shape:
            raise gym.error.InvalidAction(
                f"an action of the team has the shape {self.space.shape}; received {action!r}."
            )
        own = zip(self._parts.items(), np.split(joint, self._cuts), strict=True)
        return {agent: _own_action(space, part) for (agent, space), part in own}


def _own_action(space: spaces.Space[Any], part: Array) -> Any:
    if isinstance(space, spaces.Discrete):
        return space.start + part[0]
    return part.reshape(space.shape).astype(space.dtype, copy=False)


class _JointObservations:
    """One flat observation space for all agents, and the conversion of their observations to it.

    Args:
        parts: The observation space of each agent.
        n_choices: Number of actions of each agent; empty if they are continuous.

    Raises:
        InvalidEnvironment: If a part has no fixed shape.
    """

    def __init__(self, parts: Spaces, n_choices: list[int]) -> None:
        self._agents = list(parts)
        self._n_choices = n_choices
        flat = FlatObservation(spaces.Dict({str(agent): one for agent, one in parts.items()}))
        # Spaces of type Dict sort their keys: agent_10 comes before agent_2.
        order = {str(agent): i for i, agent in enumerate(parts)}
        found = sorted(flat.parts, key=lambda part: order[str(part.path[0])])
        self._parts = [part for part in found if not n_choices or part.path[1:] != (ACTION_MASK,)]
        keys: dict[str, spaces.Space[Any]] = {
            part.key: _with_zeros(part.space) for part in self._parts
        }
        boxes = [one for one in keys.values() if isinstance(one, spaces.Box)]
        alike = len({(one.shape, one.dtype) for one in boxes}) == 1 and len(boxes[0].shape) == 1
        one_each = [part.path[0] for part in self._parts] == list(order)
        self._stacks = alike and one_each and len(boxes) == len(keys)
        if self._stacks:
            low, high = np.stack([one.low for one in boxes]), np.stack([one.high for one in boxes])
            keys = {"units": spaces.Box(low, high, dtype=low.dtype.type)}
        keys["slot_mask"] = spaces.Box(0, 1, (len(parts),), np.int8)
        if n_choices:
            keys[ACTION_MASK] = spaces.Box(0, 1, (len(parts), max(n_choices)), np.int8)
        self.space = spaces.Dict(keys)

    def join(self, observations: Mapping[Any, Any], infos: Mapping[Any, Any]) -> Observation:
        """Return one observation, with zeros for agents that have none."""
        named = {str(agent): one for agent, one in observations.items()}
        joint = {part.key: _own_observation(part, named) for part in self._parts}
        if self._stacks:
            joint = {"units": np.stack(list(joint.values()))}
        joint["slot_mask"] = np.array([one in observations for one in self._agents], np.int8)
        if self._n_choices:
            masks = np.zeros((len(self._agents), max(self._n_choices)), np.int8)
            for i, agent in enumerate(self._agents):
                if agent in observations:
                    mask = _legal_actions(observations[agent], infos.get(agent, {}))
                    masks[i, : self._n_choices[i]] = mask
            joint[ACTION_MASK] = masks
        return joint


def _own_observation(part: Part, observations: Mapping[str, Any]) -> Array:
    """Return a part of an agent's observation as a new array, or zeros if the agent has none."""
    if part.path[0] not in observations:
        return np.zeros(part.shape, part.dtype)[()]
    return np.array(part.convert(part.read(observations), 0))[()]


def _legal_actions(observation: Any, info: Mapping[str, Any]) -> Any:
    """Return an agent's mask of legal actions, or 1 if it has none."""
    if isinstance(observation, Mapping) and ACTION_MASK in observation:
        return observation[ACTION_MASK]
    return info.get(ACTION_MASK, 1)


def _copied(infos: Mapping[Any, Mapping[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Copy the infos: Gymnasium's are new in every step, while PettingZoo's need not be."""
    return {agent: dict(info) for agent, info in infos.items()}


def _with_zeros(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return the space with 0 inside its bounds, which agents that are not there observe."""
    if not isinstance(space, spaces.Box):
        return space
    low, high = np.minimum(space.low, 0), np.maximum(space.high, 0)
    return spaces.Box(low, high, dtype=space.dtype.type)
