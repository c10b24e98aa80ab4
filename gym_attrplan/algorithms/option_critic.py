"""OptionCritic: options learned end to end with a cost of deliberation (A2OC), for SB3."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback, Schedule
from stable_baselines3.common.utils import explained_variance, obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv

from gym_attrplan.algorithms.option_policy import (
    OptionCnnPolicy,
    OptionMultiInputPolicy,
    OptionPolicy,
    View,
)
from gym_attrplan.error import InvalidOption

FloatArray = npt.NDArray[np.float32]


class OptionCritic(OnPolicyAlgorithm):
    """Option-critic with deliberation cost, with the interface of SB3's A2C.

    One of ``n_options`` policies acts until its termination function ends it. Then the option with
    the highest value follows, or with probability ``epsilon`` any. Each termination costs η, the
    ``deliberation_cost``, so that options last unless another is better by more than that.
    After Harb, Bacon, Klissarov and Precup, *When Waiting is not an Option* (2017).

    Returns run to the end of a rollout, but are cut at a termination once they are ``min_steps``
    long, and then bootstrapped with the value of a new choice of option. :meth:`predict` keeps the
    current options in its ``state``.

    Args:
        policy: ``"MlpPolicy"``, ``"CnnPolicy"``, ``"MultiInputPolicy"``, or a class.
        env: An environment, a ``VecEnv`` or an id.
        learning_rate: A number, or a function of the progress remaining (from 1 to 0).
        n_steps: Number of steps of each environment per update.
        gamma: Discount.
        n_options: Number of options.
        epsilon: Probability that an option is chosen at random.
        deliberation_cost: Cost η of a termination.
        margin: By how much more than η an option must be worse before it is ended.
        min_steps: Minimum length of a return, in steps, for it to be cut at a termination.
        ent_coef: Weight of the entropy in the loss.
        vf_coef: Weight of the critic's error in the loss.
        max_grad_norm: Gradients are clipped to this norm; losses are means over the rollout.
        options: Further arguments of SB3's on-policy algorithms: ``policy_kwargs``, ``seed``,
            ``device``, ``tensorboard_log``, ``verbose``, …

    Raises:
        InvalidOption: If a number is out of range, or the policy has no options.

    Example:
        >>> model = OptionCritic("MlpPolicy", "CartPole-v1", n_options=2, seed=0, device="cpu")
        >>> model = model.learn(64)
        >>> actions, state = model.predict(model.get_env().reset())
        >>> actions.shape, state[0].shape
        ((1,), (1,))
    """

    policy: OptionPolicy  # type: ignore[assignment]  # SB3 declares its own actor-critic
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": OptionPolicy,
        "CnnPolicy": OptionCnnPolicy,
        "MultiInputPolicy": OptionMultiInputPolicy,
    }

    def __init__(
        self,
        policy: str | type[OptionPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 7e-4,
        n_steps: int = 30,
        gamma: float = 0.99,
        *,
        n_options: int = 8,
        epsilon: float = 0.1,
        deliberation_cost: float = 0.02,
        margin: float = 0.0,
        min_steps: int = 5,
        ent_coef: float = 0.01,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        policy_kwargs: dict[str, Any] | None = None,
        _init_setup_model: bool = True,
        **options: Any,
    ) -> None:
        is_ours = isinstance(policy, str) or issubclass(policy, OptionPolicy)
        _check(is_ours, "policy is a name or a subclass of OptionPolicy", policy)
        _check(n_options >= 1, "n_options is at least 1", n_options)
        _check(0 <= epsilon <= 1, "epsilon is from 0 to 1", epsilon)
        _check(deliberation_cost >= 0, "deliberation_cost is at least 0", deliberation_cost)
        _check(min_steps >= 1, "min_steps is at least 1", min_steps)
        super().__init__(
            policy,  # type: ignore[arg-type]  # SB3 names the class of its own
            env,
            learning_rate=learning_rate,
            n_steps=n_steps,
            gamma=gamma,
            gae_lambda=1.0,
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            use_sde=False,
            sde_sample_freq=-1,
            policy_kwargs={"n_options": n_options, "epsilon": epsilon, **(policy_kwargs or {})},
            _init_setup_model=False,
            supported_action_spaces=(
                spaces.Box,
                spaces.Discrete,
                spaces.MultiDiscrete,
                spaces.MultiBinary,
            ),
            **options,
        )
        self.deliberation_cost = deliberation_cost
        self.margin = margin
        self.min_steps = min_steps
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        shape = self.n_steps, self.n_envs
        self._options = np.zeros(self.n_envs, np.int64)
        # Data that the rollout buffer has no place for, by step and environment.
        self._incoming = np.zeros(shape, np.int64)
        self._chosen = np.zeros(shape, np.int64)
        self._ended = np.zeros(shape, np.bool_)
        self._state_values = np.zeros(shape, np.float32)

    # --- acting -----------------------------------------------------------------------------

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the rollout buffer; False if the callback stops training."""
        assert self._last_obs is not None and self._last_episode_starts is not None  # noqa: PT018
        self.policy.set_training_mode(False)
        rollout_buffer.reset()
        callback.on_rollout_start()
        for step in range(n_rollout_steps):
            actions, values, log_probs = self._act(step)
            new_obs, rewards, dones, infos = env.step(self._to_env(actions))
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            self._update_info_buffer(infos, dones)
            rewards = rewards - self.deliberation_cost * self._ended[step]
            self._add_values_of_cut_episodes(rewards, dones, infos)
            rollout_buffer.add(
                self._last_obs,  # type: ignore[arg-type]  # a dict in the buffer for dicts
                actions.reshape(env.num_envs, -1),
                rewards,
                self._last_episode_starts,
                values,
                log_probs,
            )
            self._last_obs = new_obs  # type: ignore[assignment]
            self._last_episode_starts = dones
        self._set_returns(rollout_buffer, dones)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    @torch.no_grad()
    def _act(self, step: int) -> tuple[npt.NDArray[Any], torch.Tensor, torch.Tensor]:
        """End or continue options, and draw an action from each."""
        view = self.policy.look(obs_as_tensor(self._last_obs, self.device))  # type: ignore[arg-type]
        starts = np.asarray(self._last_episode_starts, np.bool_)
        incoming = torch.as_tensor(self._options, device=self.device)
        options, ended = self.policy.choose(view, incoming, torch.as_tensor(starts).to(self.device))
        distribution = self.policy.distribution(view, options)
        actions = distribution.get_actions()
        self._incoming[step] = self._options
        self._options = options.cpu().numpy()
        self._chosen[step] = self._options
        self._ended[step] = ended.cpu().numpy()
        self._state_values[step] = self.policy.state_values(view.q).cpu().numpy()
        values = view.of(view.q, options)
        return actions.cpu().numpy(), values, distribution.log_prob(actions)

    def _to_env(self, actions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if isinstance(self.action_space, spaces.Box):
            clipped: npt.NDArray[Any] = np.clip(
                actions, self.action_space.low, self.action_space.high
            )
            return clipped
        return actions

    def _add_values_of_cut_episodes(
        self, rewards: npt.NDArray[Any], dones: npt.NDArray[Any], infos: list[dict[str, Any]]
    ) -> None:
        """Add the value of the last state to the return of episodes that a time limit cut."""
        for i in np.flatnonzero(dones):
            if infos[i].get("TimeLimit.truncated"):
                last, _ = self.policy.obs_to_tensor(infos[i]["terminal_observation"])
                rewards[i] += self.gamma * self._arrival_values(last, self._options[[i]])[0]

    @torch.no_grad()
    def _arrival_values(self, obs: Any, options: npt.NDArray[np.int64]) -> FloatArray:
        """Return the values of arriving in states with options that may end there."""
        view = self.policy.look(obs)
        held = torch.as_tensor(options, device=self.device)
        ends = view.of(view.termination, held)
        value_of_choice = self.policy.state_values(view.q) - self.deliberation_cost
        worth: FloatArray = (
            ((1 - ends) * view.of(view.q, held) + ends * value_of_choice).cpu().numpy()
        )
        return worth

    def _set_returns(self, buffer: RolloutBuffer, dones: npt.NDArray[Any]) -> None:
        following = self._arrival_values(
            obs_as_tensor(self._last_obs, self.device),  # type: ignore[arg-type]
            self._options,
        )
        starts = np.concatenate([buffer.episode_starts[1:], dones[None]]).astype(np.bool_)
        cuts = self._cuts(buffer.episode_starts > 0)
        for step in reversed(range(buffer.buffer_size)):
            if step + 1 < buffer.buffer_size:
                value_of_choice = self._state_values[step + 1] - self.deliberation_cost
                following = np.where(cuts[step + 1], value_of_choice, buffer.returns[step + 1])
            following = np.where(starts[step], 0.0, following)
            buffer.returns[step] = buffer.rewards[step] + self.gamma * following
        buffer.advantages = buffer.returns - buffer.values

    def _cuts(self, starts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return ``(n_steps, n_envs)`` where the returns of earlier steps are cut."""
        cuts = np.zeros_like(self._ended)
        length = np.zeros(self.n_envs, np.int64)
        for step, ended in enumerate(self._ended):
            cuts[step] = ended & (length >= self.min_steps)
            length = np.where(cuts[step] | starts[step], 0, length) + 1
        return cuts

    # --- learning ---------------------------------------------------------------------------

    def train(self) -> None:
        """Make one gradient step over the whole rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        buffer = self.rollout_buffer
        view = self.policy.look(self._observations())
        options = self._tensor(self._chosen)
        actions = self._tensor(buffer.actions).float()
        if isinstance(self.action_space, spaces.Discrete):
            actions = actions.long().flatten()
        distribution = self.policy.distribution(view, options)
        log_probs, entropy = distribution.log_prob(actions), distribution.entropy()
        returns, values = self._tensor(buffer.returns), view.of(view.q, options)
        losses = {
            "policy_loss": -((returns - values.detach()) * log_probs).mean(),
            "value_loss": 0.5 * (returns - values).square().mean(),
            "entropy_loss": log_probs.mean() if entropy is None else -entropy.mean(),
            "termination_loss": self._termination_loss(view),
        }
        loss = losses["policy_loss"] + losses["termination_loss"]
        loss = loss + self.vf_coef * losses["value_loss"] + self.ent_coef * losses["entropy_loss"]
        self.policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        self._n_updates += 1
        self._log({name: one.item() for name, one in losses.items()})

    def _termination_loss(self, view: View) -> torch.Tensor:
        """Return the loss that ends options whose advantage over a new choice is below -η."""
        incoming = self._tensor(self._incoming)
        goes_on = 1.0 - self._tensor(self.rollout_buffer.episode_starts)
        ahead = view.of(view.q, incoming) - self.policy.state_values(view.q)
        ahead = ahead.detach() + self.deliberation_cost + self.margin
        return (goes_on * view.of(view.termination, incoming) * ahead).mean()

    def _observations(self) -> Any:
        stored: Any = self.rollout_buffer.observations
        if isinstance(stored, dict):
            return {key: self._tensor(part) for key, part in stored.items()}
        return self._tensor(stored)

    def _tensor(self, rows: npt.NDArray[Any]) -> torch.Tensor:
        """``(n_steps, n_envs, …)`` → ``(n_steps * n_envs, …)``."""
        return torch.as_tensor(rows.reshape(-1, *rows.shape[2:]), device=self.device)

    def _log(self, losses: dict[str, float]) -> None:
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        shares = np.bincount(self._chosen.ravel(), minlength=self.policy.n_options)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/explained_variance", explained)
        for name, value in losses.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("options/ended", float(self._ended.mean()))
        self.logger.record("options/largest_share", float(shares.max() / shares.sum()))

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 10,
        tb_log_name: str = "OptionCritic",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Train for ``total_timesteps`` environment steps."""
        return super().learn(
            total_timesteps=total_timesteps,
            callback=callback,
            log_interval=log_interval,
            tb_log_name=tb_log_name,
            reset_num_timesteps=reset_num_timesteps,
            progress_bar=progress_bar,
        )


def _check(holds: bool, rule: str, value: Any) -> None:
    if not holds:
        raise InvalidOption(f"{rule}; received {value!r}.")
