"""RayVecEnv: environments in Ray's workers, as one SB3 ``VecEnv``."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from gym_attrplan.agent.copies import CopiesVecEnv, joined, joined_steps
from gym_attrplan.agent.environments import make_envs
from gym_attrplan.agent.remote.cluster import connect
from gym_attrplan.agent.vec_env import VectorEnvAdapter
from gym_attrplan.error import InvalidEnvironment, InvalidOption

Maker = str | Callable[[], Any]
"""An id, or a function that makes one environment, a batch of them or a ``VecEnv``."""

MAX_DEATHS = 3
"""Maximum number of deaths of a worker in a row, before a step is taken."""


class Shard:
    """The environments of one worker.

    Args:
        make: Makes them.
        n_envs: Number of environments, unless ``make`` makes a batch, which has its own.
    """

    def __init__(self, make: Maker, n_envs: int) -> None:
        torch.set_num_threads(1)  # a worker has one processor
        self.venv = make_shard(make, n_envs)

    def about(self) -> tuple[int, Any, Any]:
        """Return the number of environments, and their spaces."""
        return self.venv.num_envs, self.venv.observation_space, self.venv.action_space

    def reset(self, seed: int | None, options: list[Any]) -> tuple[Any, list[Any]]:
        """Begin new episodes with seeds from ``seed`` on; return observations and infos."""
        if seed is not None:
            self.venv.seed(seed)
        if any(options):
            self.venv.set_options(options)
        return self.venv.reset(), self.venv.reset_infos

    def step(self, actions: Any) -> tuple[Any, ...]:
        """Return SB3's results of a step, and the infos of new episodes, if any."""
        observations, rewards, dones, infos = self.venv.step(actions)
        begun = self.venv.reset_infos if dones.any() else None
        return observations, rewards, dones, infos, begun

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call any other method."""
        return getattr(self.venv, name)(*args, **kwargs)


def make_shard(make: Maker, n_envs: int) -> VecEnv:
    """Make environments with an id or a function, as one ``VecEnv``."""
    if isinstance(make, str):
        found: Any = make_envs(make, n_envs, {})
    else:
        found = make()
    if isinstance(found, VectorEnv):
        return VectorEnvAdapter(found)
    if isinstance(found, VecEnv):
        return found
    first: list[gym.Env[Any, Any]] = [found]
    return CopiesVecEnv([lambda: first.pop() if first else make()] * n_envs)  # type: ignore[operator]


class RayVecEnv(VecEnv):
    """Environments in Ray's workers, on this machine or on others.

    Each worker has some of them. A step is one message to each worker and one back; all are sent
    before any answer is awaited. A worker that dies, or does not answer in time, is replaced; its
    episodes end as if cut by a time limit, and new ones begin.

    Args:
        make_env: An id, which gets the attributes that are ready for it, or a function that makes
            one environment, a ``gymnasium.vector`` batch that resets in the same step, or an SB3
            ``VecEnv``.
        n_workers: Number of workers.
        envs_per_worker: Number of environments of each worker, unless ``make_env`` makes a batch.
        address: Address of the cluster, as for
            :func:`~gym_attrplan.agent.remote.cluster.connect`.
        timeout: Number of seconds without an answer after which a worker counts as dead.

    Raises:
        DependencyNotInstalled: If ray is missing.
        InvalidOption: If a number is below 1, or the cluster is not available or too small.
        InvalidEnvironment: If workers keep dying.

    Example:
        >>> venv = RayVecEnv("Taxi-v4", n_workers=2, envs_per_worker=8)  # doctest: +SKIP
        >>> PPO("MultiInputPolicy", venv).learn(10_000)  # doctest: +SKIP
    """

    def __init__(
        self,
        make_env: Maker,
        n_workers: int = 2,
        *,
        envs_per_worker: int = 1,
        address: str | None = None,
        timeout: float = 600.0,
    ) -> None:
        for name, value in (("n_workers", n_workers), ("envs_per_worker", envs_per_worker)):
            if value < 1:
                raise InvalidOption(f"{name} is at least 1; received {value}.")
        if not timeout > 0:
            raise InvalidOption(f"timeout is in seconds, above 0; received {timeout}.")
        self._ray = connect(address, n_workers=n_workers)
        lost = self._ray.exceptions
        self._lost = (lost.RayActorError, lost.GetTimeoutError)
        self._making = (make_env, envs_per_worker)
        self._timeout = timeout
        self._told: list[tuple[Any, ...]] = []
        self._waiting: list[Any] = []
        self._last: Any = None
        self._shards = [self._new_shard() for _ in range(n_workers)]
        asks = {i: partial(self._about, i) for i in range(n_workers)}
        sizes, observed, acted = zip(*self._gather(asks).values(), strict=True)
        ends = np.cumsum([0, *sizes]).tolist()
        self._rows = [slice(*both) for both in itertools.pairwise(ends)]
        super().__init__(ends[-1], observed[0], acted[0])

    # --- episodes ---------------------------------------------------------------------------

    def reset(self) -> Any:
        """Begin new episodes in all environments, with the seeds and options set before."""
        parts = self._gather({i: partial(self._begin, i) for i in range(len(self._shards))})
        for rows, (_, infos) in zip(self._rows, parts.values(), strict=True):
            self.reset_infos[rows] = infos
        self._reset_seeds()
        self._reset_options()
        self._last = joined([observations for observations, _ in parts.values()])
        return self._last

    def step_async(self, actions: Any) -> None:
        """Send the actions to all workers."""
        self._waiting = [
            shard.step.remote(actions[rows])
            for shard, rows in zip(self._shards, self._rows, strict=True)
        ]

    def step_wait(self) -> VecEnvStepReturn:
        """Return the results of the actions."""
        parts = []
        for i, answer in enumerate(self._waiting):
            try:
                *part, begun = self._get(answer)
            except self._lost as error:
                *part, begun = self._cut(i, error)
            if begun is not None:
                self.reset_infos[self._rows[i]] = begun
            parts.append(part)
        answer = joined_steps(parts)
        self._last = answer[0]
        return answer

    def close(self) -> None:
        """End the workers."""
        if self._ray.is_initialized():
            for shard in self._shards:
                self._ray.kill(shard)
        self._shards = []

    # --- the environments one by one --------------------------------------------------------

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return each environment's attribute."""
        return self._ask("get_attr", attr_name, indices=indices)

    def has_attr(self, attr_name: str) -> bool:
        """Return whether each environment has the attribute."""
        return all(self._everywhere("has_attr", attr_name))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of environments, and of any that replace them."""
        self._ask("set_attr", attr_name, value, indices=indices)
        self._told.append(("set_attr", attr_name, value, indices))

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call each environment's method; calls that set something also apply to replacements."""
        answers = self._ask("env_method", method_name, *args, indices=indices, **kwargs)
        if method_name == "set_wrapper_attr":
            self._told.append(("env_method", method_name, *args, indices))
        return answers

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Return whether each environment has the wrapper."""
        return self._ask("env_is_wrapped", wrapper_class, indices=indices)

    def get_images(self) -> Sequence[Any]:
        """Return an image of each environment."""
        return [image for some in self._everywhere("get_images") for image in some]

    def _everywhere(self, name: str, *args: Any) -> list[Any]:
        """Call a method of each worker."""
        asks = {i: partial(self._call, i, name, *args) for i in range(len(self._shards))}
        return list(self._gather(asks).values())

    def _ask(self, name: str, *args: Any, indices: VecEnvIndices, **kwargs: Any) -> list[Any]:
        """Call a method of the given environments, in the given order."""
        wanted = list(self._get_indices(indices))
        own = {i: _within(rows, wanted) for i, rows in enumerate(self._rows)}
        answers = self._gather(
            {
                i: partial(self._call, i, name, *args, indices=some, **kwargs)
                for i, some in own.items()
                if some
            }
        )
        found: dict[int, Any] = {}
        for i, values in answers.items():
            numbers = [self._rows[i].start + one for one in own[i]]
            found |= zip(numbers, values or [None] * len(numbers), strict=True)
        return [found[one] for one in wanted]

    # --- workers ----------------------------------------------------------------------------

    def _new_shard(self) -> Any:
        return self._ray.remote(num_cpus=1)(Shard).remote(*self._making)

    def _about(self, i: int) -> Any:
        return self._shards[i].about.remote()

    def _call(self, i: int, name: str, *args: Any, **kwargs: Any) -> Any:
        return self._shards[i].call.remote(name, *args, **kwargs)

    def _begin(self, i: int) -> Any:
        rows = self._rows[i]
        return self._shards[i].reset.remote(self._seeds[rows.start], self._options[rows])

    def _get(self, answer: Any) -> Any:
        return self._ray.get(answer, timeout=self._timeout)

    def _gather(self, asks: Mapping[int, Callable[[], Any]]) -> dict[int, Any]:
        """Return worker → answer: all are asked at once, and replacements are asked again."""
        sent = {i: ask() for i, ask in asks.items()}
        return {i: self._insist(i, ask, sent[i]) for i, ask in asks.items()}

    def _insist(self, i: int, ask: Callable[[], Any], sent: Any) -> Any:
        """Return a worker's answer, or that of a replacement.

        Raises:
            InvalidEnvironment: If workers keep dying.
        """
        for _ in range(MAX_DEATHS):
            try:
                return self._get(sent)
            except self._lost as error:
                reason = error
                self._replace(i)
                sent = ask()
        raise InvalidEnvironment(
            f"worker {i} died {MAX_DEATHS} times in a row, or did not answer for {self._timeout:g} "
            "seconds. See whether an environment can be made and stepped in this process. The "
            f"last one said: {reason}"
        )

    def _replace(self, i: int) -> None:
        """Start a replacement for a dead worker, with the same settings."""
        self._ray.kill(self._shards[i])
        self._shards[i] = self._new_shard()
        for name, *args, indices in self._told:
            if own := _within(self._rows[i], self._get_indices(indices)):
                self._call(i, name, *args, indices=own)

    def _cut(self, i: int, reason: Exception) -> Any:
        """Return the results of a step in which a worker died: its episodes are truncated."""
        warnings.warn(f"a worker was lost, its episodes restart: {reason}", stacklevel=2)
        self._replace(i)
        observations, reset_infos = self._insist(i, partial(self._begin, i), self._begin(i))
        places = range(self._rows[i].start, self._rows[i].stop)
        infos = [
            {"terminal_observation": _row(self._last, one), "TimeLimit.truncated": True}
            for one in places
        ]
        n = len(places)
        return observations, np.zeros(n, np.float32), np.ones(n, np.bool_), infos, reset_infos


def _within(rows: slice, numbers: Iterable[int]) -> list[int]:
    """Return the environments of a worker, by its own numbers."""
    return [one - rows.start for one in numbers if rows.start <= one < rows.stop]


def _row(observations: Any, i: int) -> Any:
    """Return one environment's part of a batch of observations."""
    if isinstance(observations, dict):
        return {key: part[i] for key, part in observations.items()}
    if isinstance(observations, tuple):
        return tuple(part[i] for part in observations)
    return observations[i]
