"""check_attribute_env: checks of attribute environments beyond Gymnasium's and SB3's."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence

from gym_attrplan.attributes.space import AttributeSpace, IntArray
from gym_attrplan.error import CheckFailed, InvalidAttributes, InvalidEnvironment

Step = tuple[Any, float, bool, bool, dict[str, Any]]


def check_attribute_env(env: gym.Env[Any, Any], *, n_steps: int = 100, seed: int = 0) -> None:
    """Check that an attribute environment keeps its contract; return nothing if it does.

    It finds errors that Gymnasium's and SB3's ``check_env`` miss: a ``compute_reward`` that
    disagrees with ``step``, is not batched or returns a list; attributes out of range, or -1 among
    achieved ones; attributes that change without a step; non-determinism under a seed; a goal that
    reset ignores, that changes within an episode, or that shows in the rest of the observation.

    Args:
        env: An environment inside :class:`~gym_attrplan.AttributeWrapper`, or one of the same form.
        n_steps: Number of random steps in each of two equal runs.
        seed: Seed of the resets and of the actions.

    Raises:
        InvalidEnvironment: If the environment has no attributes.
        CheckFailed: On the first violation, with the observed values and a remedy.

    Example:
        >>> from gym_attrplan import AttributeWrapper
        >>> env = gym.make("FrozenLake-v1", is_slippery=False)
        >>> check_attribute_env(AttributeWrapper(env, {"cell": 16}, lambda env, cell: [cell]))
    """
    space = _attribute_space(env)
    _check_spaces(env, space)
    first = _run(env, space, n_steps, seed)
    second = _run(env, space, n_steps, seed)
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        differing = _differing(one, other)
        _hold(
            not differing,
            f"two runs with seed {seed} and equal actions differ at step {i} in "
            f"{', '.join(differing)}. Draw all randomness from env.np_random, and keep no state in "
            "the attribute function or the goal sampler.",
        )
    _check_goal_is_followed(env, space, seed, achieved=[step[0]["achieved_goal"] for step in first])


def _attribute_space(env: gym.Env[Any, Any]) -> AttributeSpace:
    for name in ("attribute_space", "compute_reward", "compute_terminated"):
        if not env.has_wrapper_attr(name):
            raise InvalidEnvironment(
                f"{env} has no {name!r}, so no attributes: wrap it in AttributeWrapper."
            )
    space = env.get_wrapper_attr("attribute_space")
    if not isinstance(space, AttributeSpace):
        raise InvalidEnvironment(f"attribute_space must be an AttributeSpace; received {space!r}.")
    return space


def _check_spaces(env: gym.Env[Any, Any], space: AttributeSpace) -> None:
    observed = env.observation_space
    _hold(
        isinstance(observed, spaces.Dict),
        f"the observation space must be a Dict with the goal keys; it is {observed}.",
    )
    assert isinstance(observed, spaces.Dict)
    for key in ("achieved_goal", "desired_goal"):
        found = observed.spaces.get(key)
        _hold(found == space.box, f"the space of {key!r} must be {space.box}; it is {found}.")


def _run(env: gym.Env[Any, Any], space: AttributeSpace, n_steps: int, seed: int) -> list[Step]:
    """Take random steps from a seeded reset, and check each of them."""
    rng = np.random.default_rng(seed)
    env.action_space.seed(seed)
    steps: list[Step] = []
    observation, info = env.reset(seed=seed)
    _check_attributes(env, space, observation, info)
    for _ in range(n_steps):
        goal = observation["desired_goal"]
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        _check_attributes(env, space, observation, info)
        _hold(
            np.array_equal(goal, observation["desired_goal"]),
            "the goal changed within an episode: it may change at reset only.",
        )
        _check_reward(env, observation, float(reward), bool(terminated), info)
        steps.append((observation, float(reward), bool(terminated), bool(truncated), info))
        if terminated or truncated:
            observation, info = env.reset(seed=int(rng.integers(2**31)))
    _check_batched(env, [step[0] for step in steps], [step[4] for step in steps])
    return steps


def _differing(one: Step, other: Step) -> list[str]:
    """Describe each part in which two steps differ."""
    labels = "reward", "terminated", "truncated"
    pairs = dict(zip(labels, zip(one[1:4], other[1:4], strict=True), strict=True))
    for key, value in one[0].items():
        pairs[f"observation[{key!r}]"] = value, other[0][key]
    return [
        f"{label}{_count_differing(a, b)}"
        for label, (a, b) in pairs.items()
        if not data_equivalence(a, b)
    ]


def _count_differing(a: Any, b: Any) -> str:
    """Say how many values differ, of arrays of one shape."""
    if not isinstance(a, np.ndarray) or np.shape(a) != np.shape(b):
        return ""
    return f" ({np.sum(a != b):,} of {a.size:,} values)"


def _check_attributes(
    env: gym.Env[Any, Any], space: AttributeSpace, observation: Any, info: dict[str, Any]
) -> None:
    achieved = observation["achieved_goal"]
    try:
        space.check(achieved, source="achieved_goal", leading=())
    except InvalidAttributes as error:
        raise CheckFailed(f"{error} Achieved vectors never hold -1.") from error
    _hold(
        np.array_equal(info.get("attributes", ()), achieved),
        f"info['attributes'] is {info.get('attributes')} while achieved_goal is {achieved}.",
    )
    if env.has_wrapper_attr("recompute_attributes"):
        again = env.get_wrapper_attr("recompute_attributes")()
        _hold(
            np.array_equal(again, achieved),
            f"the attributes changed without a step, from {achieved} to {again}: the attribute "
            "function must depend on the state alone, not on how often it is called.",
        )


def _check_reward(
    env: gym.Env[Any, Any],
    observation: Any,
    reward: float,
    terminated: bool,
    info: dict[str, Any],
) -> None:
    goals = observation["achieved_goal"], observation["desired_goal"]
    computed = env.get_wrapper_attr("compute_reward")(*goals, info)
    _hold(
        bool(np.isclose(computed, reward)),
        f"step paid {reward}, compute_reward says {computed} for the same goals: HER would learn "
        "another task. Put reward wrappers inside AttributeWrapper, or drop them.",
    )
    ends = env.get_wrapper_attr("compute_terminated")(*goals, info)
    _hold(
        bool(ends) == terminated,
        f"step returned terminated={terminated}, compute_terminated says {ends}.",
    )


def _check_batched(env: gym.Env[Any, Any], observations: list[Any], infos: list[Any]) -> None:
    achieved = np.stack([one["achieved_goal"] for one in observations])
    desired = np.stack([one["desired_goal"] for one in observations])
    compute = env.get_wrapper_attr("compute_reward")
    try:
        rewards = compute(achieved, desired, [{} for _ in infos])
    except Exception as error:
        raise CheckFailed(f"compute_reward fails on a batch of goals: {error!r}.") from error
    kind = f"{type(rewards).__name__} {getattr(rewards, 'dtype', '')}".strip()
    _hold(
        isinstance(rewards, np.ndarray) and rewards.dtype == np.float32,
        f"compute_reward must return a float32 ndarray for a batch of goals; it returned {kind}.",
    )
    _hold(
        rewards.shape == (len(achieved),),
        f"compute_reward must return shape ({len(achieved)},) for {len(achieved)} goals; "
        f"it returned {rewards.shape}.",
    )
    singles = [float(compute(a, d, {})) for a, d in zip(achieved, desired, strict=True)]
    _hold(
        np.allclose(rewards, singles),
        "compute_reward gives a batch of goals other rewards than the same goals one by one.",
    )


def _check_goal_is_followed(
    env: gym.Env[Any, Any], space: AttributeSpace, seed: int, achieved: list[IntArray]
) -> None:
    """Ask for two goals from the same seed: each must be taken, and nothing else may change."""
    goals = [space.goal({}), space.goal(achieved[-1]), space.goal({space.names[0]: 1})]
    seen = []
    for goal in goals:
        observation, _ = env.reset(seed=seed, options={"goal": goal})
        _hold(
            np.array_equal(observation["desired_goal"], goal),
            f"reset was asked for the goal {goal} and set {observation['desired_goal']}.",
        )
        seen.append({key: part for key, part in observation.items() if key != "desired_goal"})
    _hold(
        all(data_equivalence(seen[0], other) for other in seen[1:]),
        "the rest of the observation depends on the goal: a policy must see goals only through "
        "desired_goal, or relabelled goals contradict what it reads.",
    )


def _hold(kept: bool, message: str) -> None:
    if not kept:
        raise CheckFailed(message)
