"""TerminalHerReplayBuffer: hindsight replay that relabels ends of episodes with rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from gym_attrplan.error import InvalidEnvironment


class TerminalHerReplayBuffer(HerReplayBuffer):
    """SB3's :class:`HerReplayBuffer`, but a relabelled transition's ``done`` fits its new goal.

    SB3's buffer keeps the ``done`` of the original goal (SB3 issue 627). If meeting the goal ends
    the episode, the value of a state that meets the relabelled goal is then bootstrapped from the
    next state, and with 0/1 rewards Q grows past any possible return. This buffer calls the
    environment's ``compute_terminated``.

    Use it where you would use the stock one::

        DQN("MultiInputPolicy", env, replay_buffer_class=TerminalHerReplayBuffer)

    Raises:
        InvalidEnvironment: If the environment has no ``compute_terminated``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert self.env is not None  # SB3 always passes one
        _require_compute_terminated(self.env)
        shape = (self.buffer_size, self.n_envs)
        self.env_terminated: npt.NDArray[np.bool_] = np.zeros(shape, np.bool_)

    def set_env(self, env: VecEnv) -> None:
        """Set the environment of a loaded buffer."""
        _require_compute_terminated(env)
        super().set_env(env)

    def add(  # type: ignore[override]  # as SB3's own goal buffer has it
        self,
        obs: dict[str, npt.NDArray[Any]],
        next_obs: dict[str, npt.NDArray[Any]],
        action: npt.NDArray[Any],
        reward: npt.NDArray[Any],
        done: npt.NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        """Store transitions, and whether the environment itself ended."""
        self.env_terminated[self.pos] = [bool(info.get("env_terminated")) for info in infos]
        super().add(obs, next_obs, action, reward, done, infos)

    def sample(  # type: ignore[override]  # as SB3's own goal buffer has it
        self, batch_size: int, env: VecNormalize | None = None
    ) -> DictReplayBufferSamples:
        """Sample transitions with their own goals and with relabelled ones.

        Before an episode has ended there is no goal to relabel to, and all keep their own. SB3's
        buffer raises an error then, although the length of the first episode is unknown.
        """
        if np.any(self.ep_length > 0):
            return super().sample(batch_size, env)
        return super(HerReplayBuffer, self).sample(batch_size, env)

    def _get_virtual_samples(
        self,
        batch_indices: npt.NDArray[Any],
        env_indices: npt.NDArray[Any],
        env: VecNormalize | None = None,
    ) -> DictReplayBufferSamples:
        # Both samplings of goals must draw the same ones, so SB3's method returns ours.
        goals = self._draw_goals(batch_indices, env_indices)
        self._chosen_goals: npt.NDArray[Any] | None = goals
        samples = super()._get_virtual_samples(batch_indices, env_indices, env)
        self._chosen_goals = None
        achieved = self.next_observations["achieved_goal"][batch_indices, env_indices]
        ended = self.env_terminated[batch_indices, env_indices]
        assert self.env is not None  # SB3 has checked it, with a message
        (done,) = self.env.env_method(
            "compute_terminated",
            achieved,
            goals,
            [{"env_terminated": bool(one)} for one in ended],
            indices=[0],
        )
        done = np.asarray(done, np.float32).reshape(-1, 1)
        return samples._replace(dones=self.to_torch(done))

    def _draw_goals(
        self, batch_indices: npt.NDArray[Any], env_indices: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """Draw the goals that transitions get in hindsight."""
        return super()._sample_goals(batch_indices, env_indices)

    def _sample_goals(
        self, batch_indices: npt.NDArray[Any], env_indices: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        assert self._chosen_goals is not None
        return self._chosen_goals


def _require_compute_terminated(env: VecEnv) -> None:
    # has_attr instead of the method itself: a subprocess would have to send the environment.
    if not env.has_attr("compute_terminated"):
        raise InvalidEnvironment(
            "relabelling ends needs an environment with compute_terminated, such as one in "
            "AttributeWrapper; with others use SB3's HerReplayBuffer."
        )
