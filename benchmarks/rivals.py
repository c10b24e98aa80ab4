"""The learners of the comparison: rivals with our agent's own network, and our agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rivals_envs import Cell, make_envs, read_settings
from rivals_inverse import FIT, train_inverse
from stable_baselines3 import A2C, DQN, PPO, SAC, HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from gym_attrplan.agent import AttributePlannerAgent, VectorEnvAdapter
from gym_attrplan.agent.environments import attribute_space
from gym_attrplan.agent.evaluation import Predictor, RandomModel
from gym_attrplan.agent.low_level import build
from gym_attrplan.algorithms import Curriculum, OptionCritic, Reinforce, SpreadEpisodes
from gym_attrplan.envs.regimes import ladder, make_task_env
from gym_attrplan.error import InvalidOption

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "reinforce": Reinforce,
    "a2c": A2C,
    "ppo": PPO,
    "option_critic": OptionCritic,
    "dqn_her": DQN,
    "dqn_her_stock": DQN,
    "sac_her": SAC,
    "sac_her_stock": SAC,
}
"""Rivals by name in the results; ``_stock`` uses SB3's own HER buffer instead of ours."""

LEARNERS = (*ALGORITHMS, "inverse", "random", "ap")
WITHOUT_REGIME = ("random", "ap")

Settings = dict[str, Any]
Callbacks = Sequence[BaseCallback]


def train(
    cell: Cell,
    *,
    device: str = "cpu",
    callbacks: Callbacks = (),
    overrides: Settings | None = None,
) -> Predictor:
    """Train a cell's learner.

    Args:
        cell: What to train.
        device: As in SB3.
        callbacks: In addition to the curriculum's.
        overrides: Settings instead of the configuration's.

    Raises:
        InvalidEnvironment: If the learner does not support the environment's action space.
        InvalidOption: If it does not support the policy that the environment needs.
    """
    changes = dict(overrides or {})
    if cell.algo == "random":
        return RandomModel(make_envs(cell, cell.case.task, 1), seed=cell.seed)
    if cell.algo == "inverse":
        return train_inverse(cell, device=device, **changes)
    if cell.algo == "ap":
        return train_ours(cell, device=device, callbacks=callbacks, overrides=changes)
    if cell.regime == "one_step" and cell.case.agent_config is not None:
        return _train_hops(cell, changes, device, callbacks)
    config = {**read_config(cell.algo, cell.env_id, cell.regime), **changes}
    return _train_rival(cell, config, device, callbacks)


def read_config(algo: str, env_id: str, regime: str) -> Settings:
    """A rival's settings in an environment; others have SB3's or our agent's defaults."""
    settings = read_settings(f"baselines/{algo.removesuffix('_stock')}.yml", env_id)
    nearby = settings.pop("one_step", {})
    if regime == "one_step":
        settings |= nearby
    if settings and algo.endswith("_stock"):
        settings["replay_buffer_class"] = HerReplayBuffer
    return settings


def noted_settings(cell: Cell) -> Settings:
    """A rival's configured settings, for its lines in the ledger."""
    if cell.algo not in ALGORITHMS:
        return {}
    config = read_config(cell.algo, cell.env_id, cell.regime)
    return {name: getattr(one, "__name__", one) for name, one in config.items()}


def _train_rival(cell: Cell, config: Settings, device: str, callbacks: Callbacks) -> BaseAlgorithm:
    task = cell.case.task + cell.suffix
    options = config.pop("env_kwargs", {})
    if cell.regime == "one_step":  # one action makes one transition
        task, options = "one_step" + cell.suffix, {**options, "max_episode_steps": 1}
    n_envs, policy = config.pop("n_envs", 1), cell.case.policy
    if cell.algo == "option_critic" and policy == "UnitPolicy":
        raise InvalidOption(
            "Option-Critic's options act for the environment as a whole, not unit by unit."
        )
    venv = make_envs(cell, task, n_envs, **options)
    common = {"seed": cell.seed, "device": device}
    names = attribute_space(venv).value_names()
    model = build(ALGORITHMS[cell.algo], policy, venv, config, anneal=True, names=names, **common)
    chain = [SpreadEpisodes(), *callbacks]
    if cell.regime == "curriculum":
        if isinstance(venv, VectorEnvAdapter):
            env: Any = venv.envs.unwrapped
        else:
            env = make_task_env(cell.env_id, "one_step", **cell.case.options).unwrapped
        chain.append(Curriculum(ladder(env, task)))
    model.learn(cell.budget, chain)
    venv.close()
    return model


def n_parameters(model: Any) -> int:
    """Number of weights of the acting policy; of our agent, those of its hop policy."""
    acting = getattr(model, "low_level", model)
    network = getattr(acting, "policy", None) or getattr(acting, "inverse", None)
    return sum(one.numel() for one in network.parameters()) if network else 0


# --- our agent ------------------------------------------------------------------------------


def train_ours(
    cell: Cell,
    *,
    device: str = "cpu",
    callbacks: Callbacks = (),
    overrides: Settings | None = None,
) -> AttributePlannerAgent:
    """Our agent, trained as in its own benchmarks; overrides apply to the hop policy."""
    settings = _agent_settings(cell)
    n_envs = settings.get("n_envs", 512)
    options = settings.get("agent", {})
    hops = {**options.get("low_level_kwargs", {}), **(overrides or {})}
    return _learn(cell, settings, {**options, "low_level_kwargs": hops}, n_envs, device, callbacks)


def _train_hops(cell: Cell, changes: Settings, device: str, callbacks: Callbacks) -> BaseAlgorithm:
    """Train our agent's hop policy on nearby goals, to be tested without the planner."""
    settings = _agent_settings(cell)
    options = settings.get("agent", {})
    if cell.algo == "ppo":  # exactly our agent's settings
        n_envs, hops = settings["n_envs"], options.get("low_level_kwargs", {})
    else:
        hops = read_config(cell.algo, cell.env_id, cell.regime)
        n_envs = hops.pop("n_envs", 1)
        hops.pop("env_kwargs", None)  # the agent's own
    hops = {**hops, **changes}
    options = {**options, "low_level": ALGORITHMS[cell.algo], "low_level_kwargs": hops}
    low_level = _learn(cell, settings, options, n_envs, device, callbacks).low_level
    assert isinstance(low_level, BaseAlgorithm)
    return low_level


def _agent_settings(cell: Cell) -> Settings:
    case = cell.case
    if case.agent_config is not None:
        return read_settings(case.agent_config, cell.env_id)
    # Blocks: one action makes one transition, and π is learned by supervision.
    epochs = max(4, FIT["updates"] // cell.budget)
    fit = {"holdout": 0.05, "batch_size": 1_024, "patience": 1_000, "max_epochs": epochs}
    options = {"low_level": "inverse", "low_level_kwargs": fit}
    if case.batched:
        return {"agent": options, "env_kwargs": {"max_episode_steps": 1}}
    fit["forward_arch"] = [512, 512, 256]
    return {"n_envs": 8, "agent": {**options, "exploration_fraction": 0.9}}


def _learn(
    cell: Cell,
    settings: Settings,
    options: Settings,
    n_envs: int,
    device: str,
    callbacks: Callbacks,
) -> AttributePlannerAgent:
    venv = make_envs(cell, cell.case.task, n_envs, **settings.get("env_kwargs", {}))
    policy = cell.case.policy
    agent = AttributePlannerAgent(policy, venv, seed=cell.seed, device=device, **options)
    agent.learn(cell.budget, list(callbacks))
    return agent
