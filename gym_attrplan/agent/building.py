"""Construction of an agent's parts: the environments that run hops, and the navigator."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.agent import supervised
from gym_attrplan.agent.buffers import AttemptBuffer, ExampleBuffer
from gym_attrplan.agent.change_navigator import ChangeNavigator
from gym_attrplan.agent.explore import EXPLORATIONS
from gym_attrplan.agent.learners import find_algorithm, is_recurrent
from gym_attrplan.agent.navigator import Navigator
from gym_attrplan.agent.neighbours import HopVecEnv
from gym_attrplan.agent.options import AgentOptions
from gym_attrplan.agent.planner_options import PlannerOptions
from gym_attrplan.agent.practice import PracticeVecEnv
from gym_attrplan.agent.practice_settings import PracticeSettings
from gym_attrplan.agent.ways import Ways
from gym_attrplan.algorithms.memory import BegunVecEnv
from gym_attrplan.graph import TransitionCounts
from gym_attrplan.graph.hop_model import HopModel
from gym_attrplan.graph.hop_search import HopSearch
from gym_attrplan.graph.outcomes import HopOutcomes
from gym_attrplan.models import SuccessModel


class Composed(Protocol):
    """Protocol of an agent: the parts that others are built from."""

    options: AgentOptions
    planner_options: PlannerOptions
    counts: TransitionCounts
    outcomes: HopOutcomes
    hop_model: HopModel
    attempts: AttemptBuffer
    examples: ExampleBuffer | None
    imagined: TransitionCounts | None
    success_model: SuccessModel | None
    action_space: spaces.Space[Any]
    hops: PracticeVecEnv | HopVecEnv
    low_level: Any
    rng: np.random.Generator


def build_practice(agent: Composed, venv: VecEnv) -> PracticeVecEnv | HopVecEnv:
    """Wrap the environments so that their episodes consist of hops."""
    options = agent.options
    if options.asks_for_changes:
        if is_recurrent(find_algorithm(options.low_level)):
            venv = BegunVecEnv(venv)
        return PracticeVecEnv(
            venv,
            agent.counts,
            agent.outcomes,
            settings=PracticeSettings.given(
                explore_share=options.exploration_fraction,
                bonus_scale=options.bonus_scale,
                max_hop_steps=options.max_hop_steps,
            ),
            formula=EXPLORATIONS[options.exploration],
            attempts=agent.attempts,
            rng=agent.rng,
        )
    assert options.max_hop_steps is not None  # neighbours have a default
    return HopVecEnv(
        venv,
        agent.counts,
        agent.attempts,
        max_hop_steps=options.max_hop_steps,
        step_penalty=options.step_penalty,
        rng=agent.rng,
        examples=agent.examples,
        practice=options.practice,
    )


def build_navigator(agent: Composed) -> Navigator | ChangeNavigator:
    """Build the navigator, which follows plans."""
    options, planner = agent.options, agent.planner_options
    if isinstance(agent.hops, PracticeVecEnv):
        search = HopSearch(agent.hop_model, max_seconds=planner.max_seconds)
        return ChangeNavigator(
            agent.outcomes,
            planner,
            ways=Ways(search) if len(agent.hop_model) else None,
            max_hop_steps=agent.hops.lengths.limit,
            episode_steps=agent.hops.episode_steps or None,
        )
    assert options.max_hop_steps is not None  # neighbours have a default
    foresight = supervised.foresight(agent.low_level)
    return Navigator(
        supervised.planning_graph(agent.counts, agent.imagined, planner.edges),
        planner,
        max_hop_steps=options.max_hop_steps,
        continuum=isinstance(agent.action_space, spaces.Box),
        success_probs=agent.success_model and agent.success_model.predict,
        foresight=foresight,
        lookahead=supervised.lookahead(agent.low_level, foresight, max_seconds=planner.max_seconds),
    )
