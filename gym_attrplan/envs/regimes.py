"""Training regimes: nearby goals, test tasks, and the rungs of a curriculum between them.

Every environment draws its goals by a task's name. Besides its own names, every environment has
``"one_step"``: goals that one transition of the attributes can reach. Block environments have
``"drops<=d"``: goals that at most d random drops lead to. :func:`ladder` lists an environment's
names from nearby goals to its test tasks. Environments made by :func:`make_task_env` and
:func:`make_task_vec` can change their task: ``env_method("set_task", "targets<=3")``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from gym_attrplan.attributes.space import IntArray
from gym_attrplan.envs.blocks.rules import BlocksRules
from gym_attrplan.envs.build_order.rules import EconomyRules
from gym_attrplan.envs.grids.rules import CraftingRules, SwitchesRules
from gym_attrplan.envs.nearby import DropsAway, OneMoreItem, OneMoreUnit
from gym_attrplan.error import InvalidEnvironment
from gym_attrplan.wrappers import GoalSampler

_DROPS = (2, 3, 4, 6)
_SUFFIX = "_70"

_NEARBY: dict[type[Any], Callable[[Any], GoalSampler]] = {
    SwitchesRules: lambda env: env.sampler("targets==1"),
    CraftingRules: lambda env: OneMoreItem.of(env.rules),
    EconomyRules: lambda env: OneMoreUnit.of(env.rules),
    BlocksRules: lambda env: env.sampler("one_step"),
}
"""Goals one transition away, by the type of the rules."""


def sampler_of(env: Any, task: str) -> GoalSampler:
    """Return the goal sampler of a task in a raw environment, single or batched.

    Raises:
        InvalidEnvironment: If it is not this library's environment, or has no such task.

    Example:
        >>> import gym_attrplan
        >>> crafting = gym.make("AttrCrafting-v0").unwrapped
        >>> nearby = sampler_of(crafting, "one_step")
        >>> goals = nearby(np.zeros((100, 6), np.int8), np.random.default_rng(0))
        >>> np.unique(goals.argmax(axis=1)).tolist()  # from nothing, only resources
        [0, 1, 2]
    """
    rules = getattr(env, "rules", None)
    if type(rules) not in _NEARBY:
        raise InvalidEnvironment(
            f"tasks by name belong to this library's environments; received {env}. Give your own "
            "goal_sampler=."
        )
    if task == "one_step":
        return _NEARBY[type(rules)](env)
    if isinstance(rules, BlocksRules) and re.match(r"drops(<=|==)", task):
        return DropsAway(env, task)
    sampler: GoalSampler = env.sampler(task)
    return sampler


def ladder(env: Any, task: str) -> list[str]:
    """Return names of tasks from nearby goals to ``task``, each harder than the one before.

    Args:
        env: A raw environment, single or batched.
        task: The test task.

    Example:
        >>> import gym_attrplan
        >>> ladder(gym.make("AttrBuildOrder-v0").unwrapped, "counts")
        ['one_step', 'counts<=1', 'counts<=2', 'counts<=3', 'counts']
    """
    rules = env.rules
    if isinstance(rules, BlocksRules):
        end = _SUFFIX if task.endswith(_SUFFIX) else ""
        return [f"one_step{end}", *(f"drops<={n}{end}" for n in _DROPS), task]
    if isinstance(rules, SwitchesRules):
        hardest = rules.n_switches * (rules.n_colors - 1)
    elif isinstance(rules, CraftingRules):
        hardest = max(map(rules.depth, rules.items))
    else:
        hardest = max(one.limit or 0 for one in rules.products)
    easiest = 2 if isinstance(rules, SwitchesRules) else 1  # one toggle away is "one_step"
    return ["one_step", *(f"{task}<={n}" for n in range(easiest, hardest)), task]


class TaskChoice:
    """Goal sampler by the name of a task, which can be changed at any time.

    Args:
        task: The first task.
    """

    def __init__(self, task: str) -> None:
        self.task = task
        self._env: Any = None
        self._sampler: GoalSampler | None = None

    def bind(self, env: Any) -> None:
        """Set the environment of the goals."""
        self._env = env
        self.set(self.task)

    def set(self, task: str) -> None:
        """Change the task."""
        self._sampler = sampler_of(self._env, task)
        self.task = task

    def __call__(self, achieved: IntArray, rng: np.random.Generator, /) -> Any:
        """Draw goals ``(n, n_attributes)`` for episodes that start from ``achieved``."""
        assert self._sampler is not None  # the wrappers below bind it before any reset
        return self._sampler(achieved, rng)


class TaskSwitch(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Wrapper whose task can be changed with :meth:`set_task`, also through ``env_method``.

    Args:
        env: One of this library's environments, made with ``goal_sampler=tasks``.
        tasks: Its goal sampler.
    """

    def __init__(self, env: gym.Env[Any, Any], tasks: TaskChoice) -> None:
        RecordConstructorArgs.__init__(self, tasks=tasks, _disable_deepcopy=True)
        gym.Wrapper.__init__(self, env)
        self._tasks = tasks
        tasks.bind(env.unwrapped)

    @property
    def task(self) -> str:
        """The current task."""
        return self._tasks.task

    def set_task(self, task: str) -> None:
        """Change the task of the next episodes."""
        self._tasks.set(task)


class TaskSwitchVector(VectorWrapper[Any, Any, Any, Any, Any]):
    """:class:`TaskSwitch` for a batch: one task for all its environments."""

    def __init__(self, env: VectorEnv[Any, Any, Any], tasks: TaskChoice) -> None:
        super().__init__(env)
        self._tasks = tasks
        tasks.bind(env.unwrapped)

    @property
    def task(self) -> str:
        """The current task."""
        return self._tasks.task

    def set_task(self, task: str) -> None:
        """Change the task of the next episodes."""
        self._tasks.set(task)


def make_task_env(env_id: str, task: str, **options: Any) -> TaskSwitch:
    """Call ``gym.make`` with a task that can be changed.

    Example:
        >>> import gym_attrplan
        >>> env = make_task_env("AttrSwitches-v0", "one_step")
        >>> env.set_task("targets==12")
        >>> observation, _ = env.reset(seed=0)
        >>> (observation["desired_goal"] - observation["achieved_goal"]) % 4  # three toggles each
        array([3, 3, 3, 3], dtype=int8)
    """
    tasks = TaskChoice(task)
    return TaskSwitch(gym.make(env_id, goal_sampler=tasks, **options), tasks)


def make_task_vec(env_id: str, num_envs: int, task: str, **options: Any) -> TaskSwitchVector:
    """Call ``gym.make_vec`` for a batch with a task that can be changed."""
    tasks = TaskChoice(task)
    envs = gym.make_vec(
        env_id,
        num_envs=num_envs,
        vectorization_mode="vector_entry_point",
        goal_sampler=tasks,
        **options,
    )
    return TaskSwitchVector(envs, tasks)
