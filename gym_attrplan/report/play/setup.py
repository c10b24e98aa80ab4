"""Setup: what all tabs of a page share: the agent, its environment, and what to compare it with."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from gymnasium import spaces

from gym_attrplan.agent import AttributePlannerAgent, advice
from gym_attrplan.agent.kinds import check_same_kind
from gym_attrplan.agent.planner_options import PLANNERS
from gym_attrplan.error import InvalidOption
from gym_attrplan.report.play.direct import DirectPolicy
from gym_attrplan.wrappers import with_attributes
from gym_attrplan.wrappers.offscreen import draw_off_screen

WITHOUT_PLANNING = "the policy without planning"


@dataclass(frozen=True)
class Setup:
    """The agent on show, how to make its environment, and who else may try the same task.

    Args:
        agent: A trained agent.
        env_id: The id of its environment.
        make_env: Makes one, drawn if it can be.
        env_kwargs: What it is made with.
        rivals: Name → what may act beside the agent.
        refused: Why a rival is not offered, in words.
    """

    agent: AttributePlannerAgent
    env_id: str
    make_env: Callable[[], gym.Env[Any, Any]]
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    rivals: dict[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        agent: AttributePlannerAgent,
        env_id: str,
        env_kwargs: dict[str, Any] | None = None,
        *,
        others: dict[str, AttributePlannerAgent] | None = None,
    ) -> Setup:
        """The setup of an agent in an environment of the registry.

        Args:
            agent: A trained agent.
            env_id: The id.
            env_kwargs: For the environment.
            others: Name → a second agent for the same environment.

        Raises:
            InvalidEnvironment: If an agent was made for another kind of environment.
        """
        kwargs = dict(env_kwargs or {})

        def make() -> gym.Env[Any, Any]:
            return agent.extend(make_drawn(env_id, kwargs))

        env = make()
        attributes, seen = env.get_wrapper_attr("attribute_space"), env.observation_space
        assert isinstance(seen, spaces.Dict)  # attribute environments have one
        for one in (agent, *(others or {}).values()):
            mine = (one.attribute_space, one.observation_space, one.action_space)
            check_same_kind(mine, (attributes, seen, env.action_space))
        env.close()
        rivals: dict[str, Any] = {WITHOUT_PLANNING: DirectPolicy(agent)}
        planners, refused = other_planners(agent)
        rivals |= planners | (others or {})
        return cls(agent, env_id, make, kwargs, rivals, refused)

    def what_is_known(self) -> list[str]:
        """The graph in a sentence, then attributes that never changed and hops that fail."""
        agent = self.agent
        summary = [advice.summary(agent.graph)] if agent.graph.counts.n_nodes else []
        return [*summary, *advice.on_exploring(agent.counts), *agent.find_problems()]


def make_drawn(env_id: str, kwargs: dict[str, Any]) -> gym.Env[Any, Any]:
    """An attribute environment that draws pictures, or else text, if it can do either."""
    draw_off_screen()
    env = with_attributes(gym.make(env_id, **kwargs))
    if env.render_mode is not None:
        return env
    for mode in ("rgb_array", "ansi"):
        if mode in (env.metadata.get("render_modes") or ()):
            env.close()
            return with_attributes(gym.make(env_id, **kwargs, render_mode=mode))
    return env


def other_planners(
    agent: AttributePlannerAgent,
) -> tuple[dict[str, AttributePlannerAgent], tuple[str, ...]]:
    """The agent with every other planner that it can have, and why it cannot have the rest."""
    found, refused = {}, []
    for name, options in PLANNERS.items():
        if options == agent.planner_options:
            continue
        other = copy.copy(agent)  # planner and navigator are its own, what was learned is shared
        try:
            other.set_planner(name)
        except InvalidOption as error:
            refused.append(f'planner="{name}" is not offered: {error}')
        else:
            found[f'planner="{name}"'] = other
    return found, tuple(refused)
